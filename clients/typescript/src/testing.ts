import { Weir } from "./client.js";
import type { Options } from "./options.js";

/** Checks that a `MemoryGate` denies: those that have these attributes and, if given, this namespace. */
export interface Denial {
  namespace?: string;
  attributes?: Record<string, string>;
  /** 60,000 if not given; null: never again. */
  retryAfterMs?: number | null;
  /** The name of the rule; `test` if not given. */
  deniedBy?: string;
}

/** A request that a `MemoryGate` got, as the client sent it. */
export interface Received {
  path: string;
  namespace: string;
  attributes: Record<string, string>;
  cost: number;
  [field: string]: unknown;
}

/** A gate in memory, for tests: admits all checks, but those that it is to deny. Clients reach it by their `fetch`. */
export class MemoryGate {
  /** In the order of their arrival; the checks of a batch one by one. */
  readonly received: Received[] = [];
  #denials: Denial[];
  #failure: number | Error | null = null;
  #reservations = 0;

  constructor({ deny = [] }: { deny?: readonly Denial[] } = {}) {
    this.#denials = [...deny];
  }

  /** A client of this gate. */
  client(options: Partial<Options> = {}): Weir {
    return new Weir({ url: "http://gate.test", key: "test", onError: "deny", cacheSize: 0, ...options, fetch: this.fetch });
  }

  /** Denies such checks from now on. */
  deny(denial: Denial): void {
    this.#denials.push(denial);
  }

  /** Admits all checks from now on. */
  allow(): void {
    this.#denials = [];
    this.#failure = null;
  }

  /** Fails all calls from now on, with this status or as if no connection was possible. */
  fail(how: number | "connection"): void {
    this.#failure = how === "connection" ? new TypeError("the gate is away") : how;
  }

  readonly fetch: typeof globalThis.fetch = async (url, { body } = {}) => {
    if (this.#failure instanceof Error) throw this.#failure;
    if (this.#failure !== null) return reply(this.#failure, { code: "test" });
    const path = new URL(String(url)).pathname;
    const request = JSON.parse(String(body ?? "{}"));
    if (path !== "/check/batch") return this.#answer(path, request);
    const each = request.checks.map((check: Received) => this.#answer("/check", check).json());
    return reply(200, { results: await Promise.all(each) });
  };

  #answer(path: string, request: Received): Response {
    const { namespace, attributes = {}, cost = 1 } = request;
    this.received.push({ ...request, path, attributes, cost });
    const reports: Record<string, object> = {
      "/commit": { charged: cost, released: 0, late: false, degraded: null },
      "/renew": { expires_at_ms: Date.now() + 60_000, degraded: null },
      "/release": { released: true, degraded: null },
    };
    if (reports[path] !== undefined) return reply(200, reports[path]);
    const decides = path === "/check" || path === "/reserve";
    const matches = (denial: Denial) =>
      (denial.namespace ?? namespace) === namespace && Object.entries(denial.attributes ?? {}).every(([name, value]) => attributes[name] === value);
    const denial = decides ? this.#denials.find(matches) : undefined;
    const allowed = denial === undefined;
    const retryAfterMs = denial?.retryAfterMs === undefined ? 60_000 : denial.retryAfterMs;
    return reply(allowed ? 200 : 429, {
      allowed,
      denied_by: allowed ? [] : [denial.deniedBy ?? "test"],
      retry_after_ms: allowed ? 0 : retryAfterMs,
      delay_ms: 0,
      limit: null,
      remaining: null,
      reset_after_ms: null,
      limits: [],
      degraded: null,
      rulebook_version: 1,
      ...(path === "/record" ? { charged: cost } : {}),
      ...(path === "/reserve" ? { reservation: allowed ? `resv_${(this.#reservations += 1)}` : null, reserved: allowed ? cost : 0, expires_at_ms: null } : {}),
    });
  }
}

function reply(status: number, body: object): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}
