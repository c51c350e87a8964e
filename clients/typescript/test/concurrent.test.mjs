import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { ROOT_CONTEXT, context, trace } from "@opentelemetry/api";

import { settleAfter, settleIfAway } from "../dist/ended.js";
import { Weir } from "../dist/index.js";
import { MemoryGate } from "../dist/testing.js";
import { GATE, GENEROUS_MS, KEY, RUN } from "./support.mjs";

const options = { key: KEY, onError: "deny", timeoutMs: GENEROUS_MS, cacheSize: 0 };

/** Calls that end when the test says so. */
function held() {
  const gate = new MemoryGate();
  const calls = [];
  const fetch = (url, init) =>
    new Promise((resolve) => calls.push({ url, init, pass: async () => resolve(await gate.fetch(url, init)), reply: (body) => resolve(Response.json(body)) }));
  return { calls, fetch };
}

test("a lone check is sent at once, and no more than maxInFlight calls are in flight", async () => {
  const { calls, fetch } = held();
  const weir = new Weir({ ...options, url: GATE, fetch, maxInFlight: 2 });
  const answers = Array.from({ length: 203 }, (_, n) => weir.check("a", { n }));
  await turn();
  assert.deepEqual(calls.map(({ url }) => new URL(url).pathname), ["/check", "/check"]);
  for (let nth = 0; nth < 5; nth += 1) {
    await until(() => calls.length > nth);
    assert(calls.length <= nth + 2, "two at a time");
    await calls[nth].pass();
  }
  assert((await Promise.all(answers)).every(({ allowed }) => allowed));
  const sent = calls.flatMap(({ init }) => JSON.parse(init.body).checks ?? [JSON.parse(init.body)]);
  assert.deepEqual(sent.map(({ attributes }) => Number(attributes.n)), Array.from({ length: 203 }, (_, n) => n), "in order");
  assert.deepEqual(calls.map(({ init }) => JSON.parse(init.body).checks?.length ?? 1), [1, 1, 100, 100, 1]);
});

test("a batch stays below the bytes that a gate reads", async () => {
  const weir = new Weir({ ...options, url: GATE, maxInFlight: 1 });
  const attributes = { suite: "none", ...Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`a${n}`, "\u{20ac}".repeat(170)])) };
  const answers = await Promise.all(Array.from({ length: 100 }, () => weir.check("conformance", attributes)));
  assert(answers.every(({ allowed, degraded }) => allowed && degraded === null));
});

test("the signal of a check ends it and not its neighbours, whether it waits or travels", async () => {
  const { calls, fetch } = held();
  const weir = new Weir({ ...options, url: GATE, fetch, maxInFlight: 1 });
  const [travels, waits] = [new AbortController(), new AbortController()];
  const first = weir.check("a", {});
  const batch = [weir.check("a", { n: 1 }, { signal: travels.signal }), weir.check("a", { n: 2 })];
  await turn();
  await calls[0].pass();
  await until(() => calls.length === 2);
  const last = [weir.check("a", { n: 3 }, { signal: waits.signal }), weir.check("a", { n: 4 })];
  travels.abort(new Error("enough"));
  waits.abort(new Error("too much"));
  await assert.rejects(batch[0], /enough/);
  await assert.rejects(last[0], /too much/);
  await assert.rejects(weir.check("a", {}, { signal: waits.signal }), /too much/);
  await calls[1].pass();
  await until(() => calls.length === 3);
  await calls[2].pass();
  for (const answer of [first, batch[1], last[1]]) assert.equal((await answer).degraded, null);
  assert.equal(JSON.parse(calls[2].init.body).attributes.n, "4", "what was aborted is not sent");
});

test("a check that is too late leaves its connection open, and its call no longer counts", async () => {
  const sockets = new Set();
  const waiting = [];
  const gate = new MemoryGate();
  const server = createServer(async (request, response) => {
    sockets.add(request.socket);
    const body = (await request.setEncoding("utf8").toArray()).join("");
    const answer = await (await gate.fetch(`http://gate${request.url}`, { body })).text();
    waiting.push(() => response.end(answer));
    if (sockets.size > 1 || waiting.length > 1) response.end(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const weir = new Weir({ ...options, url: `http://127.0.0.1:${server.address().port}`, timeoutMs: 2_000, maxInFlight: 1 });
  const late = await weir.check("a", {});
  assert.equal(late.error.kind, "timeout");
  const [socket] = sockets;
  waiting[0]();
  await until(() => socket.bytesWritten > 0);
  assert.equal(socket.destroyed, false);
  assert.equal((await weir.check("a", {})).degraded, null);
  server.closeAllConnections();
  server.close();
});

test("calls whose checks were given up are bounded", async () => {
  const { calls, fetch } = held();
  const weir = new Weir({ ...options, url: GATE, fetch, maxInFlight: 2 });
  for (let n = 0; n < 3; n += 1) {
    const one = new AbortController();
    const given = [weir.check("a", { n }, { signal: one.signal }), weir.check("a", { n }, { signal: one.signal })];
    await turn();
    one.abort(new Error("enough"));
    for (const answer of given) await assert.rejects(answer, /enough/);
  }
  const waits = weir.check("a", { n: 9 });
  await turn();
  assert.equal(calls.length, 4, "twice maxInFlight");
  await calls[0].pass();
  assert.equal((await Promise.all([waits, until(() => calls.length === 5).then(() => calls[4].pass())]))[0].degraded, null);
  assert.equal(JSON.parse(calls[4].init.body).attributes.n, "9");
});

test("the lease of an answer that comes too late is released", async () => {
  const { calls, fetch } = held();
  const weir = new Weir({ ...options, url: GATE, fetch });
  const caller = new AbortController();
  const answer = weir.check("a", {}, { signal: caller.signal });
  await turn();
  caller.abort(new Error("enough"));
  await assert.rejects(answer, /enough/);
  const gate = new MemoryGate();
  const body = await (await gate.fetch("http://gate/check", { body: "{}" })).json();
  calls[0].reply({ ...body, leases: [{ id: "lease_x", rule_id: "rule_x", expires_at_ms: 1 }] });
  await until(() => calls.length === 2);
  assert.deepEqual([new URL(calls[1].url).pathname, JSON.parse(calls[1].init.body)], ["/release", { lease: "lease_x" }]);
  await calls[1].pass();
});

test("a response that ended during its check is settled at once", async () => {
  const settled = [];
  const settle = async (status) => void settled.push(status);
  settleAfter({ destroyed: true, statusCode: 200, once() {} }, settle);
  const request = new Request("http://a", { signal: AbortSignal.abort() });
  settleIfAway(request, { pending: true, status: null, settle });
  assert.deepEqual(settled, [null, null]);
});

test("calls carry the trace of the current span, or that of the program's function", async () => {
  const seen = [];
  const gate = new MemoryGate();
  const fetch = (url, init) => (seen.push(init.headers.traceparent), gate.fetch(url, init));
  const weir = new Weir({ ...options, url: GATE, fetch });
  await weir.check("a", {});
  const current = new AsyncLocalStorage();
  const manager = {
    active: () => current.getStore() ?? ROOT_CONTEXT,
    with: (one, operation, self, ...args) => current.run(one, () => operation.call(self, ...args)),
    bind: (_, target) => target,
    enable() { return this; },
    disable() { return this; },
  };
  context.setGlobalContextManager(manager);
  const span = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
  await context.with(trace.setSpanContext(ROOT_CONTEXT, span), () => weir.check("a", {}));
  await context.with(trace.setSpanContext(ROOT_CONTEXT, span), () => weir.record("a", {}));
  context.disable();
  await new Weir({ ...options, url: GATE, fetch, traceparent: () => "00-own" }).check("a", {});
  const expected = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  assert.deepEqual(seen, [undefined, expected, expected, "00-own"]);
});

test("a spread is not beyond the longest wait", async () => {
  const slept = [];
  const gate = new MemoryGate({ deny: [{ retryAfterMs: 900 }] });
  const sleep = async (ms) => void slept.push(ms) ?? gate.allow();
  const weir = gate.client({ now: () => 0, random: () => 0.999, sleep });
  assert.equal((await weir.wait("a", {}, { maxMs: 1_000 })).allowed, true);
  assert.deepEqual(slept, [1_000]);
});

test("identical answers with and without company", async () => {
  const attributes = { suite: "window", user: `company-${RUN}` };
  const weir = new Weir({ ...options, url: GATE, maxInFlight: 1, cacheSize: 10, now: () => 0 });
  const answers = await Promise.all(Array.from({ length: 5 }, () => weir.check("conformance", attributes)));
  assert.deepEqual(answers.map(({ allowed, remaining, cached }) => [allowed, remaining, cached]), [
    [true, 1, false], [true, 0, false], [false, 0, false], [false, 0, false], [false, 0, false],
  ]);
  assert.equal((await weir.check("conformance", attributes)).cached, true, "a denial of a batch is repeated as the gate permits");
});

function turn() {
  return new Promise((resolve) => setImmediate(resolve));
}

async function until(condition) {
  const deadline = Date.now() + GENEROUS_MS;
  while (!condition()) {
    assert(Date.now() < deadline, "too late");
    await turn();
  }
}
