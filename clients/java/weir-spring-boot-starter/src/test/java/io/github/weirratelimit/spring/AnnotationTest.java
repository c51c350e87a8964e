package io.github.weirratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.MemoryGate;
import io.github.weirratelimit.Weir;
import io.github.weirratelimit.WeirException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Annotations, properties and interceptors. */
class AnnotationTest {
    private final ApplicationContextRunner runner =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(WeirAutoConfiguration.class)).withUserConfiguration(MockWeir.Gate.class);

    record Export(String user, Object rows) {}

    static class Exports {
        @RateLimit(value = "export", attributes = {"user=#request.user", "kind=csv"}, cost = "#request.rows", refundOn = IllegalStateException.class)
        public String export(Export request) {
            if (request.user().equals("broken")) throw new IllegalStateException("no disk");
            return "done";
        }

        @RateLimit(namespace = "later", attributes = "user=#user")
        public Mono<String> later(String user) {
            return Mono.just(user);
        }

        @RateLimit(value = "tags", attributes = "tags=#tags")
        public void tagged(Object tags) {}

        @RateLimit(value = "first", attributes = "user=#user")
        @RateLimit(value = "second", attributes = "user=#user", onError = RateLimit.OnError.ALLOW)
        public void twice(String user) {}
    }

    private static List<String> namespaces(MemoryGate gate) {
        return gate.received().stream().map(one -> one.path() + " " + one.namespace() + " " + one.cost()).toList();
    }

    @Test
    void limitsMethodsOfBeans() {
        runner.withBean(Exports.class).run(context -> {
            Exports exports = context.getBean(Exports.class);
            MemoryGate gate = context.getBean(MemoryGate.class);
            assertThat(exports.export(new Export("ann", 7))).isEqualTo("done");
            assertThat(gate.received().get(0).attributes()).isEqualTo(Map.of("user", "ann", "kind", "csv"));
            assertThatThrownBy(() -> exports.export(new Export("broken", 2))).hasMessage("no disk");
            assertThat(namespaces(gate)).containsExactly("/check export 7", "/check export 2", "/refund export 2");
            gate.deny("export", Map.of("user", "eve"), Duration.ofSeconds(5));
            assertThatThrownBy(() -> exports.export(new Export("eve", 1)))
                    .isInstanceOfSatisfying(RateLimitExceededException.class, refused -> {
                        assertThat(refused.getAnswer().retryAfterMs()).isEqualTo(5000);
                        assertThat(refused.getStatus()).isEqualTo(429);
                    });
        });
    }

    @Test
    void namesAnnotationAndMethodIfAValueCannotBeCountedBy() {
        runner.withBean(Exports.class).run(context -> {
            Exports exports = context.getBean(Exports.class);
            for (Export wrong : List.of(new Export(null, 1), new Export("ann", List.of(1)), new Export("ann", -1), new Export("ann", 1.5))) {
                assertThatThrownBy(() -> exports.export(wrong)).isInstanceOf(ExpressionException.class)
                        .hasMessageContaining("@RateLimit(\"export\")").hasMessageContaining("Exports.export");
            }
            for (Object tags : new Object[] {List.of("a"), new String[] {"a"}, Map.of("a", 1), null}) {
                assertThatThrownBy(() -> exports.tagged(tags)).isInstanceOf(ExpressionException.class)
                        .hasMessageContaining("@RateLimit(\"tags\")").hasMessageContaining("Exports.tagged: attribute tags = #tags is");
            }
            assertThatThrownBy(() -> exports.export(null)).isInstanceOf(ExpressionException.class).hasMessageContaining("#request.user");
            assertThat(context.getBean(MemoryGate.class).received()).isEmpty();
        });
    }

    @Test
    void asksSeveralLimitsInOrderAndReactiveMethodsOnSubscription() {
        runner.withBean(Exports.class).run(context -> {
            Exports exports = context.getBean(Exports.class);
            MemoryGate gate = context.getBean(MemoryGate.class);
            exports.twice("ann");
            assertThat(namespaces(gate)).containsExactly("/check first 1", "/check second 1");
            Mono<String> later = exports.later("ann");
            assertThat(gate.received()).hasSize(2);
            StepVerifier.create(later).expectNext("ann").verifyComplete();
            gate.deny("later", Map.of(), null);
            StepVerifier.create(later).verifyError(RateLimitExceededException.class);
            gate.fail(WeirException.Kind.CONNECTION);
            assertThatThrownBy(() -> exports.twice("ann"))
                    .isInstanceOfSatisfying(RateLimitExceededException.class, refused -> assertThat(refused.getStatus()).isEqualTo(503));
        });
    }

    static class Unparsable {
        @RateLimit(value = "a", attributes = "user=#user.")
        public void call(String user) {}
    }

    static class Unknown {
        @RateLimit(value = "a", attributes = "user=#usr.name")
        public void call(String user) {}
    }

    static class WithoutName {
        @RateLimit(value = "a", attributes = "#user")
        public void call(String user) {}
    }

    static class WithoutNamespace {
        @RateLimit(attributes = "user=#user")
        public void call(String user) {}
    }

    static class WrongCost {
        @RateLimit(value = "a", attributes = "user=#user", cost = "many")
        public void call(String user) {}
    }

    static class Fixed {
        @RateLimit(value = "a", attributes = "user=#user")
        public final void call(String user) {}
    }

    @Test
    void wrongAnnotationsStopTheStart() {
        for (Class<?> wrong : List.of(Unparsable.class, Unknown.class, WithoutName.class, WithoutNamespace.class, WrongCost.class, Fixed.class)) {
            runner.withBean(wrong).run(context -> assertThat(context.getStartupFailure()).as(wrong.getName())
                    .isInstanceOf(ExpressionException.class).hasMessageContaining(wrong.getName() + ".call"));
        }
    }

    @Test
    void wrongPropertiesStopTheStart() {
        ApplicationContextRunner real = new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(WeirAutoConfiguration.class))
                // WEIR_KEY and WEIR_GATE_URL are properties too.
                .withInitializer(context -> context.getEnvironment().getPropertySources().remove("systemEnvironment"));
        Map<String, String[]> wrong = Map.of(
                "weir.gate-url", new String[] {"weir.key=k", "weir.on-error=deny"},
                "weir.key", new String[] {"weir.gate-url=http://gate", "weir.on-error=deny"},
                "weir.on-error", new String[] {"weir.gate-url=http://gate", "weir.key=k"},
                "weir.gate-url: an http", new String[] {"weir.gate-url=gate:8081", "weir.key=k", "weir.on-error=allow"},
                "weir.timeout", new String[] {"weir.gate-url=http://gate", "weir.key=k", "weir.on-error=allow", "weir.timeout=0ms"});
        wrong.forEach((message, properties) -> real.withPropertyValues(properties)
                .run(context -> assertThat(context.getStartupFailure()).as(message).isNotNull().hasStackTraceContaining(message)));
        real.withPropertyValues("weir.enabled=false").withBean(Exports.class).run(context -> {
            assertThat(context).hasNotFailed().doesNotHaveBean(Weir.class);
            assertThat(context.getBean(Exports.class).export(new Export("ann", List.of()))).isEqualTo("done");
        });
    }

    @RestController
    static class Api {
        @RateLimit(value = "api", attributes = {"ip=#ip", "route=#route", "id=#path['id']", "key=#headers['x-api-key']"})
        @GetMapping("/movies/{id}")
        String movie() {
            return "movie";
        }

        @SkipRateLimit
        @GetMapping("/healthz")
        String health() {
            return "ok";
        }
    }

    @ControllerAdvice
    static class OwnAdvice {
        @ExceptionHandler
        ResponseEntity<String> refused(RateLimitExceededException refused) {
            return ResponseEntity.status(HttpStatus.I_AM_A_TEAPOT).body("slowly");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({MockWeir.Gate.class, Api.class, Exports.class})
    static class Application {
        @Bean
        MeterRegistry registry() {
            return new SimpleMeterRegistry();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @Import({Application.class, OwnAdvice.class})
    static class WithOwnAdvice {}

    static ConfigurableApplicationContext started(Class<?> application, WebApplicationType type, String... properties) {
        return new SpringApplicationBuilder(application).web(type)
                .properties("server.port=0", "spring.main.banner-mode=off", "logging.level.root=off").properties(properties).run();
    }

    static HttpResponse<String> get(ConfigurableApplicationContext context, String path) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port") + path);
        HttpRequest request = HttpRequest.newBuilder(uri).header("X-Api-Key", "k1").header("X-Forwarded-For", "10.0.0.1").build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    }

    @ParameterizedTest
    @EnumSource(value = WebApplicationType.class, names = {"SERVLET", "REACTIVE"})
    void limitsHandlers(WebApplicationType type) throws Exception {
        try (ConfigurableApplicationContext context = started(Application.class, type)) {
            MemoryGate gate = context.getBean(MemoryGate.class);
            assertThat(get(context, "/movies/7").body()).isEqualTo("movie");
            assertThat(gate.received().get(0).attributes()).isEqualTo(Map.of("ip", "127.0.0.1", "route", "/movies/{id}", "id", "7", "key", "k1"));
            assertThat(get(context, "/healthz").statusCode()).isEqualTo(200);
            context.getBean(Exports.class).export(new Export("ann", 7));
            assertThat(namespaces(gate)).containsExactly("/check api 1", "/check export 7");
            gate.deny("api", Map.of("id", "8"), Duration.ofSeconds(9));
            HttpResponse<String> refused = get(context, "/movies/8");
            assertThat(refused.statusCode()).isEqualTo(429);
            assertThat(refused.headers().firstValue("content-type")).hasValue("application/problem+json");
            assertThat(refused.headers().firstValue("retry-after")).hasValue("9");
            assertThat(refused.body()).contains("\"code\":\"rate_limited\"").contains("\"retry_after_ms\":9000");
            assertThat(context.getBean(MeterRegistry.class).get("weir.check").tag("outcome", "denied").timer().count()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(value = WebApplicationType.class, names = {"SERVLET", "REACTIVE"})
    void requestWithoutAnAttributeIsNotHandled(WebApplicationType type) throws Exception {
        try (ConfigurableApplicationContext context = started(Application.class, type)) {
            URI uri = URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port") + "/movies/7");
            HttpRequest withoutKey = HttpRequest.newBuilder(uri).build();
            HttpResponse<String> response = HttpClient.newHttpClient().send(withoutKey, HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).isEqualTo(500);
            assertThat(context.getBean(MemoryGate.class).received()).isEmpty();
        }
    }

    @Test
    void anotherAdviceMakesTheResponse() throws Exception {
        try (ConfigurableApplicationContext context = started(WithOwnAdvice.class, WebApplicationType.SERVLET)) {
            context.getBean(MemoryGate.class).deny("api", Map.of(), null);
            assertThat(get(context, "/movies/8").body()).isEqualTo("slowly");
        }
    }

    @Test
    void outboundRequestsWaitForTheirBudget() {
        try (ConfigurableApplicationContext context = started(Application.class, WebApplicationType.SERVLET)) {
            MemoryGate gate = context.getBean(MemoryGate.class);
            BudgetInterceptor budget = new BudgetInterceptor(
                    gate.client(), host -> CheckRequest.of("outbound", Map.of("provider", host)), Duration.ofMillis(1));
            String url = "http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port") + "/healthz";
            RestClient rest = RestClient.builder().requestInterceptor(budget).build();
            WebClient web = WebClient.builder().filter(budget.forWebClient()).build();
            assertThat(rest.get().uri(url).retrieve().body(String.class)).isEqualTo("ok");
            assertThat(web.get().uri(url).retrieve().bodyToMono(String.class).block()).isEqualTo("ok");
            assertThat(gate.received()).extracting(MemoryGate.Received::attributes).containsOnly(Map.of("provider", "127.0.0.1"));
            gate.deny("outbound", Map.of(), Duration.ofMinutes(1));
            assertThatThrownBy(() -> rest.get().uri(url).retrieve().body(String.class)).isInstanceOf(RateLimitExceededException.class);
            assertThatThrownBy(() -> web.get().uri(url).retrieve().bodyToMono(String.class).block()).isInstanceOf(RateLimitExceededException.class);
        }
    }
}
