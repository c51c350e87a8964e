package io.github.weirratelimit.spring;

import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.ReserveOptions;
import io.github.weirratelimit.spring.Expressions.Compiled;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.annotation.AnnotatedElementUtils;

/** The {@link Reserve} of all methods, compiled. */
final class Reservations {
    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofMinutes(10);

    private final BeanFactory beans;
    private final String namespace;
    private final Map<Method, OfMethod> compiled = new ConcurrentHashMap<>();

    Reservations(BeanFactory beans, String namespace) {
        this.beans = beans;
        this.namespace = namespace;
    }

    /** An annotation, compiled. */
    record OfMethod(CompiledLimit limit, Compiled actual, ReserveOptions options) {
        CheckRequest request(Map<String, @Nullable Object> variables) {
            return limit.request(variables);
        }

        long actual(Map<String, @Nullable Object> variables) {
            return limit.texts().number(actual, variables);
        }
    }

    static @Nullable Reserve annotation(Class<?> type, Method method) {
        return AnnotatedElementUtils.findMergedAnnotation(AopUtils.getMostSpecificMethod(method, type), Reserve.class);
    }

    /** Fails if the annotation of the method, which has one, is wrong. */
    void check(Class<?> type, Method method) {
        String place = "@Reserve on " + CompiledLimit.place(method) + ": ";
        RateLimits.checkIntercepted(type, method, place);
        Class<?> returned = method.getReturnType();
        boolean suspends = List.of(method.getParameterTypes()).stream().anyMatch(one -> one.getName().equals("kotlin.coroutines.Continuation"));
        if (suspends) throw new ExpressionException(place + "a suspending function has its result later; use reserveSuspending", null);
        if (Reactive.isReactive(returned) && !Reactive.isMono(returned)) throw new ExpressionException(place + "a Flux has no one result; return a Mono", null);
        of(type, method);
    }

    OfMethod of(Class<?> type, Method called) {
        return compiled.computeIfAbsent(AopUtils.getMostSpecificMethod(called, type), method -> compile(annotation(type, method), method));
    }

    private OfMethod compile(@Nullable Reserve annotation, Method method) {
        if (annotation == null) throw new IllegalStateException(method + " has no @Reserve");
        Set<String> known = new HashSet<>(List.of(Parameters.names(method)));
        CompiledLimit limit = CompiledLimit.of(annotation, method, known, namespace, beans);
        known.add("result");
        Compiled actual = limit.texts().units("actual", annotation.actual(), known);
        return new OfMethod(limit, actual, new ReserveOptions(ttl(limit.texts(), annotation.ttl()), false));
    }

    private static Duration ttl(Expressions texts, String text) {
        try {
            Duration ttl = DurationStyle.detectAndParse(text);
            if (ttl.compareTo(SHORTEST) >= 0 && ttl.compareTo(LONGEST) <= 0) return ttl;
        } catch (IllegalArgumentException wrong) {
            // As a time that is too short or too long.
        }
        throw texts.failure("ttl \"" + text + "\" is no time of 1 s to 10 min");
    }
}
