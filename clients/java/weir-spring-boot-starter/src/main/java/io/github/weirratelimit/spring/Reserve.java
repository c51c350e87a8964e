package io.github.weirratelimit.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.annotation.AliasFor;

/**
 * Reserves the estimated units before a method of any bean, and charges the actual ones when it has ended. A method that throws charges nothing. A
 * subscription that is cancelled charges what was reserved, because the work can have been done.
 *
 * <p>The expressions (SpEL) know the method's parameters; {@code actual} knows {@code #result} too, which is the value of a {@code Mono} or a
 * {@code CompletionStage}. A wrong expression stops the application at its start. If {@code actual} has no whole number as its value, what was
 * reserved is charged and an {@link ExpressionException} is thrown.
 */
@Documented
@Inherited
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface Reserve {
    /** {@return the namespace of the rules; that of {@code weir.namespace} if empty} */
    @AliasFor("namespace")
    String value() default "";

    /** {@return the namespace of the rules} */
    @AliasFor("value")
    String namespace() default "";

    /** {@return the attributes, each as {@code name=text} or {@code name=#expression}} */
    String[] attributes();

    /** {@return the units to reserve: a number, or an expression} */
    String estimate();

    /** {@return the units to charge: an expression of {@code #result}, such as {@code #result.tokens}} */
    String actual();

    /** {@return the time after which the units return if the method has not ended, 1 s to 10 min, such as {@code 90s}; its units are then recorded} */
    String ttl() default "60s";

    /** {@return the decision if no gate decides; that of the client if {@code CLIENT}} */
    RateLimit.OnError onError() default RateLimit.OnError.CLIENT;
}
