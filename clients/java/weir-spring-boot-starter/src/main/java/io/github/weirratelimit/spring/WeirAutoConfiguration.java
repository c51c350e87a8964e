package io.github.weirratelimit.spring;

import io.github.weirratelimit.Choice;
import io.github.weirratelimit.OnError;
import io.github.weirratelimit.Weir;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.web.reactive.HandlerMapping;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** Provides the client, and limits requests and methods, unless {@code weir.enabled} is false. */
@AutoConfiguration
@ConditionalOnProperty(name = "weir.enabled", matchIfMissing = true)
@EnableConfigurationProperties(WeirProperties.class)
@Import(WeirAutoConfiguration.Proxies.class)
class WeirAutoConfiguration {
    @Bean
    @ConditionalOnMissingBean
    Weir weir(WeirProperties properties) {
        Choice onError = needed("weir.on-error: choose allow or deny", properties.onError());
        String url = needed("weir.gate-url: the address of a gate is needed", properties.gateUrl());
        String key = needed("weir.key: an API key is needed", properties.key());
        try {
            return Weir.builder(url, key, onError == Choice.ALLOW ? OnError.ALLOW : OnError.DENY)
                    .timeout(properties.timeout()).retry(properties.retry()).maxInFlight(properties.maxInFlight())
                    .maxWaiting(properties.maxWaiting()).cacheSize(properties.cacheSize()).build();
        } catch (IllegalArgumentException wrong) {
            String property = String.valueOf(wrong.getMessage());
            throw new IllegalStateException("weir." + (property.startsWith("url") ? "gate-" : "") + property, wrong);
        }
    }

    private static <T> T needed(String message, @Nullable T value) {
        if (value == null) throw new IllegalStateException(message);
        return value;
    }

    @Bean
    Reservations weirReservations(BeanFactory beans, WeirProperties properties) {
        return new Reservations(beans, properties.namespace());
    }

    @Bean
    RateLimits rateLimits(ConfigurableListableBeanFactory beans, WeirProperties properties, Reservations reservations) {
        return new RateLimits(beans, properties.namespace(), reservations);
    }

    @Bean
    Checks weirChecks(ObjectProvider<ObservationRegistry> observations, ObjectProvider<DecisionListener> listeners) {
        List<DecisionListener> all = listeners.orderedStream().toList();
        return new Checks(
                observations.getIfAvailable(() -> ObservationRegistry.NOOP), (namespace, answer, time) -> all.forEach(one -> one.decided(namespace, answer, time)));
    }

    @Bean
    HandlerLimits handlerLimits(
            RateLimits annotations, ObjectProvider<RequestLimit> beans, Checks checks, WeirProperties properties, BeanFactory factory) {
        List<RequestLimit> limits = Stream.concat(PathFilter.of(properties, factory).stream(), beans.orderedStream()).toList();
        return new HandlerLimits(annotations, limits, checks);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static RateLimitAdvisor rateLimitAdvisor(ObjectProvider<Weir> weir, ObjectProvider<RateLimits> limits, ObjectProvider<Checks> checks) {
        return new RateLimitAdvisor(weir::getObject, limits::getObject, checks::getObject);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static ReserveAdvisor reserveAdvisor(ObjectProvider<Weir> weir, ObjectProvider<Reservations> reservations, ObjectProvider<Checks> checks) {
        return new ReserveAdvisor(weir::getObject, reservations::getObject, checks::getObject);
    }

    /** Spring's own proxies, once, whoever else needs them. */
    static final class Proxies implements ImportBeanDefinitionRegistrar {
        @Override
        public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
            AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
            AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    @ConditionalOnClass(WebMvcConfigurer.class)
    static class Mvc {
        @Bean
        FilterRegistrationBean<WeirMvc> weirMvc(Weir weir, HandlerLimits limits, WeirProperties properties) {
            FilterRegistrationBean<WeirMvc> filter = new FilterRegistrationBean<>(new WeirMvc(weir, limits, properties.clientAddress().read()));
            filter.setOrder(Ordered.HIGHEST_PRECEDENCE + 100);
            filter.setAsyncSupported(true);
            return filter;
        }

        @Bean
        WebMvcConfigurer weirMvcConfigurer(FilterRegistrationBean<WeirMvc> filter) {
            return new WebMvcConfigurer() {
                @Override
                public void addInterceptors(InterceptorRegistry registry) {
                    registry.addInterceptor(java.util.Objects.requireNonNull(filter.getFilter())).order(Ordered.LOWEST_PRECEDENCE - 100);
                }
            };
        }

        @Bean
        RateLimitAdvice rateLimitAdvice() {
            return new RateLimitAdvice();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
    static class Flux {
        @Bean
        @Order(Ordered.LOWEST_PRECEDENCE - 100)
        WeirWebFilter weirWebFilter(Weir weir, HandlerLimits limits, WeirProperties properties, ObjectProvider<HandlerMapping> mappings) {
            return new WeirWebFilter(weir, limits, properties.clientAddress().read(), () -> mappings.orderedStream().iterator());
        }

        @Bean
        RateLimitAdvice rateLimitAdvice() {
            return new RateLimitAdvice();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterRegistry.class)
    static class Metrics {
        /** The timer where no registry observes; otherwise the observation makes it. */
        @Bean
        DecisionListener weirMetrics(ObjectProvider<MeterRegistry> registries, ObjectProvider<ObservationRegistry> observations) {
            if (!observations.getIfAvailable(() -> ObservationRegistry.NOOP).isNoop()) return (namespace, answer, time) -> {};
            return (namespace, answer, time) -> registries.ifAvailable(registry -> {
                String outcome = answer.allowed() ? "allowed" : "denied";
                registry.timer("weir.check", "namespace", namespace, "outcome", outcome, "degraded", Checks.degraded(answer)).record(time);
            });
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(HealthIndicator.class)
    @ConditionalOnProperty("weir.gate-url")
    static class Health {
        @Bean
        @ConditionalOnMissingBean(name = "weirHealthIndicator")
        WeirHealthIndicator weirHealthIndicator(WeirProperties properties) {
            return new WeirHealthIndicator(gateHealth(properties));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
    @ConditionalOnProperty("weir.gate-url")
    static class Health4 {
        @Bean
        @ConditionalOnMissingBean(name = "weirHealthIndicator")
        WeirHealthIndicator4 weirHealthIndicator(WeirProperties properties) {
            return new WeirHealthIndicator4(gateHealth(properties));
        }
    }

    private static GateHealth gateHealth(WeirProperties properties) {
        return new GateHealth(String.valueOf(properties.gateUrl()), properties.onError() == null ? Choice.DENY : properties.onError());
    }
}
