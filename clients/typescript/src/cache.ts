import type { Answer, GateAnswer } from "./answer.js";

/** The longest time for which a denial is repeated, whatever the gate permits. */
const MAX_MS = 1_000;

/** Denials that the gate permits the client to repeat. Bounded; the oldest entry leaves first. */
export class DenialCache {
  readonly #size: number;
  #entries = new Map<string, { answer: Answer; since: number; until: number }>();
  #generation = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Changes with each `clear`: a denial of a request that was sent before is not inserted after it. */
  get generation(): number {
    return this.#generation;
  }

  get(key: string, now: number): Answer | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    if (now >= entry.until) {
      this.#entries.delete(key);
      return null;
    }
    return later(entry.answer, Math.floor(now - entry.since));
  }

  /** `since` is the time before the request was sent, so that the entry ends before the gate's decision does. */
  insert(key: string, gate: GateAnswer, since: number, generation: number): void {
    const { answer, cacheForMs } = gate;
    const ms = Math.min(cacheForMs, answer.retryAfterMs ?? MAX_MS, MAX_MS);
    if (answer.allowed || answer.degraded !== null || ms <= 0 || this.#size <= 0) return;
    if (generation !== this.#generation) return;
    this.#entries.delete(key);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= this.#size && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(key, { answer, since, until: since + ms });
  }

  clear(): void {
    this.#generation += 1;
    this.#entries = new Map();
  }
}

/** The same denial after `passedMs`. */
function later(answer: Answer, passedMs: number): Answer {
  const left = (ms: number | null) => (ms === null ? null : Math.max(ms - passedMs, 0));
  const limits = answer.limits.map((limit) => ({
    ...limit,
    resetAfterMs: left(limit.resetAfterMs),
    retryAfterMs: left(limit.retryAfterMs),
  }));
  const { retryAfterMs, resetAfterMs } = answer;
  return {
    ...answer,
    deniedBy: [...answer.deniedBy],
    over: [...answer.over],
    retryAfterMs: left(retryAfterMs),
    resetAfterMs: left(resetAfterMs),
    limits,
    cached: true,
  };
}
