package io.github.weirratelimit;

import org.jspecify.annotations.Nullable;

/**
 * The effect of a renewal.
 *
 * @param held whether the lease is held; false if it had ended, so that someone else can have the place
 * @param expiresAtMs the time at which it ends by itself, in milliseconds since 1970, by the clock of the gates; null if it was not renewed
 * @param degraded why nothing was renewed although it is held; null usually
 */
public record Renewed(boolean held, @Nullable Long expiresAtMs, @Nullable Degraded degraded) {
    static final Renewed ENDED = new Renewed(false, null, null);

    static Renewed read(@Nullable Object value) {
        Fields body = new Fields(value, "the renewal");
        return new Renewed(true, body.countOrNull("expires_at_ms"), body.degraded());
    }
}
