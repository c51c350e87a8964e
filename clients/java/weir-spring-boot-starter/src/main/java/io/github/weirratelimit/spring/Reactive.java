package io.github.weirratelimit.spring;

import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Limits and reservations of methods that return a {@code Mono} or {@code Flux}, which are asked on a thread that may block. */
final class Reactive {
    private static final boolean PRESENT = ClassUtils.isPresent("reactor.core.publisher.Flux", Reactive.class.getClassLoader());

    private Reactive() {}

    /** What a method does. */
    interface Call {
        @Nullable Object proceed() throws Throwable;
    }

    static boolean isReactive(Class<?> returned) {
        return PRESENT && Publishers.isReactive(returned);
    }

    static boolean isMono(Class<?> returned) {
        return PRESENT && Publishers.isMono(returned);
    }

    /** A {@code Mono} whose value is passed to {@code ended}, which can fail it. */
    static <T> Object reserved(Call call, Callable<T> reserve, BiConsumer<T, @Nullable Object> ended, Consumer<T> failed, Consumer<T> cancelled) {
        return Publishers.reserved(call, reserve, ended, failed, cancelled);
    }

    static <T> Object limited(Class<?> returned, Call call, Callable<T> admit, BiConsumer<T, @Nullable Throwable> end) {
        return Publishers.limited(returned, call, admit, end);
    }

    /** Loaded only if Reactor is present. */
    private static final class Publishers {
        static boolean isReactive(Class<?> returned) {
            return returned == Mono.class || returned == Flux.class;
        }

        static <T> Object limited(Class<?> returned, Call call, Callable<T> admit, BiConsumer<T, @Nullable Throwable> end) {
            Flux<Object> values = Flux.usingWhen(
                    blocking(admit),
                    taken -> published(call),
                    taken -> Mono.fromRunnable(() -> end.accept(taken, null)),
                    (taken, failure) -> Mono.fromRunnable(() -> end.accept(taken, failure)),
                    taken -> Mono.fromRunnable(() -> end.accept(taken, null)));
            return returned == Mono.class ? values.next() : values;
        }

        static boolean isMono(Class<?> returned) {
            return returned == Mono.class;
        }

        static <T> Object reserved(Call call, Callable<T> reserve, BiConsumer<T, @Nullable Object> ended, Consumer<T> failed, Consumer<T> cancelled) {
            return Mono.usingWhen(
                    blocking(reserve),
                    held -> Mono.from(published(call)).doOnSuccess(value -> ended.accept(held, value)),
                    held -> Mono.empty(),
                    (held, failure) -> Mono.fromRunnable(() -> failed.accept(held)),
                    held -> Mono.fromRunnable(() -> cancelled.accept(held)));
        }

        /**
         * The value of a call on a thread that may block. {@code fromCallable} would interrupt this thread while it writes the response to a refusal:
         * WebFlux cancels after a failure, and Reactor disposes a task that was cancelled before its scheduling returned.
         */
        private static <T> Mono<T> blocking(Callable<T> call) {
            return Mono.create(sink -> sink.onCancel(Schedulers.boundedElastic().schedule(() -> {
                T value;
                try {
                    value = call.call();
                } catch (Throwable failure) {
                    sink.error(failure);
                    return;
                }
                sink.success(value);
            })));
        }

        @SuppressWarnings("unchecked")
        private static org.reactivestreams.Publisher<Object> published(Call call) {
            try {
                Object found = call.proceed();
                return found == null ? Mono.empty() : (org.reactivestreams.Publisher<Object>) found;
            } catch (Throwable failure) {
                return Flux.error(failure);
            }
        }
    }
}
