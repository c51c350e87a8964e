package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.Weir;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.core.Ordered;

/** Asks before the methods of beans that are no handlers. Methods that return a {@code Mono} or {@code Flux} are limited when they are subscribed. */
final class RateLimitAdvisor extends StaticMethodMatcherPointcutAdvisor {
    private static final long serialVersionUID = 1L;

    RateLimitAdvisor(Supplier<Weir> weir, Supplier<RateLimits> limits, Supplier<Checks> checks) {
        setAdvice(new Interceptor(weir, limits, checks));
        // Before @Reserve.
        setOrder(Ordered.LOWEST_PRECEDENCE - 1);
    }

    @Override
    public boolean matches(Method method, Class<?> type) {
        return !RateLimits.isHandler(type, method) && !RateLimits.annotations(type, method).isEmpty();
    }

    private record Interceptor(Supplier<Weir> weir, Supplier<RateLimits> limits, Supplier<Checks> checks) implements MethodInterceptor {
        private record Taken(RateLimit annotation, CheckRequest request, Answer answer, Leases leases) {}

        @Override
        public @Nullable Object invoke(MethodInvocation call) throws Throwable {
            Class<?> returned = call.getMethod().getReturnType();
            if (Reactive.isReactive(returned)) return Reactive.limited(returned, () -> Parameters.again(call).proceed(), () -> admit(call), this::end);
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

        private Deque<Taken> admit(MethodInvocation call) {
            Class<?> type = Parameters.type(call);
            Method method = AopUtils.getMostSpecificMethod(call.getMethod(), type);
            Map<String, @Nullable Object> variables = Parameters.values(method, call.getArguments());
            Deque<Taken> taken = new ArrayDeque<>();
            try {
                for (RateLimits.OfMethod limit : limits.get().of(type, method)) take(limit, variables, taken);
            } catch (RuntimeException failure) {
                taken.forEach(one -> one.leases.release());
                throw failure;
            }
            return taken;
        }

        private void take(RateLimits.OfMethod limit, Map<String, @Nullable Object> variables, Deque<Taken> taken) {
            CheckRequest request = limit.limit().request(variables);
            Answer answer = checks.get().answer(request.namespace(), limit.limit().onError(), () -> weir.get().check(request));
            taken.add(new Taken(limit.annotation(), request, answer, new Leases(weir.get().async(), answer)));
            Checks.admit(answer);
        }

        private void end(Deque<Taken> taken, @Nullable Throwable failure) {
            for (Taken one : taken) {
                one.leases.release();
                boolean refunds = failure != null && one.answer.degraded() == null
                        && List.of(one.annotation.refundOn()).stream().anyMatch(type -> type.isInstance(failure));
                if (refunds) weir.get().async().refund(one.request, one.answer.charge());
            }
        }
    }
}
