import { type Answer, Fields, readAnswer } from "./answer.js";
import type { Reply } from "./transport.js";

/** The options of `defer`. */
export interface DeferOptions {
  /** The id of the webhook that receives the job. */
  target: string;
  /** What the webhook receives in `data.payload`: any value that JSON can express, in at most 32,768 bytes. */
  payload: unknown;
  /** Identifies the job, in at most 128 bytes: a repeat while a gate knows the job stores nothing and gets its state. */
  idempotencyKey: string;
  /** The time for which the job can wait, 1,000 to 86,400,000 ms; 86,400,000 (24 hours) if not given. */
  notAfterMs?: number;
  /** The number of units that the job takes; 1 if not given. */
  cost?: number;
  /** The time for the call, 1 to 60,000 ms; 5,000 if not given, because a gate waits up to 2,000 ms for the first delivery. */
  timeoutMs?: number;
}

/** A job that a gate has stored. */
export interface DeferredJob {
  /** By which `deferred` and `cancelDeferred` find it. Its messages have it as `webhook-id`. */
  id: string;
  /** `waiting`: for the limits, for its receiver, or for the end of a delivery. `failed`: a dead letter. */
  state: "waiting" | "delivered" | "failed";
  /** The place among the waiting jobs of the same subjects, from 1; 0 if it does not wait. */
  position: number;
  /** The end of its wait, in milliseconds since 1970, by the clock of the gates; null if `defer` delivered it. */
  expiresAtMs: number | null;
  /** Whether the limits admitted the job, which then is not charged again. */
  charged: boolean;
  /** The number of failed deliveries. */
  attempts: number;
  /** The reason of the last failure; null if there was none. */
  error: string | null;
}

/** The result of `defer`. */
export interface Deferral {
  /** The job; null if nothing was stored, because the queue is full. Then repeat the call after `retryAfterMs` of the answer. */
  job: DeferredJob | null;
  /** The decision that let the job pass at once, or the refusal of a full queue (`code` is `queue_full`); null if the job waits or was known. */
  answer: Answer | null;
}

/** Reads the answer to a defer; null if it does not fit its status. */
export function readDeferral({ status, body, requestId }: Reply): Deferral | null {
  if (status === 202) return { job: readDeferredJob(body), answer: null };
  const { answer } = readAnswer(body, requestId);
  if (answer.allowed !== (status === 200)) return null;
  if (!answer.allowed) return { job: null, answer };
  const id = new Fields(body, "the answer").text("deferred");
  return { job: { id, state: "delivered", position: 0, expiresAtMs: null, charged: true, attempts: 0, error: null }, answer };
}

export function readDeferredJob(value: unknown): DeferredJob {
  const body = new Fields(value, "the job");
  return {
    id: body.text("deferred"),
    state: body.oneOf("state", ["waiting", "delivered", "failed"]),
    position: body.count("position"),
    expiresAtMs: body.count("expires_at_ms"),
    charged: body.flag("charged"),
    attempts: body.count("attempts"),
    error: body.textOrNull("error"),
  };
}
