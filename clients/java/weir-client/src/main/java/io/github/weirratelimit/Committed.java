package io.github.weirratelimit;

import org.jspecify.annotations.Nullable;

/**
 * What became of a reservation.
 *
 * @param charged the number of units that each matching limit took
 * @param released the reserved units that were not used
 * @param late whether the reservation was no longer open, so that the cost was recorded
 * @param degraded why nothing was held, or nothing was charged; null usually
 * @param buffered whether the gate holds the commit, because Redis was away, and sends it when Redis returns
 */
public record Committed(long charged, long released, boolean late, @Nullable Degraded degraded, boolean buffered) {
    static final Committed NOTHING = new Committed(0, 0, false, null, false);

    static Committed read(@Nullable Object value) {
        Fields body = new Fields(value, "the commit");
        return new Committed(body.count("charged"), body.count("released"), body.flag("late"), body.degraded(), body.buffered());
    }
}
