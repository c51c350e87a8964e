import { WeirError } from "./errors.js";
import type { Reply } from "./transport.js";

/** The decision of one limit of one matching rule. */
export interface LimitAnswer {
  rule: string;
  ruleId: string;
  algorithm: string;
  /** `shadow` and `report` limits are listed and do not deny; `over` names the rules of exceeded `report` limits. */
  mode: "enforce" | "shadow" | "report";
  allowed: boolean;
  limit: number;
  remaining: number | null;
  windowMs: number;
  resetAfterMs: number | null;
  retryAfterMs: number | null;
  delayMs: number;
  /** In the answer to a refund: whether units were returned to this limit. */
  refunded: boolean | null;
}

/** A place in a concurrency limit. */
export interface Lease {
  /** By which the lease is renewed and released. */
  id: string;
  ruleId: string;
  /** The time at which the lease ends by itself, in milliseconds since 1970, by the clock of the gates. */
  expiresAtMs: number;
}

/** The source of an answer that Redis did not decide: a rule, the gate's own counters, or this client's `onError`. */
export type Degraded = "allow" | "deny" | "local" | "client";

/** The answer to a check. */
export interface Answer {
  allowed: boolean;
  /** The names of the rules that denied the check. */
  deniedBy: string[];
  /** The names of the rules in the mode `report` of which a limit is exceeded. They deny nothing: the caller can do less. */
  over: string[];
  /** 0 when allowed; on denial the time after which the same check could pass; null if it never can. */
  retryAfterMs: number | null;
  /** The time to wait before acting (leaky buckets). `wait()` has waited for it. */
  delayMs: number;
  /** `limit`, `remaining` and `resetAfterMs` of the limit that decides; null when none does. */
  limit: number | null;
  remaining: number | null;
  resetAfterMs: number | null;
  limits: LimitAnswer[];
  /** The leases of concurrency limits that the check took. Release each of them when the work is done. */
  leases: Lease[];
  /** Names what the check charged, for `refund`; null if it charged no enforced limit. */
  charge: string | null;
  degraded: Degraded | null;
  /** In the answer to a record: the number of units that each matching limit took. */
  charged: number | null;
  /** In the answer to a record: whether the gate holds it, because Redis was away, and sends it when Redis returns. */
  buffered: boolean;
  /** `tenant_rate` or `enforcement_off` when no rule decided. */
  code: string | null;
  /** The version of the rulebook that decided; null if `degraded` is `client`. */
  rulebookVersion: number | null;
  /** The gate's `X-Request-Id`, which names the request in the log of denials; null if no gate answered. Of a cached denial, that of the first one. */
  requestId: string | null;
  /** Whether this is a denial that the client repeated without asking the gate. */
  cached: boolean;
  /** Why no gate decided; null unless `degraded` is `client`. */
  error: WeirError | null;
}

/** An answer as a gate sent it, and for how long a denial can be repeated. */
export interface GateAnswer {
  answer: Answer;
  cacheForMs: number;
}

/** Reads an answer. Anything that is not exactly an answer is an error, so it cannot admit. */
export function readAnswer(value: unknown, requestId: string | null): GateAnswer {
  const body = new Fields(value, "the answer");
  const answer: Answer = {
    allowed: body.flag("allowed"),
    deniedBy: body.list("denied_by", asText),
    // Older gates do not send it.
    over: body.optional("over", (fields) => fields.list("over", asText)) ?? [],
    retryAfterMs: body.countOrNull("retry_after_ms"),
    delayMs: body.count("delay_ms"),
    limit: body.countOrNull("limit"),
    remaining: body.countOrNull("remaining"),
    resetAfterMs: body.countOrNull("reset_after_ms"),
    limits: body.list("limits", readLimit),
    leases: body.optional("leases", (fields) => fields.list("leases", readLease)) ?? [],
    // Older gates do not send it.
    charge: body.optional("charge", (fields) => fields.text("charge")),
    degraded: body.oneOfOrNull("degraded", ["allow", "deny", "local"]),
    charged: body.optional("charged", (fields) => fields.count("charged")),
    buffered: readBuffered(body),
    code: body.optional("code", (fields) => fields.text("code")),
    rulebookVersion: body.count("rulebook_version"),
    requestId,
    cached: false,
    error: null,
  };
  // Older gates do not send it.
  const cacheForMs = body.optional("cache_for_ms", (fields) => fields.count("cache_for_ms")) ?? 0;
  return { answer, cacheForMs };
}

/** Whether the gate holds the call until Redis returns. Older gates do not send it. */
export function readBuffered(body: Fields): boolean {
  return body.optional("buffered", (fields) => fields.flag("buffered")) ?? false;
}

/** The number of entries of `results`, read as answers. */
export function readBatch({ body, requestId }: Reply, count: number): GateAnswer[] {
  const results = new Fields(body, "the batch").list("results", (value) => readAnswer(value, requestId));
  if (results.length !== count) throw invalid("results", `${count} entries`);
  return results;
}

function readLimit(value: unknown): LimitAnswer {
  const limit = new Fields(value, "a limit");
  return {
    rule: limit.text("rule"),
    ruleId: limit.text("rule_id"),
    algorithm: limit.text("algorithm"),
    mode: limit.oneOf("mode", ["enforce", "shadow", "report"]),
    allowed: limit.flag("allowed"),
    limit: limit.count("limit"),
    remaining: limit.countOrNull("remaining"),
    windowMs: limit.count("window_ms"),
    resetAfterMs: limit.countOrNull("reset_after_ms"),
    retryAfterMs: limit.countOrNull("retry_after_ms"),
    delayMs: limit.count("delay_ms"),
    refunded: limit.optional("refunded", (fields) => fields.flag("refunded")),
  };
}

function readLease(value: unknown): Lease {
  const lease = new Fields(value, "a lease");
  return { id: lease.text("id"), ruleId: lease.text("rule_id"), expiresAtMs: lease.count("expires_at_ms") };
}

/** The fields of a JSON object; each reader fails if the value is another one. */
export class Fields {
  readonly #values: Record<string, unknown>;

  constructor(value: unknown, what: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(what, "an object");
    this.#values = value as Record<string, unknown>;
  }

  flag(name: string): boolean {
    const value = this.#values[name];
    if (typeof value !== "boolean") throw invalid(name, "true or false");
    return value;
  }

  text(name: string): string {
    return asText(this.#values[name], name);
  }

  textOrNull(name: string): string | null {
    return this.#values[name] === null ? null : this.text(name);
  }

  count(name: string): number {
    const value = this.#values[name];
    if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalid(name, "a whole number");
    return value as number;
  }

  countOrNull(name: string): number | null {
    return this.#values[name] === null ? null : this.count(name);
  }

  list<T>(name: string, read: (value: unknown, name: string) => T): T[] {
    const value = this.#values[name];
    if (!Array.isArray(value)) throw invalid(name, "a list");
    return value.map((item) => read(item, name));
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T {
    const found = values.find((value) => value === this.#values[name]);
    if (found === undefined) throw invalid(name, values.join(" or "));
    return found;
  }

  oneOfOrNull<T extends string>(name: string, values: readonly T[]): T | null {
    return this.#values[name] === null ? null : this.oneOf(name, values);
  }

  optional<T>(name: string, read: (fields: this) => T): T | null {
    return this.#values[name] === undefined ? null : read(this);
  }
}

function asText(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalid(name, "a string");
  return value;
}

function invalid(name: string, expected: string): WeirError {
  return new WeirError("answer", `the gate's answer is not valid: ${name} is not ${expected}`);
}
