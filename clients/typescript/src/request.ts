/** Names and values that describe an action. Entries without a value are not sent. */
export type Attributes = Record<string, string | number | boolean | null | undefined>;

export interface CheckOptions {
  /** The number of units to take; 1 if not given. */
  cost?: number;
  /** Answers without taking anything. */
  peek?: boolean;
  /** A repeat within 60 s gets the first answer and takes nothing. Such checks are never answered from the cache. */
  idempotencyKey?: string;
}

/** The options of `check`. */
export interface CheckCall extends CheckOptions {
  /** Ends this call, which rejects with the signal's reason. Checks that travel with it are not affected. */
  signal?: AbortSignal;
}

/** A check, as `batch` takes it. */
export interface CheckRequest extends CheckOptions {
  namespace: string;
  attributes: Attributes;
}

/** A request with the charge that a refund names. */
export interface ChargedRequest extends CheckRequest {
  charge?: string | null;
}

/** The JSON of a request. */
export function body(request: ChargedRequest): object {
  const { namespace, cost, peek, idempotencyKey, charge } = request;
  return {
    namespace,
    attributes: Object.fromEntries(entries(request.attributes)),
    ...(cost === undefined ? {} : { cost }),
    ...(peek === true ? { mode: "peek" } : {}),
    ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
    ...(charge === undefined || charge === null ? {} : { charge }),
  };
}

/** Equal for requests that every rulebook decides alike. A smaller cost may pass, so the cost belongs to it. */
export function cacheKey(request: CheckRequest): string {
  const sorted = entries(request.attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([request.namespace, request.cost ?? 1, sorted]);
}

function entries(attributes: Attributes): [string, string][] {
  return Object.entries(attributes).flatMap(([name, value]): [string, string][] =>
    value === null || value === undefined ? [] : [[name, textOf(name, value)]],
  );
}

function textOf(name: string, value: unknown): string {
  const written = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value) || typeof value === "bigint";
  if (!written) throw new TypeError(`attributes.${name}: a text, a number or a boolean is needed, not ${typeof value}`);
  return String(value);
}
