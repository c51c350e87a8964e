package io.github.weirratelimit;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A job that a gate has stored.
 *
 * @param id by which {@code deferred} and {@code cancelDeferred} find it; its messages have it as {@code webhook-id}
 * @param state its state
 * @param position the place among the waiting jobs of the same subjects, from 1; 0 if it does not wait
 * @param expiresAtMs the end of its wait, in milliseconds since 1970, by the clock of the gates; null if {@code defer} delivered it
 * @param charged whether the limits admitted the job, which then is not charged again
 * @param attempts the number of failed deliveries
 * @param error the reason of the last failure; null if there was none
 */
public record DeferredJob(
        String id, State state, long position, @Nullable Long expiresAtMs, boolean charged, long attempts, @Nullable String error) {
    /** The state of a job. */
    public enum State {
        /** For the limits, for its receiver, or for the end of a delivery. */
        WAITING,
        /** The webhook has it. */
        DELIVERED,
        /** A dead letter. */
        FAILED
    }

    static DeferredJob read(@Nullable Object value) {
        Fields body = new Fields(value, "the job");
        State state = State.valueOf(body.oneOf("state", "waiting", "delivered", "failed").toUpperCase(Locale.ROOT));
        return new DeferredJob(
                body.text("deferred"), state, body.count("position"), body.count("expires_at_ms"), body.flag("charged"), body.count("attempts"),
                body.textOrNull("error"));
    }
}
