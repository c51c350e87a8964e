package io.github.weirratelimit;

import org.jspecify.annotations.Nullable;

/**
 * The decision of one limit of one matching rule.
 *
 * @param rule the name of the rule
 * @param ruleId its id
 * @param algorithm the algorithm of the limit
 * @param enforced whether the limit affects the answer; limits in the modes {@code shadow} and {@code report} are only listed
 * @param allowed its decision
 * @param limit the number of units
 * @param remaining the units that are left
 * @param windowMs the length of its window
 * @param resetAfterMs the time until all units are back; null if they never return
 * @param retryAfterMs the time after which the same check could pass; null if it never can
 * @param delayMs the time to wait before acting
 * @param refunded in the answer to a refund: whether units were returned to this limit
 */
public record LimitAnswer(
        String rule, String ruleId, String algorithm, boolean enforced, boolean allowed, long limit, @Nullable Long remaining,
        long windowMs, @Nullable Long resetAfterMs, @Nullable Long retryAfterMs, long delayMs, @Nullable Boolean refunded) {
    static LimitAnswer read(Object value) {
        Fields limit = new Fields(value, "a limit");
        return new LimitAnswer(
                limit.text("rule"), limit.text("rule_id"), limit.text("algorithm"), limit.oneOf("mode", "enforce", "shadow", "report").equals("enforce"),
                limit.flag("allowed"), limit.count("limit"), limit.countOrNull("remaining"), limit.count("window_ms"),
                limit.countOrNull("reset_after_ms"), limit.countOrNull("retry_after_ms"), limit.count("delay_ms"),
                limit.has("refunded") ? limit.flag("refunded") : null);
    }

    LimitAnswer after(long passedMs) {
        return new LimitAnswer(
                rule, ruleId, algorithm, enforced, allowed, limit, remaining, windowMs, Answer.left(resetAfterMs, passedMs),
                Answer.left(retryAfterMs, passedMs), delayMs, refunded);
    }
}
