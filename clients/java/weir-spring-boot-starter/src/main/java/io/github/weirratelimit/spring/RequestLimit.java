package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.Choice;
import java.time.Duration;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.springframework.http.ResponseEntity;

/** A limit of requests. Beans of this type limit all requests, in their order, before {@link RateLimit} of the handler does. */
public final class RequestLimit {
    final String namespace;
    final Function<LimitedCall, @Nullable Map<String, ? extends @Nullable Object>> attributes;
    ToLongFunction<LimitedCall> cost = call -> 1;
    Predicate<LimitedCall> skip = call -> false;
    IntPredicate refundWhen = status -> false;
    boolean headers = true;
    @Nullable Choice onError;
    BiConsumer<Answer, Duration> onDecision = (answer, time) -> {};
    @Nullable Function<Answer, ResponseEntity<?>> onRefused;

    private RequestLimit(String namespace, Function<LimitedCall, @Nullable Map<String, ? extends @Nullable Object>> attributes) {
        this.namespace = namespace;
        this.attributes = attributes;
    }

    /**
     * A limit.
     *
     * @param namespace the namespace of the rules
     * @param attributes what rules test and count by; null passes the request unlimited. Values that a gate would refuse, because they are longer
     *     than 512 bytes or contain control characters, are replaced by their SHA-256
     * @return the limit
     */
    public static RequestLimit of(String namespace, Function<LimitedCall, @Nullable Map<String, ? extends @Nullable Object>> attributes) {
        return new RequestLimit(namespace, attributes);
    }

    /**
     * The number of units that a request takes.
     *
     * @param units of a request; 1 if not given
     * @return this
     */
    public RequestLimit cost(ToLongFunction<LimitedCall> units) {
        cost = units;
        return this;
    }

    /**
     * Which requests pass without a check.
     *
     * @param passes of a request
     * @return this
     */
    public RequestLimit skip(Predicate<LimitedCall> passes) {
        skip = passes;
        return this;
    }

    /**
     * Returns the units after a response with such a status: {@code status -> status < 300} counts failed sign-ins only.
     *
     * @param returns of a status; 500 if the handler failed
     * @return this
     */
    public RequestLimit refundWhen(IntPredicate returns) {
        refundWhen = returns;
        return this;
    }

    /**
     * Whether responses have {@code RateLimit}, {@code RateLimit-Policy} and {@code X-RateLimit-*}. {@code Retry-After} of a refusal stays.
     *
     * @param shown true if not given
     * @return this
     */
    public RequestLimit headers(boolean shown) {
        headers = shown;
        return this;
    }

    /**
     * The decision if no gate decides, instead of the client's.
     *
     * @param choice the decision
     * @return this
     */
    public RequestLimit onError(@Nullable Choice choice) {
        onError = choice;
        return this;
    }

    /**
     * Called with each answer and the time that it took.
     *
     * @param report for metrics
     * @return this
     */
    public RequestLimit onDecision(BiConsumer<Answer, Duration> report) {
        onDecision = report;
        return this;
    }

    /**
     * Makes the response to a refused request. The headers of the limits are added unless it has them.
     *
     * @param response of the answer
     * @return this
     */
    public RequestLimit onRefused(Function<Answer, ResponseEntity<?>> response) {
        onRefused = response;
        return this;
    }
}
