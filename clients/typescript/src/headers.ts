import type { Answer, LimitAnswer } from "./answer.js";

/** A header carries Latin-1 text alone, and a name is quoted. */
const QUOTABLE = /^[ !#-[\]-~]*$/;

/** The headers of an answer, by lower-case name: those that a gate sends with it. None if no limit decided or is exceeded. */
export function headers(answer: Answer): Record<string, string> {
  const all: Record<string, string> = {};
  const { limit, remaining, resetAfterMs, retryAfterMs } = answer;
  if (limit !== null && remaining !== null) {
    // A quota that never renews has no reset and no window.
    const resetS = resetAfterMs === null ? null : Math.ceil(resetAfterMs / 1000);
    all["x-ratelimit-limit"] = `${limit}`;
    all["x-ratelimit-remaining"] = `${remaining}`;
    if (resetS !== null) all["x-ratelimit-reset"] = `${resetS}`;
    const deciding = answer.code === null ? answer.limits.find((one) => decides(answer, one)) : null;
    const name = answer.code ?? deciding?.rule;
    if (name !== undefined && QUOTABLE.test(name)) {
      const windowS = Math.ceil((deciding?.windowMs ?? 1000) / 1000);
      all["ratelimit-policy"] = `"${name}";q=${limit}${windowS > 0 ? `;w=${windowS}` : ""}`;
      all["ratelimit"] = `"${name}";r=${remaining}${resetS === null ? "" : `;t=${resetS}`}`;
    }
  }
  if (!answer.allowed && retryAfterMs !== null) {
    const retryS = `${Math.max(Math.ceil(retryAfterMs / 1000), 1)}`;
    all["x-ratelimit-retry-after"] = retryS;
    all["retry-after"] = retryS;
  }
  const over = overOf([answer]);
  if (over !== "") all["x-ratelimit-over"] = over;
  return all;
}

/** The rules in the mode `report` that are exceeded, each once, as a header lists them. */
function overOf(answers: readonly Answer[]): string {
  return [...new Set(answers.flatMap((answer) => answer.over))].filter((name) => QUOTABLE.test(name)).join(", ");
}

/**
 * The headers of a response to which several answers belong. `RateLimit` and `RateLimit-Policy` are lists in the order of the answers, and
 * `X-RateLimit-Over` names the rules of all. The others are those of the refusal, or of the answer with the least left, the first one of equals.
 */
export function headersOfAll(answers: readonly Answer[]): Record<string, string> {
  const refusal = answers.find(({ allowed }) => !allowed);
  const rest = ({ remaining }: Answer) => remaining ?? Infinity;
  const least = answers.reduce<Answer | undefined>((best, one) => (best === undefined || rest(one) < rest(best) ? one : best), undefined);
  const chosen = refusal ?? least;
  const all = chosen === undefined ? {} : headers(chosen);
  for (const name of ["ratelimit-policy", "ratelimit"]) {
    const items = answers.flatMap((answer) => headers(answer)[name] ?? []);
    if (items.length > 0) all[name] = items.join(", ");
  }
  const over = overOf(answers);
  if (over !== "") all["x-ratelimit-over"] = over;
  return all;
}

/** Replaces the headers of outer limits, which were set before those of the limits within them were known. */
export function replaceHeaders(response: Settable, all: Record<string, string>): void {
  if ("ratelimit" in all || "x-ratelimit-limit" in all) for (const name of SINGLE) if (!(name in all)) response.removeHeader(name);
  for (const [name, value] of Object.entries(all)) response.header(name, value);
}

/** What responses of Express and replies of Fastify have. */
interface Settable {
  header(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
}

const SINGLE = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/** Whether the numbers of this limit are those of the whole answer. */
function decides(answer: Answer, limit: LimitAnswer): boolean {
  return (
    limit.mode === "enforce" &&
    limit.limit === answer.limit &&
    limit.remaining === answer.remaining &&
    limit.resetAfterMs === answer.resetAfterMs &&
    (answer.allowed || limit.retryAfterMs === answer.retryAfterMs)
  );
}
