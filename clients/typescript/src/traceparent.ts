/** What this file reads of `@opentelemetry/api`. Every version 1 of it registers itself under the same name. */
interface Registered {
  context?: { active(): { getValue(key: symbol): Span | undefined } };
}

interface Span {
  spanContext(): { traceId: string; spanId: string; traceFlags: number };
}

const API = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");

/** `traceparent` of the current span; undefined if there is none, or the program does not use OpenTelemetry. */
export function currentTraceparent(): string | undefined {
  const api = (globalThis as { [API]?: Registered })[API];
  const span = api?.context?.active().getValue(SPAN)?.spanContext();
  if (span === undefined || /^0*$/.test(span.traceId)) return undefined;
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
}
