package io.github.weirratelimit.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.annotation.AliasFor;

/**
 * Asks Weir before a handler of a controller or a method of any bean. The limits are rules in Weir, not here.
 *
 * <p>Annotations of a method replace those of its class; several of one method are asked in order. An expression that is wrong stops the
 * application at its start; one that yields null or a collection throws an {@link ExpressionException}, and the method is not called.
 */
@Documented
@Inherited
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@java.lang.annotation.Repeatable(RateLimit.All.class)
public @interface RateLimit {
    /** {@return the namespace of the rules; that of {@code weir.namespace} if empty} */
    @AliasFor("namespace")
    String value() default "";

    /** {@return the namespace of the rules} */
    @AliasFor("value")
    String namespace() default "";

    /**
     * The attributes, each as {@code name=text} or {@code name=#expression}. Expressions (SpEL) of a controller know {@code #principal},
     * {@code #ip}, {@code #route}, {@code #method}, {@code #path}, {@code #query} and {@code #headers} (maps); those of other beans know the
     * method's parameters. An expression begins with {@code #} or {@code @} (a bean).
     *
     * @return the attributes
     */
    String[] attributes();

    /** {@return the number of units: a number, or an expression} */
    String cost() default "1";

    /** {@return the decision if no gate decides; that of the client if {@code CLIENT}} */
    OnError onError() default OnError.CLIENT;

    /** {@return the failures of the method that return the units} */
    Class<? extends Throwable>[] refundOn() default {};

    /** The decision if no gate decides. */
    enum OnError {
        /** That of the client. */
        CLIENT,
        /** The action passes. */
        ALLOW,
        /** The action is refused. */
        DENY
    }

    /** Several limits. */
    @Documented
    @Inherited
    @Target({ElementType.METHOD, ElementType.TYPE})
    @Retention(RetentionPolicy.RUNTIME)
    @interface All {
        /** {@return the limits, which are asked in this order} */
        RateLimit[] value();
    }
}
