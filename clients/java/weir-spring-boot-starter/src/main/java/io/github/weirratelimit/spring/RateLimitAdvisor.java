package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.Choice;
import io.github.weirratelimit.Degraded;
import io.github.weirratelimit.Weir;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;

/** Asks before the methods of beans that are no handlers. Methods that return a {@code Mono} or {@code Flux} are limited when they are subscribed. */
final class RateLimitAdvisor extends StaticMethodMatcherPointcutAdvisor {
    private static final long serialVersionUID = 1L;

    RateLimitAdvisor(Supplier<Weir> weir, Supplier<RateLimits> limits) {
        setAdvice(new Interceptor(weir, limits));
    }

    @Override
    public boolean matches(Method method, Class<?> type) {
        return !RateLimits.isHandler(type, method) && !RateLimits.annotations(type, method).isEmpty();
    }

    private record Interceptor(Supplier<Weir> weir, Supplier<RateLimits> limits) implements MethodInterceptor {
        private record Taken(Expressions limit, CheckRequest request, Answer answer, Leases leases) {}

        @Override
        public @Nullable Object invoke(MethodInvocation call) throws Throwable {
            Class<?> returned = call.getMethod().getReturnType();
            if (Reactive.isReactive(returned)) return Reactive.limited(returned, () -> proceed(call), () -> admit(call), this::end);
            Deque<Taken> taken = admit(call);
            try {
                Object result = call.proceed();
                end(taken, null);
                return result;
            } catch (Throwable failure) {
                end(taken, failure);
                throw failure;
            }
        }

        private static @Nullable Object proceed(MethodInvocation call) throws Throwable {
            return call.proceed();
        }

        private Deque<Taken> admit(MethodInvocation call) {
            Class<?> type = call.getThis() == null ? call.getMethod().getDeclaringClass() : org.springframework.aop.support.AopUtils.getTargetClass(call.getThis());
            Method method = org.springframework.aop.support.AopUtils.getMostSpecificMethod(call.getMethod(), type);
            Map<String, @Nullable Object> variables = new LinkedHashMap<>();
            String[] names = limits.get().parameters(method);
            for (int at = 0; at < names.length; at += 1) variables.put(names[at], call.getArguments()[at]);
            Deque<Taken> taken = new ArrayDeque<>();
            try {
                for (Expressions limit : limits.get().of(type, method)) take(limit, variables, taken);
            } catch (RuntimeException failure) {
                taken.forEach(one -> one.leases.release());
                throw failure;
            }
            return taken;
        }

        private void take(Expressions limit, Map<String, @Nullable Object> variables, Deque<Taken> taken) {
            CheckRequest request = limit.request(variables);
            Answer found = weir.get().check(request);
            Choice choice = limit.onError();
            Answer answer = found.degraded() == Degraded.CLIENT && choice != null ? Answer.onError(choice, found.error()) : found;
            taken.add(new Taken(limit, request, answer, new Leases(weir.get().async(), answer)));
            if (!answer.allowed()) throw new RateLimitExceededException(answer);
            if (answer.delayMs() > 0) sleep(answer.delayMs());
        }

        private static void sleep(long ms) {
            try {
                Thread.sleep(ms);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new java.util.concurrent.CancellationException("interrupted while it waited for a leaky bucket");
            }
        }

        private void end(Deque<Taken> taken, @Nullable Throwable failure) {
            for (Taken one : taken) {
                one.leases.release();
                boolean refunds = failure != null && one.answer.degraded() == null
                        && List.of(one.limit.annotation.refundOn()).stream().anyMatch(type -> type.isInstance(failure));
                if (refunds) weir.get().async().refund(one.request, one.answer.charge());
            }
        }
    }
}
