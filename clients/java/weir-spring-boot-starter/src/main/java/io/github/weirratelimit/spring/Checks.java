package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.AsyncWeir;
import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.Choice;
import io.github.weirratelimit.Degraded;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What is done around every check: the observation {@code weir.check}, the choice of a limit if no gate decides, and the listeners. */
final class Checks {
    private final ObservationRegistry observations;
    private final DecisionListener listener;

    Checks(ObservationRegistry observations, DecisionListener listener) {
        this.observations = observations;
        this.listener = listener;
    }

    CompletableFuture<Answer> check(AsyncWeir weir, CheckRequest request, @Nullable Choice onError, @Nullable Observation parent) {
        Running running = begin(request.namespace(), onError, parent);
        CompletableFuture<Answer> asked;
        try {
            asked = running.observation.scoped(() -> weir.check(request));
        } catch (RuntimeException failure) {
            throw running.failed(failure);
        }
        return asked.handle((answer, failure) -> {
            if (failure != null) throw running.failed(failure instanceof RuntimeException known ? known : new CompletionException(failure));
            return running.decided(answer);
        });
    }

    /** The answer of a call that blocks. */
    Answer answer(String namespace, @Nullable Choice onError, Supplier<Answer> call) {
        Running running = begin(namespace, onError, null);
        try {
            return running.decided(running.observation.scoped(call));
        } catch (RuntimeException failure) {
            throw running.failed(failure);
        }
    }

    /** Waits as long as a leaky bucket demands. */
    static void admit(Answer answer) {
        if (!answer.allowed()) throw new RateLimitExceededException(answer);
        try {
            if (answer.delayMs() > 0) Thread.sleep(answer.delayMs());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CancellationException("interrupted while it waited for a leaky bucket");
        }
    }

    /** The value of the key {@code degraded}. */
    static String degraded(Answer answer) {
        return answer.degraded() == null ? "no" : answer.degraded().name().toLowerCase(Locale.ROOT);
    }

    private Running begin(String namespace, @Nullable Choice onError, @Nullable Observation parent) {
        Observation observation = Observation.createNotStarted("weir.check", observations).contextualName("weir check").lowCardinalityKeyValue("namespace", namespace);
        if (parent != null) observation.parentObservation(parent);
        return new Running(namespace, onError, observation.start(), System.nanoTime());
    }

    private final class Running {
        private final String namespace;
        private final @Nullable Choice onError;
        private final Observation observation;
        private final long begunNs;

        Running(String namespace, @Nullable Choice onError, Observation observation, long begunNs) {
            this.namespace = namespace;
            this.onError = onError;
            this.observation = observation;
            this.begunNs = begunNs;
        }

        Answer decided(Answer found) {
            Answer answer = found.degraded() == Degraded.CLIENT && onError != null ? Answer.onError(onError, found.error()) : found;
            end(answer.allowed() ? "allowed" : "denied", degraded(answer));
            listener.decided(namespace, answer, Duration.ofNanos(System.nanoTime() - begunNs));
            return answer;
        }

        RuntimeException failed(RuntimeException failure) {
            observation.error(failure);
            end("failed", "no");
            return failure;
        }

        private void end(String outcome, String degraded) {
            observation.lowCardinalityKeyValue("outcome", outcome).lowCardinalityKeyValue("degraded", degraded).stop();
        }
    }
}
