import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { Weir, isFromWeir } from "../dist/index.js";
import { GATE, GENEROUS_MS, KEY, RUN, STUB, WEBHOOK, WEBHOOK_SECRET } from "./support.mjs";

test("the message of a deferred job is recognised, and nothing else is", async () => {
  const weir = new Weir({ url: GATE, key: KEY, onError: "deny", timeoutMs: GENEROUS_MS });
  const payload = { to: "Zoë", pages: [1, 2] };
  const { job } = await weir.defer("conformance", {}, { target: WEBHOOK, payload, idempotencyKey: `signed-${RUN}` });
  const { headers, body } = await message(job.id);
  const { data } = JSON.parse(body);
  assert.deepEqual([data.deferred, data.payload], [job.id, payload]);

  const sent = Number(headers["webhook-timestamp"]);
  const at = (now) => ({ now: () => now });
  const bytes = new TextEncoder().encode(body);
  assert(await isFromWeir(WEBHOOK_SECRET, new Headers(headers), body), "now");
  assert(await isFromWeir(WEBHOOK_SECRET, headers, bytes, at(sent + 300)), "five minutes later");
  const [id, time, signature] = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  assert(await isFromWeir(WEBHOOK_SECRET, { ...headers, [signature]: `v1,AAAA ${headers[signature]}` }, body), "a second signature");
  const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const wrong = [
    ["another secret", other, headers, body],
    ["another body", WEBHOOK_SECRET, headers, `${body} `],
    ["another id", WEBHOOK_SECRET, { ...headers, [id]: "deferred_x" }, body],
    ["another time", WEBHOOK_SECRET, { ...headers, [time]: String(sent + 1) }, body],
    ["a time that is none", WEBHOOK_SECRET, { ...headers, [time]: `${sent}.0` }, body],
    ["no time", WEBHOOK_SECRET, { ...headers, [time]: undefined }, body],
    ["no signature", WEBHOOK_SECRET, { ...headers, [signature]: undefined }, body],
    ["an empty signature", WEBHOOK_SECRET, { ...headers, [signature]: "v1," }, body],
    ["another version", WEBHOOK_SECRET, { ...headers, [signature]: headers[signature].replace("v1,", "v2,") }, body],
    ["no base64", WEBHOOK_SECRET, { ...headers, [signature]: "v1,%%%" }, body],
    ["too many signatures", WEBHOOK_SECRET, { ...headers, [signature]: `${"v1,AAAA ".repeat(8)}${headers[signature]}` }, body],
  ];
  for (const [name, secret, given, content] of wrong) {
    assert.equal(await isFromWeir(secret, given, content, at(sent)), false, name);
  }
  for (const now of [sent + 301, sent - 301]) {
    assert.equal(await isFromWeir(WEBHOOK_SECRET, headers, body, at(now)), false, `at ${now - sent} s`);
  }
  for (const secret of ["", "whsec_", "whsec_%"]) {
    await assert.rejects(isFromWeir(secret, headers, body), TypeError, secret);
  }
});

test("the signature is that of Standard Webhooks", async () => {
  const key = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64");
  const body = '{"test": 2432232314}';
  const signature = createHmac("sha256", key).update(`msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.${body}`).digest("base64");
  assert.equal(signature, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": `v1,${signature}`,
  };
  const options = { now: () => 1_614_265_330 };
  assert(await isFromWeir("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", headers, body, options));
});

/** The message of a job that the stub received. */
async function message(id) {
  const deadline = Date.now() + GENEROUS_MS;
  for (;;) {
    const found = await (await fetch(`${STUB}/webhook/${id}`)).json();
    if (found !== null) return found;
    assert(Date.now() < deadline, "the job never arrived");
    await setTimeout(5);
  }
}
