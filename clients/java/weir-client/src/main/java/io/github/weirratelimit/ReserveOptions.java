package io.github.weirratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The options of {@code reserve}.
 *
 * @param ttl the time after which the units return if no commit arrives, 1 s to 10 min; null for 60 s
 * @param atMost accepts fewer units than the cost, at least one: {@code reserved} says how many
 */
public record ReserveOptions(@Nullable Duration ttl, boolean atMost) {
    /** The time to live of a minute, and all units or none. */
    public static final ReserveOptions DEFAULT = new ReserveOptions(null, false);
}
