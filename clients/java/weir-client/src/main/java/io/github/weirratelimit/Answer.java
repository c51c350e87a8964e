package io.github.weirratelimit;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a check.
 *
 * @param allowed the decision
 * @param deniedBy the names of the rules that denied the check
 * @param over the names of the rules in the mode {@code report} of which a limit is exceeded; they deny nothing, and the caller can do less
 * @param retryAfterMs 0 when allowed; on denial the time after which the same check could pass; null if it never can
 * @param delayMs the time to wait before acting (leaky buckets); {@code await} has waited for it
 * @param limit the limit that decides; null when none does
 * @param remaining the units that are left of it
 * @param resetAfterMs the time until all its units are back
 * @param limits the decisions of all limits
 * @param leases the leases of concurrency limits that the check took; release each of them when the work is done
 * @param charge names what the check charged, for {@code refund}; null if it charged no enforced limit
 * @param degraded the source of the decision if it was not Redis; null usually
 * @param charged in the answer to a record: the number of units that each matching limit took
 * @param buffered in the answer to a record: whether the gate sends it when Redis returns
 * @param code {@code tenant_rate} or {@code enforcement_off} when no rule decided
 * @param rulebookVersion the version of the rulebook that decided; null if {@code degraded} is {@code CLIENT}
 * @param requestId the gate's {@code X-Request-Id}, which names the request in the log of denials; null if no gate answered; of a cached
 *     denial, that of the first one
 * @param cached whether this is a denial that the client repeated without asking the gate
 * @param error why no gate decided; null unless {@code degraded} is {@code CLIENT}
 */
public record Answer(
        boolean allowed, List<String> deniedBy, List<String> over, @Nullable Long retryAfterMs, long delayMs, @Nullable Long limit,
        @Nullable Long remaining, @Nullable Long resetAfterMs, List<LimitAnswer> limits, List<Lease> leases, @Nullable String charge, @Nullable Degraded degraded,
        @Nullable Long charged, boolean buffered, @Nullable String code, @Nullable Long rulebookVersion, @Nullable String requestId, boolean cached,
        @Nullable WeirException error) {
    /** When to try again after a denial by {@code onError}; a gate without Redis answers the same. */
    private static final long RETRY_AFTER_MS = 1_000;

    /**
     * The decision of the caller where no gate decided.
     *
     * @param choice the decision
     * @param error why no gate decided
     * @return the answer
     */
    public static Answer onError(Choice choice, @Nullable WeirException error) {
        boolean allowed = choice == Choice.ALLOW;
        return new Answer(
                allowed, List.of(), List.of(), allowed ? 0 : RETRY_AFTER_MS, 0, null, null, null, List.of(), List.of(), null, Degraded.CLIENT, null,
                false, null, null, null, false, error);
    }

    /** {@return the headers that a gate sends with this answer, by lower-case name} */
    public Map<String, String> headers() {
        return RateLimitHeaders.of(this);
    }

    /** Reads the answer of a call that has one. */
    static Answer read(Transport.Reply reply) {
        return read(reply.body(), reply.requestId()).answer();
    }

    /** Reads an answer. Anything that is not exactly an answer is an error, so it cannot admit. */
    static GateAnswer read(@Nullable Object value, @Nullable String requestId) {
        Fields body = new Fields(value, "the answer");
        Answer answer = new Answer(
                body.flag("allowed"), body.texts("denied_by"), body.has("over") ? body.texts("over") : List.of(), body.countOrNull("retry_after_ms"),
                body.count("delay_ms"), body.countOrNull("limit"), body.countOrNull("remaining"), body.countOrNull("reset_after_ms"),
                body.list("limits", LimitAnswer::read), body.has("leases") ? body.list("leases", Lease::read) : List.of(),
                body.has("charge") ? body.text("charge") : null, body.degraded(), body.has("charged") ? body.count("charged") : null,
                body.buffered(), body.has("code") ? body.text("code") : null, body.count("rulebook_version"), requestId, false,
                null);
        return new GateAnswer(answer, body.has("cache_for_ms") ? body.count("cache_for_ms") : 0);
    }

    /** The same denial after some time. */
    Answer after(long passedMs) {
        return new Answer(
                allowed, deniedBy, over, left(retryAfterMs, passedMs), delayMs, limit, remaining, left(resetAfterMs, passedMs),
                limits.stream().map(limit -> limit.after(passedMs)).toList(), leases, charge, degraded, charged, buffered, code,
                rulebookVersion, requestId, true, error);
    }

    static @Nullable Long left(@Nullable Long ms, long passedMs) {
        return ms == null ? null : Long.valueOf(Math.max(ms - passedMs, 0));
    }

    /** An answer as a gate sent it, and for how long a denial can be repeated. */
    record GateAnswer(Answer answer, long cacheForMs) {}
}
