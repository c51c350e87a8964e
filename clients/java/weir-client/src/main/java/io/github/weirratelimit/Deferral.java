package io.github.weirratelimit;

import org.jspecify.annotations.Nullable;

/**
 * The result of {@code defer}.
 *
 * @param job the job; null if nothing was stored, because the queue is full. Then repeat the call after {@code retryAfterMs} of the answer
 * @param answer the decision that let the job pass at once, or the refusal of a full queue ({@code code} is {@code queue_full}); null if the
 *     job waits or was known
 */
public record Deferral(@Nullable DeferredJob job, @Nullable Answer answer) {
    static Deferral read(Transport.Reply reply) {
        if (reply.status() == 202) return new Deferral(DeferredJob.read(reply.body()), null);
        Answer answer = Answer.read(reply);
        if (answer.allowed() != (reply.status() == 200)) throw WeirException.notAnAnswer(reply.status());
        if (!answer.allowed()) return new Deferral(null, answer);
        String id = new Fields(reply.body(), "the answer").text("deferred");
        return new Deferral(new DeferredJob(id, DeferredJob.State.DELIVERED, 0, null, true, 0, null), answer);
    }
}
