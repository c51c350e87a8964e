package io.github.weirratelimit;

import java.util.concurrent.CompletableFuture;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** Units that are held until {@code commit} or {@code cancel}, or until {@code expiresAtMs}. */
public final class Reservation {
    private final Answer answer;
    private final long reserved;
    private final @Nullable Long expiresAtMs;
    private final LongFunction<CompletableFuture<Committed>> commit;

    Reservation(Answer answer, long reserved, @Nullable Long expiresAtMs, LongFunction<CompletableFuture<Committed>> commit) {
        this.answer = answer;
        this.reserved = reserved;
        this.expiresAtMs = expiresAtMs;
        this.commit = commit;
    }

    /** {@return the answer to the reserve; begin the work only if it is {@code allowed}} */
    public Answer getAnswer() {
        return answer;
    }

    /** {@return the units that are held; 0 if the reserve was denied or no gate decided} */
    public long getReserved() {
        return reserved;
    }

    /** {@return the end, in milliseconds since 1970, by the clock of the gates; null if nothing is held} */
    public @Nullable Long getExpiresAtMs() {
        return expiresAtMs;
    }

    /**
     * Charges the units that were used, fewer or more than reserved, and releases the reservation. A further commit or cancel changes nothing
     * and gets the first answer. If the reservation is no longer open, the cost is recorded. Throws a {@link WeirException} if no gate
     * confirms it.
     *
     * @param cost the units that were used
     * @return what became of the reservation
     */
    public Committed commit(long cost) {
        return Weir.block(commitAsync(cost));
    }

    /** {@return what became of the units, which are released: a commit of 0} */
    public Committed cancel() {
        return commit(0);
    }

    /**
     * As {@link #commit}, without blocking.
     *
     * @param cost the units that were used
     * @return what became of the reservation
     */
    public CompletableFuture<Committed> commitAsync(long cost) {
        return commit.apply(cost);
    }

    /** {@return as {@link #cancel}, without blocking} */
    public CompletableFuture<Committed> cancelAsync() {
        return commitAsync(0);
    }
}
