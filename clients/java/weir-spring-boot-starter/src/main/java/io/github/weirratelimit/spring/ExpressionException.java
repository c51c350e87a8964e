package io.github.weirratelimit.spring;

import org.jspecify.annotations.Nullable;

/** An expression of {@link RateLimit}, {@link Reserve} or {@code weir.filter} is wrong, or has no value that can be counted by. Names the annotation and the method, or the property. */
public final class ExpressionException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    ExpressionException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
