// Measures a check by the TypeScript client beside the same request by `fetch`: latency.mjs ROUNDS CALLS [concurrent]. Prints the latencies in
// nanoseconds as a JSON object for each round; with `concurrent`, those of bursts.

import { Weir } from "../typescript/dist/index.js";

const [rounds, calls] = process.argv.slice(2, 4).map(Number);
const concurrent = process.argv[4] === "concurrent";
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

/** The time of so many calls at once, and how many of them no gate decided in time. */
async function burst(call, size) {
  const begun = process.hrtime.bigint();
  const answers = await Promise.all(Array.from({ length: size }, call));
  const late = answers.filter(({ degraded }) => degraded !== null).length;
  return [Number(process.hrtime.bigint() - begun), late];
}

// The client has the deadline that it has by default.
const hurried = new Weir({ url, key, onError: "deny", cacheSize: 0 });
for (const size of concurrent ? [1, 64, 300, 1_000] : []) {
  const found = { at_once: size, bare: [], client: [], late: [] };
  for (let round = 0; round <= rounds; round += 1) {
    const [bareNs] = await burst(bare, size);
    const [clientNs, late] = await burst(() => hurried.check("conformance", attributes), size);
    if (round === 0) continue;
    found.bare.push(bareNs);
    found.client.push(clientNs);
    found.late.push(late);
  }
  console.log(JSON.stringify(found));
}

// The first round warms up.
for (let round = 0; round <= rounds && !concurrent; round += 1) {
  const found = { bare: [], client: [] };
  for (let call = 0; call < calls; call += 1) {
    // In turn, and each as often first, so that what else the machine does meets both alike.
    const order = call % 2 === 0 ? [bare, client] : [client, bare];
    for (const one of order) found[one.name].push(await timed(one));
  }
  if (round > 0) console.log(JSON.stringify(found));
}
