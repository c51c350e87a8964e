import type { Answer } from "./answer.js";
import type { Weir } from "./client.js";
import { headers, headersOfAll } from "./headers.js";
import { functions, knownOnly } from "./options.js";
import type { Attributes } from "./request.js";

/** How a middleware limits the requests `R` of its framework. */
export interface MiddlewareOptions<R> {
  namespace: string;
  /**
   * Names and values that rules test and count by; null passes the request unlimited. Values that a gate would refuse, because they are
   * longer than 512 bytes or contain control characters, are replaced by their SHA-256.
   */
  attributes: (request: R) => Attributes | null | Promise<Attributes | null>;
  cost?: number | ((request: R) => number | Promise<number>);
  /** Whether the request passes without a check. */
  skip?: (request: R) => boolean | Promise<boolean>;
  /**
   * Returns the units after an answer with such a status: `(status) => status < 300` counts failed sign-ins only. Units whose window is
   * over by then do not return. It is not asked if the client goes away before the response begins.
   */
  refundWhen?: (status: number) => boolean;
  /** Called if the units could not be returned, or a lease could not be renewed or released. */
  onRefundError?: (error: unknown) => void;
  /** Makes the response to a refused request. Where it says nothing, the response is a problem document. */
  onRefused?: (answer: Answer, request: R) => OwnRefusal | Promise<OwnRefusal>;
  /** Whether responses have `RateLimit`, `RateLimit-Policy` and `X-RateLimit-*`; true if not given. `Retry-After` of a refusal stays. */
  headers?: boolean;
  /** Called with each answer and the milliseconds that it took: for metrics. */
  onDecision?: (answer: Answer, milliseconds: number) => void;
}

const NAMES = [
  "namespace", "attributes", "cost", "skip", "refundWhen", "onRefundError", "onRefused", "headers", "onDecision",
] satisfies (keyof MiddlewareOptions<unknown>)[];

/** An application's own response to a refused request. */
export interface OwnRefusal {
  status?: number;
  /** By lower-case name. */
  headers?: Record<string, string>;
  /** A text, or a value that is sent as JSON. */
  body?: string | object;
}

/** A response instead of the handler's. */
export interface Refusal {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  body: string | object;
}

export interface Admission {
  /** Null for a request that is not limited. */
  answer: Answer | null;
  /** Of all limits that have decided about the request by now, those within this one too. */
  readonly headers: Record<string, string>;
  refusal: Refusal | null;
  /** Whether `settle` can have an effect. */
  pending: boolean;
  /** Of the response, as soon as it has begun. */
  status: number | null;
  /**
   * To be called when the response has ended or the client has gone away, with the status (500 if the handler failed), or null if the response
   * had not begun. Releases the leases, and returns the units if `refundWhen` says so. Later calls have no effect. Never rejects.
   */
  settle: (status: number | null) => Promise<void>;
}

/** Fails for options that a program in JavaScript wrote wrongly. */
export function checkOptions<R>(options: MiddlewareOptions<R>): void {
  knownOnly("the middleware", options, NAMES);
  if (typeof options.namespace !== "string") throw new TypeError("namespace: the name of a namespace is needed");
  if (typeof options.attributes !== "function") throw new TypeError("attributes: a function of the request is needed");
  const { cost = 1, headers = true } = options;
  if (typeof cost !== "function" && (!Number.isInteger(cost) || cost < 0)) throw new TypeError("cost: a whole number or a function of the request is needed");
  if (typeof headers !== "boolean") throw new TypeError("headers: true or false is needed");
  functions(options, ["skip", "refundWhen", "onRefundError", "onRefused", "onDecision"]);
}

/** Decides about a request. Waits for the delay of a leaky bucket. The answer is `weir` of the request, and `answerOf` finds it. */
export async function admit<R extends object>(weir: Weir, options: MiddlewareOptions<R>, request: R): Promise<Admission> {
  const attributes = (await options.skip?.(request)) ? null : await options.attributes(request);
  if (attributes === null) return { answer: null, headers: {}, refusal: null, pending: false, status: null, settle: async () => {} };
  const cost = typeof options.cost === "function" ? await options.cost(request) : (options.cost ?? 1);
  const safe = await safeAttributes(attributes);
  const begun = performance.now();
  const answer = await weir.check(options.namespace, safe, { cost });
  options.onDecision?.(answer, performance.now() - begun);
  const decided = (request as Decided)[DECIDED] ?? { shown: [], last: answer };
  decided.last = answer;
  if (options.headers !== false) decided.shown.push(answer);
  const ofAll = () => headersOfAll(decided.shown);
  Object.assign(request, { [DECIDED]: decided, weir: answer });
  const settle = settling(weir, options, answer, () => weir.refund(options.namespace, safe, { cost, charge: answer.charge }));
  if (answer.allowed && answer.delayMs > 0) await new Promise((wake) => setTimeout(wake, answer.delayMs));
  const common = { answer, pending: answer.leases.length > 0 || options.refundWhen !== undefined, status: null, settle };
  if (answer.allowed) return { ...common, refusal: null, get headers() { return ofAll(); } };
  // A denial can have leases of rules in shadow mode.
  void settle(null);
  return { ...common, headers: {}, refusal: await refuse(options, answer, ofAll(), request) };
}

/** The answer of the limit that decided last about this request; undefined if none did. */
export function answerOf(request: object): Answer | undefined {
  return (request as Decided)[DECIDED]?.last;
}

/** The answers about a request. The symbol is that of all copies of this package. */
const DECIDED: unique symbol = Symbol.for("weir.decided");
type Decided = { [DECIDED]?: { shown: Answer[]; last: Answer } };

/** Renews the leases until the function that it returns ends them. */
function settling(weir: Weir, options: MiddlewareOptions<never>, answer: Answer, refund: () => Promise<unknown>): Admission["settle"] {
  const { refundWhen, onRefundError = () => {} } = options;
  const timers = answer.leases.map(({ id, ruleId }) => {
    const lease = answer.limits.find((limit) => limit.ruleId === ruleId && limit.algorithm === "concurrency");
    // A timer's time is at most 2^31 ms.
    const everyMs = Math.min(Math.max((lease?.windowMs ?? 60_000) / 3, 1), 2 ** 31 - 1);
    const renew = async () => {
      const { held } = await weir.renew(id);
      if (!held) clearInterval(timer);
    };
    const timer = setInterval(() => void renew().catch(onRefundError), everyMs);
    return timer;
  });
  let settled = false;
  return async (status) => {
    if (settled) return;
    settled = true;
    for (const timer of timers) clearInterval(timer);
    const ends: Promise<unknown>[] = answer.leases.map(({ id }) => weir.release(id));
    // A degraded answer charged nothing.
    if (status !== null && answer.degraded === null && refundWhen?.(status)) ends.push(refund());
    await Promise.all(ends.map((end) => end.catch(onRefundError)));
  };
}

/** 429 for a denial. 503 if `onError` denied: the request is not at fault. */
async function refuse<R>(options: MiddlewareOptions<R>, answer: Answer, ofAll: Record<string, string>, request: R): Promise<Refusal> {
  const own = await options.onRefused?.(answer, request);
  const byClient = answer.degraded === "client";
  const status = own?.status ?? (byClient ? 503 : 429);
  const title = byClient ? "Service Unavailable" : "Too Many Requests";
  const code = byClient ? "rate_limit_unavailable" : "rate_limited";
  const { "retry-after": retryAfter } = headers(answer);
  const limits = { ...ofAll, ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }) };
  const type = own?.body === undefined ? "application/problem+json" : typeof own.body === "string" ? "text/plain; charset=utf-8" : "application/json";
  return {
    status,
    headers: { ...limits, "content-type": type, "cache-control": "no-store", ...own?.headers },
    body: own?.body ?? { type: "about:blank", title, status, code, retry_after_ms: answer.retryAfterMs },
  };
}

/** The body of a refusal as it is sent. */
export function textOf({ body }: Refusal): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** The attributes with values that every gate accepts, so that no client can cause an error by what it sends. */
export async function safeAttributes(attributes: Attributes): Promise<Attributes> {
  const entries = Object.entries(attributes).map(async ([name, value]) => [name, await safeValue(value)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function safeValue(value: Attributes[string]): Promise<Attributes[string]> {
  // A query such as `?user[a]=b` makes objects.
  if (typeof value === "object" && value !== null) return digest(new TextEncoder().encode(JSON.stringify(value)));
  if (typeof value !== "string") return value;
  const bytes = new TextEncoder().encode(value);
  if (bytes.length <= 512 && !/[\p{Cc}\p{Cs}]/u.test(value)) return value;
  return digest(bytes);
}

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `sha256:${Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** The value of `route` for a request that no route matches. Its path would be a new subject each time. */
export const UNMATCHED = "unmatched";
