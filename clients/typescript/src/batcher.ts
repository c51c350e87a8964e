import { type Answer, Fields, type GateAnswer, readAnswer } from "./answer.js";
import { WeirError } from "./errors.js";
import type { Settings } from "./options.js";
import type { Reply } from "./transport.js";

/** A check or peek. */
export interface Asked {
  /** Its JSON. */
  json: string;
  /** Whether it can be sent twice: a peek, or it has an idempotency key. */
  repeatable: boolean;
  traceparent: string | undefined;
  signal: AbortSignal | undefined;
}

export interface Decided {
  gate: GateAnswer;
  /** Before the request was sent, by `now` of the settings. */
  sentAt: number;
}

/** Posts JSON; once more if the connection failed, and `repeatable`. Calls are given up at `deadline` of `performance.now()`. */
export type Post = (call: { path: string; json: string; repeatable: boolean; deadline: number; traceparent: string | undefined }) => Promise<Reply>;

/** A check that is not decided yet. */
class Pending {
  sentAt = 0;
  done = false;
  /** Whether a batch with this check was refused because of it. */
  alone = false;
  /** Called once, when the check is decided or given up. */
  settled: () => void = () => {};

  constructor(
    readonly asked: Asked,
    readonly deadline: number,
    readonly resolve: (gate: GateAnswer) => void,
    readonly reject: (error: unknown) => void,
  ) {}
}

/**
 * Sends checks: at once while fewer than `maxInFlight` calls are in flight, and at most as many others wait for the answers to checks that were
 * given up. Otherwise they wait in order, and the next call carries all that wait, as a batch.
 */
export class Batcher {
  readonly #settings: Settings;
  readonly #post: Post;
  readonly #onLate: (answer: Answer) => void;
  #queue = new Set<Pending>();
  #inFlight = 0;
  /** Those in flight, and those whose checks are all given up but whose answer is awaited, so that the connection stays open. */
  #open = 0;

  /** `onLate` gets the answer to a check that was given up before. */
  constructor(settings: Settings, post: Post, onLate: (answer: Answer) => void) {
    this.#settings = settings;
    this.#post = post;
    this.#onLate = onLate;
  }

  ask(asked: Asked): Promise<Decided> {
    const { timeoutMs, maxWaiting } = this.#settings;
    const { signal } = asked;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (!this.#mayCall() && this.#queue.size >= maxWaiting) {
        return reject(new WeirError("overload", `${maxWaiting} checks wait already`));
      }
      const settle = (finish: () => void) => {
        if (pending.done) return;
        pending.done = true;
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        this.#queue.delete(pending);
        finish();
        pending.settled();
      };
      const abort = () => settle(() => reject(signal?.reason));
      const giveUp = () => settle(() => reject(new WeirError("timeout", "the gate did not answer in time")));
      // A busy program runs its timers late, and before it reads what has arrived. That time is added once.
      const late = () => {
        timer = setTimeout(giveUp, Math.min(performance.now() - pending.deadline, timeoutMs));
      };
      const pending = new Pending(
        asked,
        performance.now() + timeoutMs,
        (gate) => {
          if (pending.done) this.#onLate(gate.answer);
          else settle(() => resolve({ gate, sentAt: pending.sentAt }));
        },
        (error) => settle(() => reject(error)),
      );
      let timer = setTimeout(late, timeoutMs);
      signal?.addEventListener("abort", abort, { once: true });
      this.#queue.add(pending);
      this.#sendNext();
    });
  }

  #sendNext(): void {
    while (this.#mayCall() && this.#queue.size > 0) void this.#call(this.#take());
  }

  #mayCall(): boolean {
    const { maxInFlight } = this.#settings;
    return this.#inFlight < maxInFlight && this.#open < 2 * maxInFlight;
  }

  /** The oldest checks that wait, as many as one call can carry. */
  #take(): Pending[] {
    const taken: Pending[] = [];
    let length = 0;
    for (const pending of this.#queue) {
      const { json, repeatable } = pending.asked;
      length += json.length + 1;
      const [first] = taken;
      // If a batch is refused, its checks are sent again, so that those that cannot be repeated must not have been decided.
      const fits = taken.length < BATCH_MAX && length <= LENGTH_MAX && !pending.alone && repeatable === first?.asked.repeatable;
      if (first !== undefined && !fits) break;
      taken.push(pending);
      this.#queue.delete(pending);
      if (pending.alone) break;
    }
    return taken;
  }

  async #call(checks: Pending[]): Promise<void> {
    const [first, ...others] = checks as [Pending, ...Pending[]];
    this.#inFlight += 1;
    this.#open += 1;
    let undecided = checks.length;
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      this.#inFlight -= 1;
      this.#sendNext();
    };
    const sentAt = this.#settings.now();
    for (const check of checks) {
      check.sentAt = sentAt;
      check.settled = () => {
        undecided -= 1;
        if (undecided === 0) end();
      };
    }
    const { repeatable, traceparent } = first.asked;
    const single = others.length === 0;
    try {
      const reply = await this.#post({
        path: single ? "/check" : "/check/batch",
        json: single ? first.asked.json : `{"checks":[${checks.map(({ asked }) => asked.json).join(",")}]}`,
        repeatable,
        // The last check is too late by then. A connection whose answer comes a little later stays open.
        deadline: Math.max(...checks.map(({ deadline }) => deadline)) + this.#settings.timeoutMs,
        traceparent,
      });
      if (single) first.resolve(readDecision(reply));
      else readEach(reply, checks);
    } catch (error) {
      if (!single && error instanceof WeirError && error.kind === "refused") this.#sendAgain(checks, error);
      else for (const check of checks) check.reject(error);
    } finally {
      this.#open -= 1;
      end();
      this.#sendNext();
    }
  }

  /** Puts the checks of a refused batch back, the wrong ones alone. */
  #sendAgain(checks: Pending[], error: WeirError): void {
    const wrong = new Set(error.fields.map(({ field }) => Number(/^checks\[(\d+)\]/.exec(field)?.[1] ?? NaN)));
    const named = checks.some((_, at) => wrong.has(at));
    const again = checks.filter(({ done }) => !done);
    for (const check of again) {
      check.alone = !named || wrong.has(checks.indexOf(check));
      check.settled = () => {};
    }
    this.#queue = new Set([...again, ...this.#queue]);
  }
}

/** The decision of one check. */
export function readDecision({ status, body, requestId }: Reply): GateAnswer {
  const gate = readAnswer(body, requestId);
  if (status !== (gate.answer.allowed ? 200 : 429)) throw notAnAnswer(status);
  return gate;
}

/** Gives each check its entry of a batch. One that is no answer fails its own check alone. */
function readEach({ status, body, requestId }: Reply, checks: Pending[]): void {
  if (status !== 200) throw notAnAnswer(status);
  const results = new Fields(body, "the batch").list("results", (value) => value);
  if (results.length !== checks.length) throw notAnAnswer(status);
  for (const [at, check] of checks.entries()) {
    try {
      check.resolve(readAnswer(results[at], requestId));
    } catch (error) {
      check.reject(error);
    }
  }
}

export function notAnAnswer(status: number): WeirError {
  return new WeirError("answer", `the gate's answer does not fit its status ${status}`, { status });
}

export const BATCH_MAX = 100;
/** A gate reads 64 KiB. A UTF-16 unit is at most three bytes of UTF-8. */
const LENGTH_MAX = Math.floor((64 * 1024 - 16) / 3);
