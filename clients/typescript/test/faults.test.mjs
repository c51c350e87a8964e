import assert from "node:assert/strict";
import { readdirSync, readlinkSync } from "node:fs";
import { test } from "node:test";

import { Weir } from "../dist/index.js";
import { GATE, GATE_PID, GENEROUS_MS, KEY, RUN, closedPort } from "./support.mjs";

const subject = { suite: "bucket", user: `faults-${RUN}` };

test("a frozen gate leaves the decision to onError, and is used again when it continues", async () => {
  const degraded = [];
  const weir = (onError, timeoutMs) =>
    new Weir({ url: GATE, key: KEY, onError, timeoutMs, onDegraded: (error) => degraded.push(error.kind) });
  const before = await weir("deny", GENEROUS_MS).peek("conformance", subject);
  assert.equal(before.degraded, null);
  process.kill(GATE_PID, "SIGSTOP");
  try {
    for (const onError of ["deny", "allow"]) {
      const client = weir(onError, 100);
      const answers = await Promise.all(Array.from({ length: 50 }, () => client.check("conformance", subject)));
      for (const answer of answers) {
        assert.deepEqual([answer.allowed, answer.degraded, answer.error.kind], [onError === "allow", "client", "timeout"]);
      }
    }
    assert.deepEqual(degraded, Array(100).fill("timeout"));
    await assert.rejects(weir("allow", 100).refund("conformance", subject), { kind: "timeout" });
  } finally {
    process.kill(GATE_PID, "SIGCONT");
  }
  assert.equal((await weir("deny", GENEROUS_MS).peek("conformance", subject)).degraded, null);
});

test("onError can be a function of the error and the request", async () => {
  const onError = async (error, request) => (error.kind === "connection" && request.cost === 2 ? "allow" : "deny");
  const weir = new Weir({ url: await closedPort(), key: KEY, onError });
  assert.equal((await weir.check("a", {}, { cost: 2 })).allowed, true);
  assert.equal((await weir.check("a", {}, { cost: 1 })).allowed, false);
  const wrong = new Weir({ url: await closedPort(), key: KEY, onError: () => true });
  assert.equal((await wrong.check("a", {})).allowed, false, "a choice that is none does not admit");
});

test("10,000 calls leave no socket open beyond those in use at once", { skip: process.platform !== "linux" }, async () => {
  const closed = await closedPort();
  const clients = [GATE, closed].map((url) => new Weir({ url, key: KEY, onError: "deny", timeoutMs: GENEROUS_MS }));
  const before = sockets();
  for (const client of clients) {
    let calls = 0;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (calls < 5_000) {
          calls += 1;
          await client.peek("conformance", subject);
        }
      }),
    );
  }
  assert(sockets() - before <= 32, `${sockets() - before} sockets are open`);
});

function sockets() {
  return readdirSync("/proc/self/fd").filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;
}
