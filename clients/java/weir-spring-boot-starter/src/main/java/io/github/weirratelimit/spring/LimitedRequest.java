package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.AsyncWeir;
import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.RateLimitHeaders;
import io.github.weirratelimit.SafeAttributes;
import io.micrometer.observation.Observation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;

/** One request from its checks to the refund and the release of its leases. */
final class LimitedRequest {
    /** The attribute of a request with the answer of the limit that decided last. */
    static final String ANSWER = Answer.class.getName();

    private final AsyncWeir weir;
    private final Checks checks;
    private final List<Held> held = new CopyOnWriteArrayList<>();
    private final List<Answer> shown = new ArrayList<>();
    private final AtomicBoolean begun = new AtomicBoolean();
    private final AtomicBoolean settled = new AtomicBoolean();
    private volatile @Nullable Answer last;

    private record Held(RequestLimit limit, CheckRequest request, Answer answer, Leases leases) {}

    LimitedRequest(AsyncWeir weir, Checks checks) {
        this.weir = weir;
        this.checks = checks;
    }

    /** Whether this is the first call: a request is dispatched several times. */
    boolean begin() {
        return begun.compareAndSet(false, true);
    }

    @Nullable Answer last() {
        return last;
    }

    /**
     * Asks about the limits in order. Null if all admit the request; otherwise the response. Waits for the delays of leaky buckets. {@code parent} is
     * the observation of the request if the thread does not know it.
     */
    CompletableFuture<@Nullable ResponseEntity<?>> admit(List<RequestLimit> limits, LimitedCall call, @Nullable Observation parent) {
        if (limits.isEmpty()) return CompletableFuture.completedFuture(null);
        RequestLimit limit = limits.get(0);
        List<RequestLimit> others = limits.subList(1, limits.size());
        Map<String, ? extends @Nullable Object> attributes = limit.skip.test(call) ? null : limit.attributes.apply(call);
        if (attributes == null) return admit(others, call, parent);
        CheckRequest request = CheckRequest.of(limit.namespace, SafeAttributes.of(attributes)).withCost(limit.cost.applyAsLong(call));
        long begunNs = System.nanoTime();
        return checks.check(weir, request, limit.onError, parent).thenCompose(answer -> {
            limit.onDecision.accept(answer, Duration.ofNanos(System.nanoTime() - begunNs));
            last = answer;
            if (limit.headers) shown.add(answer);
            hold(new Held(limit, request, answer, new Leases(weir, answer)));
            if (!answer.allowed()) {
                settle(null);
                return CompletableFuture.completedFuture(refusal(limit, answer));
            }
            CompletableFuture<@Nullable Void> delay = new CompletableFuture<>();
            if (answer.delayMs() == 0) delay.complete(null);
            return delay.completeOnTimeout(null, answer.delayMs(), TimeUnit.MILLISECONDS).thenCompose(over -> admit(others, call, parent));
        });
    }

    private void hold(Held one) {
        held.add(one);
        // The client went away during the check.
        if (settled.get()) one.leases.release();
    }

    private ResponseEntity<?> refusal(RequestLimit limit, Answer answer) {
        RateLimitExceededException refused = new RateLimitExceededException(answer, shown, limit.headers);
        ResponseEntity<?> own = limit.onRefused == null ? null : limit.onRefused.apply(answer);
        if (own == null) return problem(refused);
        ResponseEntity.BodyBuilder response = ResponseEntity.status(own.getStatusCode());
        refused.getHeaders().forEach((name, value) -> response.header(name, value));
        return response.headers(headers -> own.getHeaders().forEach((name, values) -> headers.put(name, values))).body(own.getBody());
    }

    /** The problem document of a refusal. */
    static ResponseEntity<ProblemDetail> problem(RateLimitExceededException refused) {
        boolean byClient = refused.getStatus() == HttpStatus.SERVICE_UNAVAILABLE.value();
        ProblemDetail problem = ProblemDetail.forStatus(refused.getStatus());
        problem.setProperty("code", byClient ? "rate_limit_unavailable" : "rate_limited");
        problem.setProperty("retry_after_ms", refused.getAnswer().retryAfterMs());
        ResponseEntity.BodyBuilder response = ResponseEntity.status(refused.getStatus()).contentType(MediaType.APPLICATION_PROBLEM_JSON);
        refused.getHeaders().forEach((name, value) -> response.header(name, value));
        return response.body(problem);
    }

    /** The headers of the response to an admitted request. */
    Map<String, String> headers() {
        return RateLimitHeaders.ofAll(shown, null);
    }

    /** To be called when the response has ended, with its status, or null if the client went away before. Later calls have no effect. */
    void settle(@Nullable Integer status) {
        if (!settled.compareAndSet(false, true)) return;
        for (Held one : held) {
            one.leases.release();
            // A degraded answer charged nothing.
            boolean refunds = status != null && one.answer.degraded() == null && one.limit.refundWhen.test(status);
            if (refunds) weir.refund(one.request, one.answer.charge());
        }
    }
}
