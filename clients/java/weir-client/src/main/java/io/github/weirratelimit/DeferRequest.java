package io.github.weirratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A job for {@code defer}.
 *
 * @param check the action; its idempotency key identifies the job: a repeat while a gate knows the job stores nothing and gets its state
 * @param target the id of the webhook that receives the job
 * @param payload what the webhook receives in {@code data.payload}: maps, lists, texts, numbers, booleans or null, in at most 32,768 bytes of JSON
 * @param notAfter the time for which the job can wait, 1 s to 24 h; null for 24 h
 * @param timeout the time for the call, 1 ms to 60 s; null for 5 s, because a gate waits up to 2 s for the first delivery
 */
public record DeferRequest(
        CheckRequest check, String target, @Nullable Object payload, @Nullable Duration notAfter, @Nullable Duration timeout) {
    /**
     * A job with the default times.
     *
     * @param check the action, with an idempotency key
     * @param target the id of the webhook that receives the job
     * @param payload what the webhook receives
     */
    public DeferRequest(CheckRequest check, String target, @Nullable Object payload) {
        this(check, target, payload, null, null);
    }
}
