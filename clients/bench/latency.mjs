// Measures a check by the TypeScript client beside the same request by `fetch`: latency.mjs ROUNDS CALLS. Prints the latencies in
// nanoseconds as a JSON object for each round.

import { Weir } from "../typescript/dist/index.js";

const [rounds, calls] = process.argv.slice(2).map(Number);
const { WEIR_GATE_URL: url, WEIR_KEY: key } = process.env;
const weir = new Weir({ url, key, onError: "deny", timeoutMs: 20_000, cacheSize: 0 });
const attributes = { suite: "latency", user: "typescript" };

async function bare() {
  const response = await fetch(`${url}/check`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ namespace: "conformance", attributes }),
  });
  return response.json();
}

const client = () => weir.check("conformance", attributes);

async function timed(call) {
  const begun = process.hrtime.bigint();
  const answer = await call();
  const ns = Number(process.hrtime.bigint() - begun);
  if (answer.allowed !== true || answer.degraded !== null) throw new Error(`not a decision: ${JSON.stringify(answer)}`);
  return ns;
}

// The first round warms up.
for (let round = 0; round <= rounds; round += 1) {
  const found = { bare: [], client: [] };
  for (let call = 0; call < calls; call += 1) {
    // In turn, and each as often first, so that what else the machine does meets both alike.
    const order = call % 2 === 0 ? [bare, client] : [client, bare];
    for (const one of order) found[one.name].push(await timed(one));
  }
  if (round > 0) console.log(JSON.stringify(found));
}
