package io.github.weirratelimit;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Sends requests to a gate. */
interface Transport {
    /** The statuses of a decision. */
    int[] DECISION = {200, 429};

    /** Sends a request, once, and reads the whole JSON answer before the deadline. Fails with a {@link WeirException}. */
    CompletableFuture<Reply> send(Call call);

    /**
     * A request.
     *
     * @param body the JSON of a POST; null otherwise
     * @param accepted the statuses of answers; any other is an error
     * @param deadlineNs of {@code System.nanoTime()}
     * @param repeatable whether it is sent again if the connection failed
     */
    record Call(
            String method, String path, @Nullable String body, int[] accepted, long deadlineNs, @Nullable String traceparent, boolean repeatable) {}

    /**
     * An answer.
     *
     * @param body its JSON; null if the status is 204
     * @param requestId the header {@code X-Request-Id}; null if something else than a gate answered
     */
    record Reply(int status, @Nullable Object body, @Nullable String requestId) {}
}
