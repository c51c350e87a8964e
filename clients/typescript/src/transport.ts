import { type FailureKind, type FieldProblem, WeirError } from "./errors.js";

export interface Reply {
  status: number;
  /** The JSON of the answer; null if the status is 204. */
  body: unknown;
  /** The header `X-Request-Id`; null if something else than a gate answered. */
  requestId: string | null;
}

export interface Exchange {
  method: "POST" | "GET" | "DELETE";
  url: string;
  key: string;
  /** The JSON of a POST; null otherwise. */
  body: string | null;
  /** The statuses of answers; any other is an error. */
  accepted: readonly number[];
  /** Of `performance.now()`. */
  deadline: number;
  traceparent: string | undefined;
  fetch: typeof globalThis.fetch;
}

/** The statuses of a decision. */
export const DECISION = [200, 429] as const;

/** The longest answer that is read: more than a batch of 100 checks with the most limits. */
const BODY_MAX = 8 * 1024 * 1024;
/** The gate refuses such a request because of what it says. */
const REFUSED = [400, 413, 415, 422];

/** Sends a request, once, and reads the whole JSON answer before the deadline. */
export async function exchange({ method, url, key, body, accepted, deadline, traceparent, fetch }: Exchange): Promise<Reply> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), Math.max(deadline - performance.now(), 0));
  let whole = false;
  try {
    const response = await fetch(url, {
      method,
      redirect: "manual",
      signal: stop.signal,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === null ? {} : { "content-type": "application/json" }),
        accept: "application/json",
        "accept-encoding": "identity",
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      body,
    });
    const text = await readText(response, stop);
    whole = true;
    const { status } = response;
    if (!accepted.includes(status)) throw problem(status, text);
    return { status, body: status === 204 ? null : parse(text), requestId: response.headers.get("x-request-id") };
  } catch (error) {
    if (error instanceof WeirError) throw error;
    if (stop.signal.aborted) throw new WeirError("timeout", "the gate did not answer in time", { cause: error });
    throw failure(error);
  } finally {
    clearTimeout(timer);
    // Ends the connection. Otherwise it stays open for the next call, and an abort would cost a tenth of one.
    if (!whole) stop.abort();
  }
}

async function readText(response: Response, stop: AbortController): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
    if (bytes > BODY_MAX) {
      stop.abort();
      throw new WeirError("answer", "the gate's answer is too long", { status: response.status });
    }
    text += decode(decoder, value);
  }
  return text + decode(decoder, undefined);
}

function decode(decoder: TextDecoder, bytes: Uint8Array | undefined): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch (cause) {
    throw new WeirError("answer", "the gate's answer is not UTF-8", { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new WeirError("answer", "the gate's answer is not JSON", { cause });
  }
}

/** The error of a problem document, or of any other text with this status. */
function problem(status: number, text: string): WeirError {
  const kind: FailureKind = REFUSED.includes(status) ? "refused" : "status";
  let document: Record<string, unknown> = {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) document = value as Record<string, unknown>;
  } catch {
    // Something between the client and the gate answered.
  }
  const textOf = (name: string) => (typeof document[name] === "string" ? (document[name] as string) : null);
  const fields = Array.isArray(document["fields"]) ? document["fields"].filter(isFieldProblem) : [];
  const reasons = fields.map(({ field, reason }) => `${field}: ${reason}`);
  const requestId = textOf("request_id");
  const parts = [`the gate answered ${status}`, textOf("detail"), ...reasons, requestId && `request ${requestId}`];
  const message = parts.filter(Boolean).join("; ");
  return new WeirError(kind, message, { status, code: textOf("code"), requestId, fields });
}

function isFieldProblem(value: unknown): value is FieldProblem {
  const { field, reason } = (value ?? {}) as Partial<FieldProblem>;
  return typeof field === "string" && typeof reason === "string";
}

/** A failure of `fetch`: of the connection, or of the answer's form if bytes of something else than HTTP arrived. */
function failure(cause: unknown): WeirError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const code = inner instanceof Error && "code" in inner ? String(inner.code) : "";
  if (code.startsWith("HPE_") || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH" || code === "UND_ERR_HEADERS_OVERFLOW") {
    return new WeirError("answer", "the gate's answer is not HTTP", { cause });
  }
  const detail = inner instanceof Error ? inner.message : String(inner);
  return new WeirError("connection", `the connection to the gate failed: ${detail}`, { cause });
}
