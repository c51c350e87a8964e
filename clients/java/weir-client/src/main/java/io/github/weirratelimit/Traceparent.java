package io.github.weirratelimit;

import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;

/** The current span of OpenTelemetry's API, which the client finds at run time alone. */
final class Traceparent {
    private static final @Nullable Method CURRENT = method("Span", "current");
    private static final @Nullable Method CONTEXT = method("Span", "getSpanContext");
    private static final @Nullable Method VALID = method("SpanContext", "isValid");
    private static final @Nullable Method TRACE = method("SpanContext", "getTraceId");
    private static final @Nullable Method SPAN = method("SpanContext", "getSpanId");
    private static final @Nullable Method SAMPLED = method("SpanContext", "isSampled");

    private Traceparent() {}

    /** The header of the current span; null if there is none, or the program does not use OpenTelemetry. */
    static @Nullable String current() {
        if (CURRENT == null || CONTEXT == null || VALID == null || TRACE == null || SPAN == null || SAMPLED == null) return null;
        try {
            Object context = CONTEXT.invoke(CURRENT.invoke(null));
            if (!Boolean.TRUE.equals(VALID.invoke(context))) return null;
            return "00-" + TRACE.invoke(context) + "-" + SPAN.invoke(context) + (Boolean.TRUE.equals(SAMPLED.invoke(context)) ? "-01" : "-00");
        } catch (ReflectiveOperationException failure) {
            return null;
        }
    }

    private static @Nullable Method method(String type, String name) {
        try {
            return Class.forName("io.opentelemetry.api.trace." + type).getMethod(name);
        } catch (ReflectiveOperationException | LinkageError absent) {
            return null;
        }
    }
}
