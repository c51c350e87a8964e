import type { WeirError } from "./errors.js";
import type { CheckRequest } from "./request.js";
import { currentTraceparent } from "./traceparent.js";

/** The decision of the caller about an action on which no gate decided. */
export type Choice = "allow" | "deny";

export interface Options {
  /** The address of a gate or of the load balancer before the gates, such as `http://weir:8081`. */
  url: string;
  /** An API key with the scope `check`. */
  key: string;
  /**
   * The decision if no gate decides: too late, no connection, an error, or an answer that is none. There is no default,
   * because either choice hurts somebody.
   */
  onError: Choice | ((error: WeirError, request: CheckRequest) => Choice | Promise<Choice>);
  /** The time for one call with its repeat, in milliseconds; 100 if not given. That of a check covers its waiting too. */
  timeoutMs?: number;
  /**
   * Repeats a call once if its connection fails. Each check then carries an idempotency key, which costs Redis a key for a minute
   * and excludes the gate's shortcuts (leases, cached denials). Peeks are always repeated.
   */
  retry?: boolean;
  /** The number of calls with checks that are in flight at a time; 4 if not given. What arrives meanwhile waits, and travels as a batch. */
  maxInFlight?: number;
  /** The number of checks that wait; 10,000 if not given. Further ones are left to `onError`, with the kind `overload`. */
  maxWaiting?: number;
  /** Sends the requests, for mTLS, proxies and instrumentation; the global `fetch` if not given. */
  fetch?: typeof globalThis.fetch;
  /**
   * The header `traceparent` of a call; if not given, that of the current span, if the program uses `@opentelemetry/api`. A batch has that
   * of its first check.
   */
  traceparent?: () => string | undefined;
  /** How many denials are repeated without asking while the gate permits it; 10,000 if not given, 0 for none. */
  cacheSize?: number;
  /** Called for every decision that was left to `onError`: count it, so that an open gate is noticed. */
  onDegraded?: (error: WeirError) => void;
  /** Monotonic milliseconds, by which cached denials end; `performance.now` if not given. For tests. */
  now?: () => number;
  /**
   * `wait` waits up to this time longer than a denial says, and at most twice the promise, so that those who were denied together do not
   * return together; 1,000 ms if not given.
   */
  retrySpreadMs?: number;
  /** A number from 0 to less than 1, for `retrySpreadMs`; `Math.random` if not given. For tests. */
  random?: () => number;
  /** Waits for `ms`; a timer if not given. For tests. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export type Settings = Required<Options>;

const NAMES = [
  "url", "key", "onError", "timeoutMs", "retry", "maxInFlight", "maxWaiting", "fetch", "traceparent", "cacheSize", "onDegraded", "now",
  "retrySpreadMs", "random", "sleep",
] satisfies (keyof Options)[];

export function readOptions(options: Options): Settings {
  knownOnly("Weir", options, NAMES);
  const { url, key, onError } = options;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) throw new TypeError("url: an http or https address is needed");
  if (parsed.username !== "" || parsed.search !== "" || parsed.hash !== "") {
    throw new TypeError("url: an address without user, query and fragment is needed");
  }
  if (typeof key !== "string" || !/^[!-~]+$/.test(key)) throw new TypeError("key: an API key is needed");
  if (onError !== "allow" && onError !== "deny" && typeof onError !== "function") {
    throw new TypeError('onError: choose "allow", "deny" or a function');
  }
  if (options.retry !== undefined && typeof options.retry !== "boolean") throw new TypeError("retry: true or false is needed");
  functions(options, ["fetch", "traceparent", "onDegraded", "now", "random", "sleep"]);
  return {
    url: parsed.href.replace(/\/+$/, ""),
    key,
    onError,
    timeoutMs: readTimeout(options.timeoutMs ?? 100),
    cacheSize: inRange("cacheSize", options.cacheSize ?? 10_000, 0, 1_000_000),
    maxInFlight: inRange("maxInFlight", options.maxInFlight ?? 4, 1, 64),
    maxWaiting: inRange("maxWaiting", options.maxWaiting ?? 10_000, 0, 1_000_000),
    retrySpreadMs: inRange("retrySpreadMs", options.retrySpreadMs ?? 1_000, 0, 60_000),
    retry: options.retry ?? false,
    // Looked up at each call, so that what replaces it later is used.
    fetch: options.fetch ?? ((...call) => globalThis.fetch(...call)),
    traceparent: options.traceparent ?? currentTraceparent,
    random: options.random ?? Math.random,
    onDegraded: options.onDegraded ?? (() => {}),
    now: options.now ?? (() => performance.now()),
    sleep: options.sleep ?? sleep,
  };
}

/** Fails for an option that does not exist, which JavaScript would ignore. */
export function knownOnly(of: string, options: object, names: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`${of} has no option ${unknown}: there are ${names.join(", ")}`);
}

/** Fails if one of these options is given and no function. */
export function functions<O extends object>(options: O, names: readonly (keyof O & string)[]): void {
  for (const name of names) {
    if (typeof (options[name] ?? (() => {})) !== "function") throw new TypeError(`${name}: a function is needed`);
  }
}

export function readTimeout(ms: number): number {
  return inRange("timeoutMs", ms, 1, 60_000);
}

function inRange(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name}: a whole number from ${least} to ${most} is needed`);
  }
  return value;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
  });
}
