package io.github.weirratelimit;

import org.jspecify.annotations.Nullable;

/**
 * The effect of a release.
 *
 * @param released whether the place is free; false if the lease had ended before
 * @param degraded why nothing was released; null usually
 */
public record Released(boolean released, @Nullable Degraded degraded) {
    static final Released ENDED = new Released(false, null);

    static Released read(@Nullable Object value) {
        Fields body = new Fields(value, "the release");
        return new Released(body.flag("released"), body.degraded());
    }
}
