package io.github.weirratelimit;

import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A client of Weir's gates. Holds no limits: every decision is a gate's, or that of {@code onError}. All threads can share it.
 *
 * <p>Calls block, also on virtual threads; {@link #async()} has the same calls with futures. A thread that is interrupted gets a
 * {@link CancellationException}, and stays interrupted.
 */
public final class Weir {
    private final AsyncWeir async;

    private Weir(AsyncWeir async) {
        this.async = async;
    }

    /**
     * A client of the gates at this address.
     *
     * @param url the address of a gate or of the load balancer before the gates, such as {@code http://weir:8081}
     * @param key an API key with the scope {@code check}
     * @param onError the decision if no gate decides; there is no default, because either choice hurts somebody
     * @return its options
     */
    public static Builder builder(String url, String key, OnError onError) {
        return new Builder(url, key, onError);
    }

    /** {@return the same calls with futures} */
    public AsyncWeir async() {
        return async;
    }

    /**
     * Asks whether an action is allowed, and takes its cost if it is. A denial is an answer, not an exception.
     *
     * <p>If no gate decides, {@code onError} does and {@code degraded} of the answer is {@code CLIENT}. Throws a {@link WeirException} of the
     * kind {@code REFUSED} if the request itself is wrong. Checks that begin during others travel together.
     *
     * @param request the action
     * @return the answer
     */
    public Answer check(CheckRequest request) {
        return block(async.check(request));
    }

    /**
     * A check of one unit.
     *
     * @param namespace the namespace of the rules
     * @param attributes names and values that describe the action
     * @return the answer
     */
    public Answer check(String namespace, Map<String, ? extends @Nullable Object> attributes) {
        return check(CheckRequest.of(namespace, attributes));
    }

    /**
     * The answer of a check that takes nothing.
     *
     * @param request the action
     * @return the answer
     */
    public Answer peek(CheckRequest request) {
        return block(async.peek(request));
    }

    /**
     * Up to 100 independent checks in one request, decided in order. If no gate decides, {@code onError} answers each.
     *
     * @param requests the actions
     * @return the answers, in the same order
     */
    public List<Answer> checkAll(List<CheckRequest> requests) {
        return block(async.checkAll(requests));
    }

    /**
     * Checks until the action is allowed, and waits as the answers say, after a denial up to {@code retrySpread} longer. Returns the denial if it
     * cannot be allowed before. The delay of a leaky bucket is waited for in full, because its units are already taken.
     *
     * @param request the action
     * @param longest the longest time to wait for units
     * @return the answer
     */
    public Answer await(CheckRequest request, Duration longest) {
        return block(async.await(request, longest));
    }

    /**
     * Takes units that were used already, even if fewer are left. Throws a {@link WeirException} if no gate confirms it.
     *
     * @param request the action
     * @return the answer; its {@code charged} is the number of units that each matching limit took
     */
    public Answer record(CheckRequest request) {
        return block(async.record(request));
    }

    /**
     * Returns units to every matching limit. Throws a {@link WeirException} if no gate confirms it.
     *
     * @param request the action
     * @param charge the {@code charge} of the answer to the check: units return only where they were taken; or null
     * @return the answer
     */
    public Answer refund(CheckRequest request, @Nullable String charge) {
        return block(async.refund(request, charge));
    }

    /**
     * Decides as a check, and holds the units until {@code commit} or {@code cancel}. If no gate decides, {@code onError} does; nothing is held
     * then, and a commit records its cost.
     *
     * @param request the action, with the estimated cost
     * @param options the time to live, and whether fewer units are accepted
     * @return the reservation
     */
    public Reservation reserve(CheckRequest request, ReserveOptions options) {
        return block(async.reserve(request, options));
    }

    /**
     * A reservation for a minute, of all units or none.
     *
     * @param request the action, with the estimated cost
     * @return the reservation
     */
    public Reservation reserve(CheckRequest request) {
        return reserve(request, ReserveOptions.DEFAULT);
    }

    /**
     * Lets a lease of a concurrency limit begin anew. Throws a {@link WeirException} if no gate confirms it.
     *
     * @param lease its id
     * @return whether it is held
     */
    public Renewed renew(String lease) {
        return block(async.renew(lease));
    }

    /**
     * Ends a lease, so that another check can take its place. Throws a {@link WeirException} if no gate confirms it.
     *
     * @param lease its id
     * @return whether it was released
     */
    public Released release(String lease) {
        return block(async.release(lease));
    }

    /**
     * Lets all limits that match count as exhausted for this time, because the service behind them said so. The key needs the scope
     * {@code exhaust}. Throws a {@link WeirException} if no gate confirms it.
     *
     * @param namespace the namespace of the rules
     * @param attributes names and values that rules match
     * @param time how long
     * @return the answer
     */
    public Answer exhaust(String namespace, Map<String, ? extends @Nullable Object> attributes, Duration time) {
        return block(async.exhaust(namespace, attributes, time));
    }

    /**
     * Has a job delivered to a webhook: at once if the limits permit it, otherwise as soon as they do. Throws a {@link WeirException} if no gate
     * confirms it; repeat the call then, with the same key.
     *
     * @param request the job
     * @return the job, or the refusal of a full queue
     */
    public Deferral defer(DeferRequest request) {
        return block(async.defer(request));
    }

    /**
     * The state of a deferred job. Throws a {@link WeirException} if no gate answers.
     *
     * @param id the id of the job
     * @return the job; null if no gate knows it (any longer)
     */
    public @Nullable DeferredJob deferred(String id) {
        return block(async.deferred(id));
    }

    /**
     * Removes a deferred job that waits, or a dead letter. Throws a {@link WeirException} if no gate confirms it.
     *
     * @param id the id of the job
     * @return false if there is no such job, or it was delivered
     */
    public boolean cancelDeferred(String id) {
        return block(async.cancelDeferred(id));
    }

    static <T extends @Nullable Object> T block(CompletableFuture<T> call) {
        try {
            return call.get();
        } catch (InterruptedException interrupted) {
            call.cancel(false);
            Thread.currentThread().interrupt();
            CancellationException cancelled = new CancellationException("interrupted during a call of a gate");
            cancelled.initCause(interrupted);
            throw cancelled;
        } catch (ExecutionException failure) {
            Throwable cause = AsyncWeir.cause(failure.getCause());
            // The stack of the caller is more useful than that of the HTTP client's thread.
            if (cause instanceof WeirException error) {
                throw new WeirException(
                        error.getKind(), error.getMessage(), error.getStatus(), error.getCode(), error.getRequestId(), error.getFields(), error);
            }
            if (cause instanceof RuntimeException error) throw error;
            throw new IllegalStateException(cause);
        }
    }

    /** The options of a client. */
    public static final class Builder {
        private final String url;
        private final String key;
        private final OnError onError;
        private long timeoutMs = 100;
        private boolean retry;
        private int maxInFlight = 4;
        private int maxWaiting = 10_000;
        private int cacheSize = 10_000;
        private long retrySpreadMs = 1_000;
        private @Nullable HttpClient httpClient;
        private Supplier<@Nullable String> traceparent = Traceparent::current;
        private Consumer<WeirException> onDegraded = failure -> {};
        private LongSupplier nowMs = () -> System.nanoTime() / 1_000_000;
        private DoubleSupplier random = () -> ThreadLocalRandom.current().nextDouble();
        private Function<Duration, CompletableFuture<Void>> sleep = Builder::sleep;
        @Nullable Transport transport;

        private Builder(String url, String key, OnError onError) {
            URI parsed;
            try {
                parsed = URI.create(Objects.requireNonNull(url, "url"));
            } catch (IllegalArgumentException cause) {
                throw new IllegalArgumentException("url: an http or https address is needed", cause);
            }
            if (!List.of("http", "https").contains(String.valueOf(parsed.getScheme())) || parsed.getHost() == null) {
                throw new IllegalArgumentException("url: an http or https address is needed");
            }
            if (parsed.getUserInfo() != null || parsed.getQuery() != null || parsed.getFragment() != null) {
                throw new IllegalArgumentException("url: an address without user, query and fragment is needed");
            }
            if (!Objects.requireNonNull(key, "key").matches("[!-~]+")) throw new IllegalArgumentException("key: an API key is needed");
            this.url = url.replaceAll("/+$", "");
            this.key = key;
            this.onError = Objects.requireNonNull(onError, "onError: choose OnError.ALLOW, OnError.DENY or a function");
        }

        /**
         * The time for one call with its repeat. That of a check covers its waiting too.
         *
         * @param timeout 1 ms to 60 s; 100 ms if not given
         * @return this
         */
        public Builder timeout(Duration timeout) {
            timeoutMs = timeoutMs(timeout);
            return this;
        }

        /**
         * Repeats a call once if its connection fails. Each check then carries an idempotency key, which costs Redis a key for a minute and excludes
         * the gate's shortcuts (leases, cached denials). Peeks are always repeated.
         *
         * @param again whether calls are repeated; false if not given
         * @return this
         */
        public Builder retry(boolean again) {
            retry = again;
            return this;
        }

        /**
         * The number of calls with checks that are in flight at a time. What arrives meanwhile waits, and travels as a batch.
         *
         * @param calls 1 to 64; 4 if not given
         * @return this
         */
        public Builder maxInFlight(int calls) {
            maxInFlight = (int) inRange("maxInFlight", calls, 1, 64);
            return this;
        }

        /**
         * The number of checks that wait. Further ones are left to {@code onError}, with the kind {@code OVERLOAD}.
         *
         * @param checks 0 to 1,000,000; 10,000 if not given
         * @return this
         */
        public Builder maxWaiting(int checks) {
            maxWaiting = (int) inRange("maxWaiting", checks, 0, 1_000_000);
            return this;
        }

        /**
         * How many denials are repeated without asking while the gate permits it.
         *
         * @param denials 0 to 1,000,000; 10,000 if not given, 0 for none
         * @return this
         */
        public Builder cacheSize(int denials) {
            cacheSize = (int) inRange("cacheSize", denials, 0, 1_000_000);
            return this;
        }

        /**
         * {@code await} waits up to this time longer than a denial says, and at most twice the promise, so that those who were denied together do
         * not return together.
         *
         * @param spread 0 to 60 s; 1 s if not given
         * @return this
         */
        public Builder retrySpread(Duration spread) {
            retrySpreadMs = inRange("retrySpread: in milliseconds", spread.toMillis(), 0, 60_000);
            return this;
        }

        /**
         * Sends the requests: for mTLS, proxies and instrumentation. If not given, a client of its own, which uses no proxy.
         *
         * @param client a client that follows no redirects
         * @return this
         */
        public Builder httpClient(HttpClient client) {
            if (client.followRedirects() != HttpClient.Redirect.NEVER) {
                throw new IllegalArgumentException("httpClient: a client that follows no redirects is needed");
            }
            httpClient = client;
            return this;
        }

        /**
         * The header {@code traceparent} of a call; null for none. If not given, that of the current span, if the program has OpenTelemetry's API. A
         * batch has that of its first check.
         *
         * @param header returns the header
         * @return this
         */
        public Builder traceparent(Supplier<@Nullable String> header) {
            traceparent = header;
            return this;
        }

        /**
         * Called for every decision that was left to {@code onError}: count it, so that an open gate is noticed. Must not block.
         *
         * @param count gets the reason
         * @return this
         */
        public Builder onDegraded(Consumer<WeirException> count) {
            onDegraded = count;
            return this;
        }

        /** {@return the client} */
        public Weir build() {
            Settings settings = new Settings(
                    onError, timeoutMs, retry, maxInFlight, maxWaiting, cacheSize, retrySpreadMs, traceparent, onDegraded, nowMs, random, sleep);
            return new Weir(new AsyncWeir(settings, transport != null ? transport : new HttpTransport(http(), url, key)));
        }

        private HttpClient http() {
            if (httpClient != null) return httpClient;
            // The time for a connection is that of the call.
            HttpClient.Builder client = HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).followRedirects(HttpClient.Redirect.NEVER);
            // A call begins on the caller's thread, and its answer is read on the thread that waits for all: each change of threads costs as much as
            // the rest. TLS computes, so it has threads of its own.
            if (url.startsWith("http:")) client.executor(Runnable::run);
            return client.build();
        }

        Builder nowMs(LongSupplier clock) {
            nowMs = clock;
            return this;
        }

        Builder random(DoubleSupplier numbers) {
            random = numbers;
            return this;
        }

        Builder sleep(Function<Duration, CompletableFuture<Void>> how) {
            sleep = how;
            return this;
        }

        static long timeoutMs(Duration timeout) {
            return inRange("timeout: in milliseconds", timeout.toMillis(), 1, 60_000);
        }

        private static long inRange(String name, long value, long least, long most) {
            if (value >= least && value <= most) return value;
            throw new IllegalArgumentException(name + ": a whole number from " + least + " to " + most + " is needed");
        }

        private static CompletableFuture<Void> sleep(Duration time) {
            return new CompletableFuture<Void>().completeOnTimeout(null, time.toMillis(), TimeUnit.MILLISECONDS);
        }
    }
}
