import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { Weir, WeirError, headers } from "../dist/index.js";
import { GATE, GENEROUS_MS, KEY, RUN, STUB, WEBHOOK, closedPort, conformance } from "./support.mjs";

for (const [position, row] of conformance.cases.entries()) {
  test(row.name, async () => {
    const slept = [];
    const address = await addressOf(row, position);
    const weir = new Weir({
      url: address,
      ...optionsOf(row),
      // A busy machine must not outlast a cached denial.
      ...(row.steps.some((step) => step.call === "wait") ? {} : { now: () => 0 }),
      ...(row.server === "stub" ? { sleep: async (ms) => void slept.push(ms) } : {}),
    });
    const state = { reservation: null, lease: "lease_x", job: "deferred_x" };
    for (const [nth, step] of row.steps.entries()) {
      const where = `step ${nth}`;
      await (step.until ? passes(() => take(weir, step, where, state)) : take(weir, step, where, state));
    }
    if (row.sleeps !== undefined) assert.deepEqual(slept, row.sleeps);
    if (row.server === "stub") await compareRequests(row, `${address}/requests`);
  });
}

const first = conformance.cases.length;
for (const [position, row] of conformance.concurrent.cases.entries()) {
  test(`at once: ${row.name}`, async () => {
    const address = await addressOf(row, first + position);
    const weir = new Weir({ url: address, ...optionsOf(row), now: () => 0 });
    const steps = row.calls.flatMap((step) => Array(row.times ?? 1).fill(step));
    const outcomes = await Promise.allSettled(steps.map((step) => call(weir, step, {})));
    for (const [nth, step] of steps.entries()) {
      const { value, reason } = outcomes[nth];
      const again = () => (reason === undefined ? value : Promise.reject(reason));
      if (step.expect ?? step.error) await compareOutcome(step, again, `call ${nth}`);
      else assert.equal(value?.degraded, null, `call ${nth}: ${reason ?? value.error}`);
    }
    if (row.allowed !== undefined) assert.equal(outcomes.filter(({ value }) => value?.allowed).length, row.allowed);
    if (row.paths !== undefined) {
      const requests = await (await fetch(`${address}/requests`)).json();
      assert.deepEqual(requests.map(({ path }) => path), row.paths);
    }
  });
}

async function addressOf(row, position) {
  return { gate: GATE, stub: `${STUB}/${position}/${RUN}`, closed: await closedPort() }[row.server];
}

function optionsOf({ options = {}, random = 0 }) {
  const { on_error = "deny", key = KEY, timeout_ms = GENEROUS_MS, ...rest } = options;
  const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  const others = Object.fromEntries(Object.entries(rest).map(([name, value]) => [camel(name), value]));
  return { key, onError: on_error, timeoutMs: timeout_ms, random: () => random, ...others };
}

/** Repeats an action until it succeeds. */
async function passes(action) {
  const deadline = Date.now() + GENEROUS_MS;
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await setTimeout(5);
    }
  }
}

function take(weir, step, where, state) {
  return compareOutcome(step, () => call(weir, step, state), where);
}

async function compareOutcome(step, operation, where) {
  let answers;
  try {
    const outcome = await operation();
    answers = Array.isArray(outcome) ? outcome : [outcome];
  } catch (error) {
    assert(error instanceof WeirError && step.error !== undefined, `${where}: ${error.stack}`);
    const { kind, status, fields } = step.error;
    assert.equal(error.kind, kind, where);
    if (status !== undefined) assert.equal(error.status, status, where);
    if (fields !== undefined) assert.deepEqual(error.fields.map(({ field }) => field), fields, where);
    return;
  }
  assert.equal(step.error, undefined, `${where}: no error`);
  const expected = step.results ?? [step.expect];
  assert.equal(answers.length, expected.length, where);
  expected.forEach((wanted, at) => compare(answers[at], wanted, `${where}, answer ${at}`));
}

async function call(weir, step, state) {
  const { namespace = "conformance", cost, idempotency_key } = step;
  const options = {
    ...(cost === undefined ? {} : { cost }),
    ...(idempotency_key === undefined ? {} : { idempotencyKey: ofRun(idempotency_key) }),
  };
  const attributes = attributesOf(step.attributes ?? {});
  switch (step.call) {
    case "check":
    case "peek":
    case "record":
    case "refund": {
      const charge = step.charge === undefined ? {} : { charge: step.charge === "$CHARGE" ? state.charge : step.charge };
      const answer = await weir[step.call](namespace, attributes, { ...options, ...charge });
      state.charge = answer.charge ?? state.charge;
      state.lease = answer.leases[0]?.id ?? state.lease;
      return answer;
    }
    case "renew":
    case "release":
      return weir[step.call](step.lease ?? state.lease);
    case "defer": {
      const { target = WEBHOOK, payload, not_after_ms, timeout_ms } = step;
      const more = {
        ...(not_after_ms === undefined ? {} : { notAfterMs: not_after_ms }),
        ...(timeout_ms === undefined ? {} : { timeoutMs: timeout_ms }),
      };
      const { job, answer } = await weir.defer(namespace, attributes, { ...options, target, payload, ...more });
      state.job = job?.id ?? state.job;
      return { ...job, state: job?.state ?? null, answer };
    }
    case "deferred": {
      const job = await weir.deferred(step.job ?? state.job);
      return { ...job, state: job?.state ?? null };
    }
    case "cancel_deferred":
      return { removed: await weir.cancelDeferred(step.job ?? state.job) };
    case "exhaust":
      return weir.exhaust(namespace, attributes, step.for_ms);
    case "reserve": {
      const { ttl_ms, at_most } = step;
      const more = { ...(ttl_ms === undefined ? {} : { ttlMs: ttl_ms }), ...(at_most === undefined ? {} : { atMost: at_most }) };
      state.reservation = await weir.reserve(namespace, attributes, { ...options, ...more });
      return { ...state.reservation.answer, reserved: state.reservation.reserved };
    }
    case "commit":
      return state.reservation.commit(cost);
    case "cancel":
      return state.reservation.cancel();
    case "wait":
      return weir.wait(namespace, attributes, { ...options, maxMs: step.max_ms });
    case "batch":
      return weir.batch(step.checks.map((check) => ({ namespace, ...check, attributes: attributesOf(check.attributes) })));
    default:
      throw new Error(`no call ${step.call}`);
  }
}

function compare(answer, wanted, where) {
  const found = {
    allowed: answer.allowed,
    denied_by: answer.deniedBy,
    over: answer.over,
    request_id: answer.requestId,
    retry_after_ms: answer.retryAfterMs,
    delay_ms: answer.delayMs,
    limit: answer.limit,
    remaining: answer.remaining,
    reset_after_ms: answer.resetAfterMs,
    limits: answer.limits?.length,
    leases: answer.leases?.length,
    held: answer.held,
    degraded: answer.degraded,
    charged: answer.charged,
    buffered: answer.buffered,
    reserved: answer.reserved,
    released: answer.released,
    late: answer.late,
    code: answer.code,
    cached: answer.cached,
    error: answer.error?.kind ?? answer.error ?? null,
    state: answer.state,
    position: answer.position,
    attempts: answer.attempts,
    removed: answer.removed,
  };
  for (const [name, value] of Object.entries(wanted)) {
    const place = `${where}: ${name} of ${JSON.stringify(found)}`;
    if (name === "headers") {
      const all = headers(answer);
      for (const [header, text] of Object.entries(value)) assert.equal(all[header] ?? null, text, `${where}: ${header}`);
    } else if (name === "answer") {
      if (value === null) assert.equal(answer.answer, null, where);
      else compare(answer.answer, value, `${where}: answer`);
    } else if (typeof value?.min === "number") {
      assert(found[name] >= value.min && found[name] <= value.max, place);
    } else {
      assert.deepEqual(found[name], value, place);
    }
  }
}

async function compareRequests(row, address) {
  const requests = await (await fetch(address)).json();
  if (row.requests !== undefined) assert.equal(requests.length, row.requests, "requests");
  const keys = requests.map(({ body }) => body.idempotency_key);
  if (row.same_key) assert(keys[0]?.length >= 16 && keys.every((key) => key === keys[0]), `keys: ${keys}`);
}

function attributesOf(attributes) {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, ofRun(value)]));
}

function ofRun(text) {
  return text.replaceAll("$RUN", RUN);
}
