package io.github.weirratelimit;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The options of a client, which are valid. */
record Settings(
        OnError onError, long timeoutMs, boolean retry, int maxInFlight, int maxWaiting, int cacheSize, long retrySpreadMs,
        Supplier<@Nullable String> traceparent, Consumer<WeirException> onDegraded, LongSupplier nowMs, DoubleSupplier random,
        Function<Duration, CompletableFuture<Void>> sleep) {
    long deadlineNs(long afterMs) {
        return System.nanoTime() + afterMs * 1_000_000;
    }
}
