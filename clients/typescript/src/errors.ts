/** Why a call got no valid answer. */
export type FailureKind =
  /** No complete answer arrived before `timeoutMs`. */
  | "timeout"
  /** `maxWaiting` checks waited already, so this one was not sent. */
  | "overload"
  /** The connection was refused, reset or closed before an answer. */
  | "connection"
  /** The gate answered with an error: 401, 403, 404, 5xx, or a redirect, which is never followed. */
  | "status"
  /** The answer is not one of a gate: not JSON, truncated, or fields of other types. */
  | "answer"
  /** The gate refused the request itself (400, 413, 415, 422). The program must send another one. */
  | "refused";

/** A field of a request, and why the gate refused it. */
export interface FieldProblem {
  field: string;
  reason: string;
}

/** A call of a gate that produced no decision. */
export class WeirError extends Error {
  override readonly name = "WeirError";
  readonly kind: FailureKind;
  /** The HTTP status, if there was one. */
  readonly status: number | null;
  /** `code` of the gate's problem document. */
  readonly code: string | null;
  /** `request_id` of the gate's problem document. */
  readonly requestId: string | null;
  readonly fields: FieldProblem[];

  constructor(kind: FailureKind, message: string, details: Partial<WeirErrorDetails> = {}) {
    super(message, { cause: details.cause });
    this.kind = kind;
    this.status = details.status ?? null;
    this.code = details.code ?? null;
    this.requestId = details.requestId ?? null;
    this.fields = details.fields ?? [];
  }
}

export interface WeirErrorDetails {
  status: number;
  code: string | null;
  requestId: string | null;
  fields: FieldProblem[];
  cause: unknown;
}
