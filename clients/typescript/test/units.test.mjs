import assert from "node:assert/strict";
import { test } from "node:test";

import { weir as limit } from "../dist/express.js";
import { Weir, clientAddress, safeAttributes } from "../dist/index.js";
import { MemoryGate } from "../dist/testing.js";
import { KEY, RUN, STUB, conformance } from "./support.mjs";

test("the options that matter must be given", () => {
  const right = { url: "http://localhost:1", key: "k", onError: "deny" };
  new Weir(right);
  const wrong = [
    { onError: undefined }, { onError: "open" }, { onError: true }, { url: "localhost:1" }, { url: "ftp://a" }, { url: "" },
    { url: "http://a/?token=b" }, { url: "http://user:password@a" }, { key: "" }, { key: "a\nb" }, { key: undefined }, { timeoutMs: 0 },
    { timeoutMs: 1.5 }, { timeoutMs: 60_001 }, { timeoutMs: NaN }, { timeoutMs: "5" }, { cacheSize: -1 }, { maxInFlight: 0 },
    { maxWaiting: -1 }, { retrySpreadMs: 60_001 }, { retry: "yes" }, { fetch: {} }, { onDegraded: "log" }, { traceparent: "00-" },
    { now: 1 }, { random: 0.5 }, { sleep: 1 },
  ];
  const names = new RegExp(`^(${[...new Set(wrong.flatMap(Object.keys))].join("|")}): `);
  for (const one of wrong) assert.throws(() => new Weir({ ...right, ...one }), { message: names }, JSON.stringify(one));
});

test("what JavaScript would ignore fails with a sentence", async () => {
  const weir = new MemoryGate().client();
  assert.throws(() => new Weir({ url: "http://a", key: "k", onError: "deny", onEror: "deny" }), /Weir has no option onEror: there are url, key/);
  await assert.rejects(weir.check("a", {}, { costs: 2 }), /check has no option costs: there are cost, peek/);
  for (const value of [{ id: 7 }, ["a"], NaN, Symbol("a"), () => "a"]) {
    await assert.rejects(weir.check("a", { user: value }), /attributes\.user: a text, a number or a boolean is needed/);
  }
  assert.throws(() => limit(weir, { namespace: "a", attributes: () => ({}), refundwhen: () => true }), /no option refundwhen/);
  assert.throws(() => limit(weir, { namespace: "a", attributes: { user: "a" } }), /attributes: a function of the request/);
  assert.throws(() => limit(weir, { attributes: () => ({}) }), /namespace: the name/);
  const wrong = { cost: -1, headers: "no", skip: true, refundWhen: 500, onRefundError: 1, onRefused: {}, onDecision: "log" };
  for (const [name, value] of Object.entries(wrong)) {
    assert.throws(() => limit(weir, { namespace: "a", attributes: () => ({}), [name]: value }), { message: new RegExp(`^${name}: `) });
  }
  for (const call of ["record", "refund", "reserve", "defer", "wait"]) {
    await assert.rejects(weir[call]("a", {}, { maxMs: 1, costs: 2 }), /has no option (costs|maxMs)/, call);
  }
  assert.throws(() => clientAddress("203.0.113.9", undefined, { trustedHop: 1 }), /ip has no option trustedHop: there are trustedHops/);
});

test("a warning about the proxies comes once for each misuse, and can be silenced", () => {
  const warnings = [];
  const { warn } = console;
  console.warn = (text) => warnings.push(text);
  const misuses = [
    [["10.0.0.9", "1.1.1.1"], /set trustedHops.*trustedHops: 0 silences this/],
    [["10.0.0.9", undefined, { trustedHops: 1 }], /fewer addresses than trustedHops.*warnings: false silences this/],
    [["10.0.0.9", "198.51.100.7, 172.16.0.3", { trustedHops: 1 }], /a private one.*warnings: false silences this/],
  ];
  try {
    clientAddress("10.0.0.9", "1.1.1.1", { trustedHops: 0 });
    clientAddress("10.0.0.9", undefined);
    clientAddress("10.0.0.9", "198.51.100.7, 172.32.0.1", { trustedHops: 1 });
    clientAddress("10.0.0.9", "fd00::1, 2001:db8::1", { trustedHops: 1 });
    for (const [[peer, forwarded, options]] of misuses) clientAddress(peer, forwarded, { ...options, warnings: false });
    assert.deepEqual(warnings, []);
    for (const [call, expected] of misuses) {
      clientAddress(...call);
      clientAddress(...call);
      assert.match(warnings.pop(), expected);
      assert.deepEqual(warnings, []);
    }
  } finally {
    console.warn = warn;
  }
});

test("a cached denial counts down and ends when the gate's permission does", async () => {
  const position = conformance.cases.findIndex(({ name }) => name === "a denial is repeated as the gate permits");
  let now = 0;
  const url = `${STUB}/${position}/${RUN}-clock`;
  const weir = new Weir({ url, key: KEY, onError: "deny", timeoutMs: 20_000, now: () => now });
  const ask = async () => {
    const { allowed, cached, retryAfterMs } = await weir.check("a", {});
    return [allowed, cached, retryAfterMs];
  };
  assert.deepEqual(await ask(), [false, false, 60_000]);
  now = 999;
  assert.deepEqual(await ask(), [false, true, 59_001]);
  now = 1_000;
  assert.deepEqual(await ask(), [true, false, 0]);
});

test("a forwarded address counts only behind the stated number of proxies", () => {
  const rows = [
    ["203.0.113.9", "1.1.1.1", {}, "203.0.113.9"],
    ["203.0.113.9", "1.1.1.1, 198.51.100.7", { trustedHops: 1 }, "198.51.100.7"],
    ["203.0.113.9", ["1.1.1.1", "198.51.100.7"], { trustedHops: 1 }, "198.51.100.7"],
    ["203.0.113.9", "1.1.1.1, 198.51.100.7, 10.0.0.1", { trustedHops: 2 }, "198.51.100.7"],
    ["203.0.113.9", "198.51.100.7", { trustedHops: 3 }, "198.51.100.7"],
    ["203.0.113.9", "garbage", { trustedHops: 1 }, "203.0.113.9"],
    ["203.0.113.9", "01.1.1.1", { trustedHops: 1 }, "203.0.113.9"],
    ["203.0.113.9", undefined, { trustedHops: 1 }, "203.0.113.9"],
    ["10.0.0.1", "198.51.100.7:4711", { trustedHops: 1 }, "198.51.100.7"],
    ["10.0.0.1", "[2001:db8:1:2:3::9]:443", { trustedHops: 1 }, "2001:db8:1:2::/64"],
    ["::ffff:203.0.113.9", undefined, {}, "203.0.113.9"],
    ["2001:DB8:0:0:1:0:0:1", undefined, { ipv6Prefix: 128 }, "2001:db8::1:0:0:1"],
    ["2001:db8:1234:5678::1", undefined, { ipv6Prefix: 56 }, "2001:db8:1234:5600::/56"],
    ["fe80::1%eth0", undefined, {}, "fe80::/64"],
    ["::1", undefined, {}, "::/64"],
  ];
  for (const [peer, forwarded, options, expected] of rows) {
    assert.equal(clientAddress(peer, forwarded, options), expected, JSON.stringify([peer, forwarded, options]));
  }
  assert.throws(() => clientAddress(undefined, "1.1.1.1"), /trustedHops/);
  assert.throws(() => clientAddress("1::2::3", undefined), TypeError);
  assert.throws(() => clientAddress("1.1.1.1", undefined, { trustedHops: -1 }), RangeError);
});

test("values that a gate refuses become their digest", async () => {
  const long = "ü".repeat(257);
  const safe = await safeAttributes({ a: "plain", b: long, c: "nul\0", d: "\ud800", e: 7, f: null, g: "ü".repeat(256), h: ["a"] });
  assert.deepEqual([safe.a, safe.e, safe.f, safe.g], ["plain", 7, null, "ü".repeat(256)]);
  for (const name of ["b", "c", "d", "h"]) assert.match(safe[name], /^sha256:[0-9a-f]{64}$/);
  assert.notEqual(safe.b, safe.c);
});
