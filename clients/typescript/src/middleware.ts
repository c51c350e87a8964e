import type { Answer } from "./answer.js";
import type { Weir } from "./client.js";
import { headers } from "./headers.js";
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
  /**
   * Returns the units after an answer with such a status: `(status) => status < 300` counts failed sign-ins only. Units whose window is
   * over by then do not return.
   */
  refundWhen?: (status: number) => boolean;
  /** Called if the units could not be returned. */
  onRefundError?: (error: unknown) => void;
}

/** A response instead of the handler's. */
export interface Refusal {
  status: 429 | 503;
  headers: Record<string, string>;
  body: { type: string; title: string; status: number; code: string; retry_after_ms: number | null };
}

export interface Admission {
  /** Null for a request that is not limited. */
  answer: Answer | null;
  headers: Record<string, string>;
  refusal: Refusal | null;
  /** To be called with the status of the handler's response. Never rejects. */
  settle: (status: number) => Promise<void>;
}

/** Decides about a request. Waits for the delay of a leaky bucket. */
export async function admit<R>(weir: Weir, options: MiddlewareOptions<R>, request: R): Promise<Admission> {
  const attributes = await options.attributes(request);
  if (attributes === null) return { answer: null, headers: {}, refusal: null, settle: async () => {} };
  const { namespace, refundWhen, onRefundError = () => {} } = options;
  const cost = typeof options.cost === "function" ? await options.cost(request) : (options.cost ?? 1);
  const safe = await safeAttributes(attributes);
  const answer = await weir.check(namespace, safe, { cost });
  if (answer.allowed && answer.delayMs > 0) await new Promise((wake) => setTimeout(wake, answer.delayMs));
  const settle = async (status: number) => {
    // A degraded answer charged nothing.
    if (answer.degraded !== null || refundWhen === undefined || !refundWhen(status)) return;
    try {
      await weir.refund(namespace, safe, { cost, charge: answer.charge });
    } catch (error) {
      onRefundError(error);
    }
  };
  const all = headers(answer);
  return { answer, headers: all, refusal: answer.allowed ? null : refusal(answer, all), settle };
}

/** 429 for a denial. 503 if `onError` denied: the request is not at fault. */
function refusal(answer: Answer, all: Record<string, string>): Refusal {
  const byClient = answer.degraded === "client";
  const status = byClient ? 503 : 429;
  const title = byClient ? "Service Unavailable" : "Too Many Requests";
  const code = byClient ? "rate_limit_unavailable" : "rate_limited";
  const retryAfter = answer.retryAfterMs === null ? {} : { retry_after_ms: answer.retryAfterMs };
  return {
    status,
    headers: { ...all, "content-type": "application/problem+json", "cache-control": "no-store" },
    body: { type: "about:blank", title, status, code, retry_after_ms: null, ...retryAfter },
  };
}

/** The attributes with values that every gate accepts, so that no client can cause an error by what it sends. */
export async function safeAttributes(attributes: Attributes): Promise<Attributes> {
  const entries = Object.entries(attributes).map(async ([name, value]) => [name, await safeValue(value)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function safeValue(value: Attributes[string]): Promise<Attributes[string]> {
  if (typeof value !== "string") return value;
  const bytes = new TextEncoder().encode(value);
  if (bytes.length <= 512 && !/[\p{Cc}\p{Cs}]/u.test(value)) return value;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `sha256:${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** The value of `route` for a request that no route matches. Its path would be a new subject each time. */
export const UNMATCHED = "unmatched";
