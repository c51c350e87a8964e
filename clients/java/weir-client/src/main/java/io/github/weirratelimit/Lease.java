package io.github.weirratelimit;

/**
 * A place in a concurrency limit. Release it when the work is done.
 *
 * @param id by which the lease is renewed and released
 * @param ruleId the rule of the limit
 * @param expiresAtMs the time at which the lease ends by itself, in milliseconds since 1970, by the clock of the gates
 */
public record Lease(String id, String ruleId, long expiresAtMs) {
    static Lease read(Object value) {
        Fields lease = new Fields(value, "a lease");
        return new Lease(lease.text("id"), lease.text("rule_id"), lease.count("expires_at_ms"));
    }
}
