package io.github.weirratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.weirratelimit.MemoryGate;
import java.io.InputStream;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** The limit of {@code weir.filter}. */
class FilterTest {
    @RestController
    static class Api {
        @GetMapping({"/movies/{id}", "/movies/health", "/actors/{id}"})
        String get() {
            return "found";
        }

        @SkipRateLimit
        @GetMapping("/movies/free")
        String free() {
            return "free";
        }

        @RateLimit(value = "own", attributes = "ip=#ip")
        @GetMapping("/movies/own")
        String own() {
            return "own";
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({MockWeir.Gate.class, Api.class})
    static class Application {}

    @ParameterizedTest
    @EnumSource(value = WebApplicationType.class, names = {"SERVLET", "REACTIVE"})
    void limitsPathsByConfiguration(WebApplicationType type) throws Exception {
        String[] properties = {
            "server.servlet.context-path=/shop", "spring.webflux.base-path=/shop", "weir.filter.paths=/movies/**", "weir.filter.exclude=/movies/health",
            "weir.filter.namespace=api", "weir.filter.attributes.ip=#ip", "weir.filter.attributes.route=#route", "weir.filter.attributes.kind=web",
            "weir.filter.cost=2"
        };
        try (ConfigurableApplicationContext context = AnnotationTest.started(Application.class, type, properties)) {
            MemoryGate gate = context.getBean(MemoryGate.class);
            for (String path : List.of("/movies/health", "/movies/free", "/actors/7")) assertThat(AnnotationTest.get(context, "/shop" + path).statusCode()).isEqualTo(200);
            assertThat(gate.received()).isEmpty();
            for (String path : List.of("/movies/7", "/m%6Fvies/7", "/movies;a=b/7")) {
                assertThat(AnnotationTest.get(context, "/shop" + path).body()).as(path).isEqualTo("found");
            }
            assertThat(gate.received()).hasSize(3).allSatisfy(one -> {
                assertThat(one.namespace() + " " + one.cost()).isEqualTo("api 2");
                assertThat(one.attributes()).isEqualTo(Map.of("ip", "127.0.0.1", "route", "/movies/{id}", "kind", "web"));
            });
            AnnotationTest.get(context, "/shop/movies/own");
            assertThat(gate.received().subList(3, 5)).extracting(MemoryGate.Received::namespace).containsExactly("api", "own");
            gate.deny("api", Map.of(), Duration.ofSeconds(9));
            assertThat(AnnotationTest.get(context, "/shop/movies/7").statusCode()).isEqualTo(429);
            assertThat(AnnotationTest.get(context, "/shop/actors/7").statusCode()).isEqualTo(200);
        }
    }

    @Test
    void wrongPropertiesStopTheStart() {
        ApplicationContextRunner runner =
                new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(WeirAutoConfiguration.class)).withUserConfiguration(MockWeir.Gate.class);
        String paths = "weir.filter.paths=/api/**";
        String namespace = "weir.filter.namespace=api";
        String attribute = "weir.filter.attributes.ip=#ip";
        Map<String, List<String>> wrong = Map.of(
                "weir.filter.paths: a pattern is needed", List.of(namespace, attribute),
                "weir.filter.paths: \"api\" does not begin", List.of("weir.filter.paths=api", namespace, attribute),
                "weir.filter.paths: \"/{a\"", List.of("weir.filter.paths=/{a", namespace, attribute),
                "weir.filter.exclude: \"/**/a/**\"", List.of(paths, namespace, attribute, "weir.filter.exclude=/**/a/**"),
                "weir.filter.namespace: a namespace is needed", List.of(paths, attribute),
                "weir.filter.attributes: what rules count by", List.of(paths, namespace),
                "weir.filter.attributes.ip: #ipp: #ipp is not known", List.of(paths, namespace, "weir.filter.attributes.ip=#ipp"),
                "weir.filter.attributes.ip: #ip.", List.of(paths, namespace, "weir.filter.attributes.ip=#ip."),
                "weir.filter.cost: \"many\" is no whole number", List.of(paths, namespace, attribute, "weir.filter.cost=many"),
                "weir.filter.on-error", List.of(paths, namespace, attribute, "weir.filter.on-error=maybe"));
        wrong.forEach((message, properties) -> runner.withPropertyValues(properties.toArray(String[]::new))
                .run(context -> assertThat(context.getStartupFailure()).as(message).isNotNull().hasStackTraceContaining(message)));
    }

    @Test
    void developmentEnvironmentsKnowTheProperties() throws Exception {
        StringBuilder all = new StringBuilder();
        for (var file : Collections.list(getClass().getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
            try (InputStream open = file.openStream()) {
                all.append(new String(open.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8));
            }
        }
        for (String name : List.of("gate-url", "on-error", "filter.paths", "filter.exclude", "filter.namespace", "filter.attributes", "filter.cost", "filter.on-error")) {
            assertThat(all).contains("\"weir." + name + "\"");
        }
    }
}
