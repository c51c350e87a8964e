package io.github.weirratelimit.spring;

import io.github.weirratelimit.AsyncWeir;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The limits of requests: that of {@code weir.filter}, the beans, then those of the handler's annotations. */
final class HandlerLimits {
    private final RateLimits annotations;
    private final List<RequestLimit> ofAll;
    private final Checks checks;
    private final Map<Handler, List<RequestLimit>> ofHandlers = new ConcurrentHashMap<>();

    /** A method that a class inherits can have other limits there. */
    private record Handler(Class<?> type, Method method) {}

    HandlerLimits(RateLimits annotations, List<RequestLimit> ofAll, Checks checks) {
        this.annotations = annotations;
        this.ofAll = List.copyOf(ofAll);
        this.checks = checks;
    }

    LimitedRequest request(AsyncWeir weir) {
        return new LimitedRequest(weir, checks);
    }

    /** Of a handler that is no method of a controller. */
    List<RequestLimit> ofAll() {
        return ofAll;
    }

    List<RequestLimit> of(Class<?> type, Method method) {
        return ofHandlers.computeIfAbsent(new Handler(type, method), handler -> {
            if (RateLimits.isExempt(type, method)) return List.of();
            List<RequestLimit> limits = new ArrayList<>(ofAll);
            annotations.of(type, method).forEach(one -> limits.add(limit(one.limit())));
            return List.copyOf(limits);
        });
    }

    /** A limit whose texts know the request. */
    static RequestLimit limit(CompiledLimit compiled) {
        return RequestLimit.of(compiled.namespace(), call -> compiled.attributes(variables(call)))
                .cost(call -> compiled.units(variables(call)))
                .onError(compiled.onError());
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
