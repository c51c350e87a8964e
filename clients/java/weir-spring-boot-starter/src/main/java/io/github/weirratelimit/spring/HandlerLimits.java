package io.github.weirratelimit.spring;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The limits of requests: the beans, then those of the handler's annotations. */
final class HandlerLimits {
    private final RateLimits annotations;
    private final List<RequestLimit> ofAll;
    private final DecisionListener listener;
    private final Map<Handler, List<RequestLimit>> ofHandlers = new ConcurrentHashMap<>();

    /** A method that a class inherits can have other limits there. */
    private record Handler(Class<?> type, Method method) {}

    HandlerLimits(RateLimits annotations, List<RequestLimit> ofAll, DecisionListener listener) {
        this.annotations = annotations;
        this.ofAll = List.copyOf(ofAll);
        this.listener = listener;
        ofAll.forEach(limit -> {
            var own = limit.onDecision;
            limit.onDecision((answer, time) -> {
                listener.decided(limit.namespace, answer, time);
                own.accept(answer, time);
            });
        });
    }

    /** Of a handler that is no method of a controller. */
    List<RequestLimit> ofAll() {
        return ofAll;
    }

    List<RequestLimit> of(Class<?> type, Method method) {
        return ofHandlers.computeIfAbsent(new Handler(type, method), handler -> {
            if (RateLimits.isExempt(type, method)) return List.of();
            List<RequestLimit> limits = new ArrayList<>(ofAll);
            annotations.of(type, method).forEach(one -> limits.add(limit(one)));
            return List.copyOf(limits);
        });
    }

    private RequestLimit limit(Expressions annotation) {
        return RequestLimit.of(annotation.namespace(), call -> annotation.attributes(variables(call)))
                .cost(call -> annotation.cost(variables(call)))
                .onError(annotation.onError())
                .onDecision((answer, time) -> listener.decided(annotation.namespace(), answer, time));
    }

    private static Map<String, @Nullable Object> variables(LimitedCall call) {
        Map<String, @Nullable Object> found = new HashMap<>();
        found.put("principal", call.principal());
        found.put("ip", call.ip());
        found.put("route", call.route());
        found.put("method", call.method());
        found.put("path", call.path());
        found.put("query", call.query());
        found.put("headers", call.headers());
        return found;
    }
}
