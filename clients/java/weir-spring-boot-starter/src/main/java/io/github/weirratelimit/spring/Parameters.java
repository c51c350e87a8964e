package io.github.weirratelimit.spring;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.DefaultParameterNameDiscoverer;

/** Calls of methods, and their parameters as expressions know them. */
final class Parameters {
    private static final DefaultParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();

    private Parameters() {}

    static String[] names(Method method) {
        String @Nullable [] found = NAMES.getParameterNames(method);
        return found == null ? new String[0] : found;
    }

    static Map<String, @Nullable Object> values(Method method, @Nullable Object[] arguments) {
        Map<String, @Nullable Object> found = new LinkedHashMap<>();
        String[] names = names(method);
        for (int at = 0; at < names.length; at += 1) found.put(names[at], arguments[at]);
        return found;
    }

    /** The same call, for a publisher that can be subscribed several times. */
    static MethodInvocation again(MethodInvocation call) {
        return call instanceof ProxyMethodInvocation repeatable ? repeatable.invocableClone() : call;
    }

    /** The class of the bean, whose proxy is called. */
    static Class<?> type(MethodInvocation call) {
        return call.getThis() == null ? call.getMethod().getDeclaringClass() : AopUtils.getTargetClass(call.getThis());
    }
}
