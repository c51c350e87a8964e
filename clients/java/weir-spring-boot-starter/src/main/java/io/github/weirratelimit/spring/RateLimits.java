package io.github.weirratelimit.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.stereotype.Controller;
import org.springframework.util.ClassUtils;

/** The annotations of all beans, which are compiled at the start of the application. */
final class RateLimits implements SmartInitializingSingleton {
    /** What expressions of controllers know. */
    static final Set<String> OF_REQUESTS = new TreeSet<>(Set.of("principal", "ip", "route", "method", "path", "query", "headers"));
    private static final String MAPPING = "org.springframework.web.bind.annotation.RequestMapping";

    private final ConfigurableListableBeanFactory beans;
    private final String namespace;
    private final Reservations reservations;
    private final Map<Place, List<OfMethod>> compiled = new ConcurrentHashMap<>();

    private record Place(Class<?> type, Method method) {}

    /** An annotation, compiled. */
    record OfMethod(RateLimit annotation, CompiledLimit limit) {}

    RateLimits(ConfigurableListableBeanFactory beans, String namespace, Reservations reservations) {
        this.beans = beans;
        this.namespace = namespace;
        this.reservations = reservations;
    }

    @Override
    public void afterSingletonsInstantiated() {
        for (String name : beans.getBeanDefinitionNames()) {
            Class<?> type = AutoProxyUtils.determineTargetClass(beans, name);
            if (type == null || !AnnotationUtils.isCandidateClass(type, List.of(RateLimit.class, Reserve.class))) continue;
            Class<?> user = ClassUtils.getUserClass(type);
            for (Method method : MethodIntrospector.selectMethods(user, (Method one) -> Reservations.annotation(user, one) != null)) {
                reservations.check(user, method);
            }
            for (Method method : MethodIntrospector.selectMethods(user, (Method one) -> !annotations(user, one).isEmpty())) {
                check(user, method, of(user, method));
            }
        }
    }

    private static void check(Class<?> type, Method method, List<OfMethod> limits) {
        String place = "@RateLimit on " + type.getName() + "." + method.getName() + ": ";
        boolean handler = isHandler(type, method);
        if (!handler) checkIntercepted(type, method, place);
        if (handler && limits.stream().anyMatch(limit -> limit.annotation().refundOn().length > 0)) {
            throw new ExpressionException(place + "refundOn is for methods that are no handlers; use RequestLimit.refundWhen", null);
        }
    }

    static void checkIntercepted(Class<?> type, Method method, String place) {
        int fixed = Modifier.FINAL | Modifier.PRIVATE | Modifier.STATIC;
        if ((method.getModifiers() & fixed) != 0 || Modifier.isFinal(type.getModifiers())) {
            throw new ExpressionException(place + "Spring cannot intercept it, because it is private, static or final", null);
        }
    }

    /** The limits of a method; none if it is exempt. */
    List<OfMethod> of(Class<?> type, Method method) {
        return compiled.computeIfAbsent(new Place(type, method), place -> annotations(type, method).stream()
                .map(one -> new OfMethod(one, CompiledLimit.of(one, method, known(type, method), namespace, beans))).toList());
    }

    /** The annotations of the method, or else of its class. */
    static List<RateLimit> annotations(Class<?> type, Method called) {
        Method method = AopUtils.getMostSpecificMethod(called, type);
        if (isExempt(type, method)) return List.of();
        Set<RateLimit> own = AnnotatedElementUtils.findMergedRepeatableAnnotations(method, RateLimit.class, RateLimit.All.class);
        if (!own.isEmpty()) return List.copyOf(own);
        boolean covered = Modifier.isPublic(method.getModifiers()) && method.getDeclaringClass() != Object.class && !method.isSynthetic();
        if (!covered || isController(type) && !isMapped(method)) return List.of();
        return List.copyOf(AnnotatedElementUtils.findMergedRepeatableAnnotations(type, RateLimit.class, RateLimit.All.class));
    }

    static boolean isExempt(Class<?> type, Method method) {
        return AnnotatedElementUtils.hasAnnotation(method, SkipRateLimit.class) || AnnotatedElementUtils.hasAnnotation(type, SkipRateLimit.class);
    }

    /** Whether requests are limited before this method, and not its calls. */
    static boolean isHandler(Class<?> type, Method method) {
        return isController(type) && isMapped(AopUtils.getMostSpecificMethod(method, type));
    }

    private static boolean isController(Class<?> type) {
        return AnnotatedElementUtils.hasAnnotation(type, Controller.class);
    }

    private static boolean isMapped(Method method) {
        return AnnotatedElementUtils.isAnnotated(method, MAPPING);
    }

    private Set<String> known(Class<?> type, Method method) {
        return isHandler(type, method) ? OF_REQUESTS : Set.of(Parameters.names(method));
    }
}
