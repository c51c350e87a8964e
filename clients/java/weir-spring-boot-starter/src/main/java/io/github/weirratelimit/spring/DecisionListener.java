package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import java.time.Duration;

/** Gets each decision about a request or the call of a method. */
@FunctionalInterface
public interface DecisionListener {
    /**
     * Must not block.
     *
     * @param namespace of the check
     * @param answer the decision
     * @param time that it took
     */
    void decided(String namespace, Answer answer, Duration time);
}
