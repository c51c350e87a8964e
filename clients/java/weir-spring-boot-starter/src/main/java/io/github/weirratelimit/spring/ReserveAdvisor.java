package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.Reservation;
import io.github.weirratelimit.Weir;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.core.Ordered;

/** Reserves before the methods with {@link Reserve}, and commits or cancels after them. */
final class ReserveAdvisor extends StaticMethodMatcherPointcutAdvisor {
    private static final long serialVersionUID = 1L;
    private static final Log LOG = LogFactory.getLog(Reserve.class);

    ReserveAdvisor(Supplier<Weir> weir, Supplier<Reservations> reservations, Supplier<Checks> checks) {
        setAdvice(new Interceptor(weir, reservations, checks));
        setOrder(Ordered.LOWEST_PRECEDENCE);
    }

    @Override
    public boolean matches(Method method, Class<?> type) {
        return Reservations.annotation(type, method) != null;
    }

    /** A call of a method, for which units are held. */
    private record Held(
            Reservations.OfMethod annotation, Map<String, @Nullable Object> variables, Reservation reservation, long estimate, AtomicBoolean settled) {
        void returned(@Nullable Object result) {
            variables.put("result", result);
            long actual;
            try {
                actual = annotation.actual(variables);
            } catch (ExpressionException wrong) {
                commit(estimate);
                throw wrong;
            }
            commit(actual);
        }

        void failed() {
            commit(0);
        }

        /** The work can have been done. */
        void cancelled() {
            commit(estimate);
        }

        /** Does not wait. Later calls have no effect. */
        private void commit(long cost) {
            if (!settled.compareAndSet(false, true)) return;
            reservation.commitAsync(cost).whenComplete((committed, failure) -> {
                if (failure != null) LOG.warn("no gate confirmed the commit of " + cost + " in " + annotation.limit().namespace(), failure);
            });
        }
    }

    private record Interceptor(Supplier<Weir> weir, Supplier<Reservations> reservations, Supplier<Checks> checks) implements MethodInterceptor {
        @Override
        public @Nullable Object invoke(MethodInvocation call) throws Throwable {
            if (Reactive.isReactive(call.getMethod().getReturnType())) {
                return Reactive.reserved(() -> Parameters.again(call).proceed(), () -> reserve(call), Held::returned, Held::failed, Held::cancelled);
            }
            Held held = reserve(call);
            Object result;
            try {
                result = call.proceed();
            } catch (Throwable failure) {
                held.failed();
                throw failure;
            }
            if (result instanceof CompletionStage<?> later) return later.whenComplete((value, failure) -> end(held, value, failure));
            held.returned(result);
            return result;
        }

        private static void end(Held held, @Nullable Object value, @Nullable Throwable failure) {
            if (failure == null) held.returned(value);
            else held.failed();
        }

        private Held reserve(MethodInvocation call) {
            Class<?> type = Parameters.type(call);
            Method method = AopUtils.getMostSpecificMethod(call.getMethod(), type);
            Reservations.OfMethod annotation = reservations.get().of(type, method);
            Map<String, @Nullable Object> variables = Parameters.values(method, call.getArguments());
            CheckRequest request = annotation.request(variables);
            AtomicReference<Reservation> made = new AtomicReference<>();
            Answer answer = checks.get().answer(request.namespace(), annotation.limit().onError(), () -> {
                made.set(weir.get().reserve(request, annotation.options()));
                return made.get().getAnswer();
            });
            Held held = new Held(annotation, variables, made.get(), Objects.requireNonNull(request.cost()), new AtomicBoolean());
            try {
                Checks.admit(answer);
            } catch (RuntimeException failure) {
                held.failed();
                throw failure;
            }
            return held;
        }
    }
}
