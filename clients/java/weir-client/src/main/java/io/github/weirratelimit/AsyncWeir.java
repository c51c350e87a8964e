package io.github.weirratelimit;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The calls of {@link Weir}, without blocking. A failure completes the future with a {@link WeirException}. Cancelling the future of a check ends
 * this check; checks that travel with it are not affected.
 */
public final class AsyncWeir {
    /** A gate waits up to 2 s for the first delivery of a job. */
    private static final Duration DEFER_TIMEOUT = Duration.ofSeconds(5);

    private final Settings settings;
    private final Transport transport;
    private final DenialCache cache;
    final Batcher batcher;

    AsyncWeir(Settings settings, Transport transport) {
        this.settings = settings;
        this.transport = call -> repeated(transport, call);
        this.cache = new DenialCache(settings.cacheSize());
        // Nobody else can release them. A lease that is not released ends by itself.
        this.batcher = new Batcher(settings, this.transport, late -> late.leases().forEach(lease -> release(lease.id())));
    }

    /**
     * Asks whether an action is allowed, and takes its cost if it is. See {@link Weir#check(CheckRequest)}.
     *
     * @param request the action
     * @return the answer
     */
    public CompletableFuture<Answer> check(CheckRequest request) {
        boolean cacheable = !request.peek() && request.idempotencyKey() == null;
        String key = cacheable ? request.cacheKey() : "";
        Answer cached = cacheable ? cache.get(key, settings.nowMs().getAsLong()) : null;
        if (cached != null) return CompletableFuture.completedFuture(cached);
        long generation = cache.generation();
        CheckRequest sent = withRetryKey(request, !request.peek());
        boolean repeatable = sent.peek() || sent.idempotencyKey() != null;
        CompletableFuture<Batcher.Decided> decided = batcher.ask(Json.write(sent.body()), repeatable, settings.traceparent().get());
        CompletableFuture<Answer> answer = decided.handle((found, failure) -> {
            if (failure != null) return degraded(failure, request);
            if (cacheable) cache.insert(key, found.gate(), found.sentAtMs(), generation);
            return found.gate().answer();
        });
        answer.whenComplete((found, failure) -> {
            if (answer.isCancelled()) decided.cancel(false);
        });
        return answer;
    }

    /**
     * A check of one unit.
     *
     * @param namespace the namespace of the rules
     * @param attributes names and values that describe the action
     * @return the answer
     */
    public CompletableFuture<Answer> check(String namespace, Map<String, ? extends @Nullable Object> attributes) {
        return check(CheckRequest.of(namespace, attributes));
    }

    /**
     * The answer of a check that takes nothing.
     *
     * @param request the action
     * @return the answer
     */
    public CompletableFuture<Answer> peek(CheckRequest request) {
        return check(request.withPeek());
    }

    /**
     * Up to 100 independent checks in one request, decided in order. If no gate decides, {@code onError} answers each.
     *
     * @param requests the actions
     * @return the answers, in the same order
     */
    public CompletableFuture<List<Answer>> checkAll(List<CheckRequest> requests) {
        if (requests.isEmpty()) return CompletableFuture.completedFuture(List.of());
        if (requests.size() > Batcher.BATCH_MAX) throw new IllegalArgumentException("requests: at most " + Batcher.BATCH_MAX);
        List<Map<String, Object>> bodies = requests.stream().map(request -> withRetryKey(request, !request.peek()).body()).toList();
        return post("/check/batch", Map.of("checks", bodies), settings.retry())
                .thenApply(reply -> Batcher.entries(reply, requests.size()).stream().map(entry -> Answer.read(entry, reply.requestId()).answer()).toList())
                .exceptionally(failure -> requests.stream().map(request -> degraded(failure, request)).toList());
    }

    /**
     * Checks until the action is allowed, and waits as the answers say. See {@link Weir#await(CheckRequest, Duration)}.
     *
     * @param request the action
     * @param longest the longest time to wait for units
     * @return the answer
     */
    public CompletableFuture<Answer> await(CheckRequest request, Duration longest) {
        if (longest.isNegative()) throw new IllegalArgumentException("longest: 0 or more");
        CompletableFuture<Answer> result = new CompletableFuture<>();
        long untilMs = settings.nowMs().getAsLong() + longest.toMillis();
        await(request, untilMs, result);
        return result;
    }

    private void await(CheckRequest request, long untilMs, CompletableFuture<Answer> result) {
        CompletableFuture<Answer> check = check(request);
        // The caller can give up during the check, and during the sleep.
        result.whenComplete((found, failure) -> check.cancel(false));
        check.thenCompose(answer -> {
            Long ms = answer.allowed() ? Long.valueOf(answer.delayMs()) : answer.retryAfterMs();
            long nowMs = settings.nowMs().getAsLong();
            if (ms == null || (!answer.allowed() && nowMs + ms > untilMs)) {
                result.complete(answer);
                return CompletableFuture.<Void>completedFuture(null);
            }
            double share = settings.random().getAsDouble() * Math.min(settings.retrySpreadMs(), ms);
            long spread = answer.allowed() ? 0 : Math.min((long) share, untilMs - nowMs - ms);
            CompletableFuture<Void> slept = ms > 0 ? settings.sleep().apply(Duration.ofMillis(ms + spread)) : CompletableFuture.completedFuture(null);
            return slept.thenRun(() -> {
                if (answer.allowed()) result.complete(answer);
                else if (!result.isDone()) await(request, untilMs, result);
            });
        }).whenComplete((done, failure) -> {
            if (failure != null) result.completeExceptionally(cause(failure));
        });
    }

    /**
     * Takes units that were used already, even if fewer are left. Fails if no gate confirms it.
     *
     * @param request the action
     * @return the answer; its {@code charged} is the number of units that each matching limit took
     */
    public CompletableFuture<Answer> record(CheckRequest request) {
        return decide("/record", withRetryKey(request, true).body());
    }

    /**
     * Returns units to every matching limit. Fails if no gate confirms it.
     *
     * @param request the action
     * @param charge the {@code charge} of the answer to the check: units return only where they were taken; or null
     * @return the answer
     */
    public CompletableFuture<Answer> refund(CheckRequest request, @Nullable String charge) {
        Map<String, Object> body = withRetryKey(request, true).body();
        if (charge != null) body.put("charge", charge);
        // Any cached denial may have ended, because rules count by some of the attributes only.
        return decide("/refund", body).whenComplete((answer, failure) -> cache.clear());
    }

    private CompletableFuture<Answer> decide(String path, Map<String, Object> body) {
        return post(path, body, settings.retry()).thenApply(reply -> {
            Answer answer = Answer.read(reply);
            boolean reported = reply.status() == 200 || !answer.allowed();
            // A record names the units that it took.
            boolean confirmed = !path.equals("/record") || reply.status() != 200 || answer.charged() != null;
            if (!reported || !confirmed) throw WeirException.notAnAnswer(reply.status());
            return answer;
        });
    }

    /**
     * Decides as a check, and holds the units until {@code commit} or {@code cancel}. If no gate decides, {@code onError} does; nothing is held
     * then, and a commit records its cost.
     *
     * @param request the action, with the estimated cost
     * @param options the time to live, and whether fewer units are accepted
     * @return the reservation
     */
    public CompletableFuture<Reservation> reserve(CheckRequest request, ReserveOptions options) {
        Map<String, Object> body = withRetryKey(request, true).body();
        if (options.ttl() != null) body.put("ttl_ms", options.ttl().toMillis());
        if (options.atMost()) body.put("at_most", true);
        return post("/reserve", body, settings.retry()).thenApply(reply -> {
            Answer answer = Answer.read(reply);
            Fields fields = new Fields(reply.body(), "the reservation");
            String text = fields.textOrNull("reservation");
            boolean fits = reply.status() == (answer.allowed() ? 200 : 429) && answer.allowed() == (text != null);
            if (!fits) throw WeirException.notAnAnswer(reply.status());
            return new Reservation(answer, fields.count("reserved"), fields.countOrNull("expires_at_ms"), cost -> commit(request, text, cost));
        }).exceptionally(failure -> new Reservation(degraded(failure, request), 0, null, cost -> commit(request, null, cost)));
    }

    /** Commits a reservation, or records the cost if there is none. */
    private CompletableFuture<Committed> commit(CheckRequest request, @Nullable String text, long cost) {
        CheckRequest late = CheckRequest.of(request.namespace(), request.attributes());
        if (text == null && cost == 0) return CompletableFuture.completedFuture(Committed.NOTHING);
        if (text == null) {
            return record(late.withCost(cost)).thenApply(answer ->
                    new Committed(answer.charged() == null ? 0 : answer.charged(), 0, true, answer.degraded(), answer.buffered()));
        }
        Map<String, Object> body = late.body();
        body.put("reservation", text);
        body.put("cost", cost);
        // Repeatable: a gate commits a reservation once. Any cached denial may have ended.
        return confirmed("/commit", body).thenApply(reply -> Committed.read(reply.body())).whenComplete((committed, failure) -> cache.clear());
    }

    /**
     * Lets a lease of a concurrency limit begin anew. Fails if no gate confirms it.
     *
     * @param lease its id
     * @return whether it is held
     */
    public CompletableFuture<Renewed> renew(String lease) {
        return settle("/renew", lease, Renewed::read, Renewed.ENDED);
    }

    /**
     * Ends a lease, so that another check can take its place. Fails if no gate confirms it.
     *
     * @param lease its id
     * @return whether it was released
     */
    public CompletableFuture<Released> release(String lease) {
        return settle("/release", lease, Released::read, Released.ENDED);
    }

    private <T> CompletableFuture<T> settle(String path, String lease, Function<@Nullable Object, T> read, T ended) {
        // Repeatable: a gate gives a repeat the first answer.
        Transport.Call call = call("POST", path, Json.write(Map.of("lease", lease)), true, settings.timeoutMs(), 200);
        return transport.send(call).thenApply(reply -> read.apply(reply.body())).exceptionally(failure -> absent(failure, ended));
    }

    /**
     * Lets all limits that match count as exhausted for this time, because the service behind them said so. The key needs the scope
     * {@code exhaust}. Fails if no gate confirms it.
     *
     * @param namespace the namespace of the rules
     * @param attributes names and values that rules match
     * @param time how long
     * @return the answer
     */
    public CompletableFuture<Answer> exhaust(String namespace, Map<String, ? extends @Nullable Object> attributes, Duration time) {
        Map<String, Object> body = CheckRequest.of(namespace, attributes).body();
        body.put("for_ms", time.toMillis());
        // Repeatable: a second time is no longer than the first one.
        return confirmed("/exhaust", body).thenApply(reply -> Answer.read(reply));
    }

    /**
     * Has a job delivered to a webhook: at once if the limits permit it, otherwise as soon as they do. Fails if no gate confirms it; repeat the
     * call then, with the same key.
     *
     * @param request the job
     * @return the job, or the refusal of a full queue
     */
    public CompletableFuture<Deferral> defer(DeferRequest request) {
        Map<String, Object> body = request.check().body();
        body.put("target", request.target());
        body.put("payload", request.payload());
        if (request.notAfter() != null) body.put("not_after_ms", request.notAfter().toMillis());
        long timeoutMs = Weir.Builder.timeoutMs(request.timeout() == null ? DEFER_TIMEOUT : request.timeout());
        // Repeatable: a gate stores the job of a key once.
        return transport.send(call("POST", "/defer", Json.write(body), true, timeoutMs, 200, 202, 429)).thenApply(Deferral::read);
    }

    /**
     * The state of a deferred job. Fails if no gate answers.
     *
     * @param id the id of the job
     * @return the job; null if no gate knows it (any longer)
     */
    public CompletableFuture<@Nullable DeferredJob> deferred(String id) {
        CompletableFuture<@Nullable DeferredJob> job = ask("GET", id, true, 200).thenApply(reply -> DeferredJob.read(reply.body()));
        return job.exceptionally(failure -> absent(failure, null));
    }

    /**
     * Removes a deferred job that waits, or a dead letter. Fails if no gate confirms it.
     *
     * @param id the id of the job
     * @return false if there is no such job, or it was delivered
     */
    public CompletableFuture<Boolean> cancelDeferred(String id) {
        // Not repeatable: the second answer would not tell what the first call did.
        return ask("DELETE", id, false, 204).thenApply(reply -> true).exceptionally(failure -> absent(failure, false));
    }

    private CompletableFuture<Transport.Reply> ask(String method, String id, boolean repeatable, int accepted) {
        String path = "/deferred/" + URLEncoder.encode(id, StandardCharsets.UTF_8).replace("+", "%20");
        return transport.send(call(method, path, null, repeatable, settings.timeoutMs(), accepted));
    }

    private CompletableFuture<Transport.Reply> post(String path, Map<String, ?> body, boolean repeatable) {
        return transport.send(call("POST", path, Json.write(body), repeatable, settings.timeoutMs(), Transport.DECISION));
    }

    /** Posts a request that a gate confirms by 200 alone. */
    private CompletableFuture<Transport.Reply> confirmed(String path, Map<String, ?> body) {
        return post(path, body, true).thenApply(reply -> {
            if (reply.status() != 200) throw WeirException.notAnAnswer(reply.status());
            return reply;
        });
    }

    private Transport.Call call(String method, String path, @Nullable String body, boolean repeatable, long timeoutMs, int... accepted) {
        return new Transport.Call(method, path, body, accepted, settings.deadlineNs(timeoutMs), settings.traceparent().get(), repeatable);
    }

    /** The request with an idempotency key, if it can be sent twice and would take units. */
    private CheckRequest withRetryKey(CheckRequest request, boolean takes) {
        boolean needed = settings.retry() && takes && request.idempotencyKey() == null;
        return needed ? request.withIdempotencyKey(UUID.randomUUID().toString()) : request;
    }

    /** Sends a call; once more if the connection failed. */
    private static CompletableFuture<Transport.Reply> repeated(Transport transport, Transport.Call call) {
        CompletableFuture<Transport.Reply> first = transport.send(call);
        if (!call.repeatable()) return first;
        return first.handle((reply, failure) -> {
            if (failure == null) return first;
            boolean again = isKind(failure, WeirException.Kind.CONNECTION) && call.deadlineNs() - System.nanoTime() > 0;
            return again ? transport.send(call) : first;
        }).thenCompose(Function.identity());
    }

    private Answer degraded(Throwable failure, CheckRequest request) {
        WeirException error = cause(failure) instanceof WeirException found ? found : null;
        if (error == null || error.getKind() == WeirException.Kind.REFUSED) throw rethrown(failure);
        settings.onDegraded().accept(error);
        return Answer.onError(settings.onError().choose(error, request), error);
    }

    /** The result if the gate knows no such lease or job. */
    private static <T extends @Nullable Object> T absent(Throwable failure, T result) {
        // Something between the client and the gate can answer 404 too, without the code.
        if (cause(failure) instanceof WeirException error && Integer.valueOf(404).equals(error.getStatus()) && "not_found".equals(error.getCode())) {
            return result;
        }
        throw rethrown(failure);
    }

    static boolean isKind(Throwable failure, WeirException.Kind kind) {
        return cause(failure) instanceof WeirException error && error.getKind() == kind;
    }

    static Throwable cause(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? cause(failure.getCause()) : failure;
    }

    private static RuntimeException rethrown(Throwable failure) {
        Throwable cause = cause(failure);
        return cause instanceof CancellationException cancelled ? cancelled : new CompletionException(cause);
    }
}
