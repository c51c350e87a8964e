package io.github.weirratelimit.spring;

import static io.github.weirratelimit.Support.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.weirratelimit.MemoryGate;
import io.github.weirratelimit.WeirException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Subscription;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Reservations around methods. */
class ReserveTest {
    private final ApplicationContextRunner runner =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(WeirAutoConfiguration.class)).withUserConfiguration(MockWeir.Gate.class);

    record Completion(String text, Object tokens) {}

    static class Models {
        private final AtomicInteger calls = new AtomicInteger();

        public int calls() {
            return calls.get();
        }

        @Reserve(value = "llm", attributes = "user=#user", estimate = "#prompt.length()", actual = "#result.tokens", ttl = "2m")
        public Completion complete(String user, String prompt) {
            calls.incrementAndGet();
            if (prompt.equals("broken")) throw new IllegalStateException("no model");
            return new Completion(prompt, prompt.equals("null") ? null : 3);
        }

        @Reserve(namespace = "llm", attributes = "user=#user", estimate = "9", actual = "#result.tokens")
        public Mono<Completion> later(String user) {
            calls.incrementAndGet();
            return switch (user) {
                case "broken" -> Mono.error(new IllegalStateException("no model"));
                case "endless" -> Mono.never();
                case "null" -> Mono.just(new Completion(user, null));
                default -> Mono.just(new Completion(user, 4));
            };
        }

        @Reserve(namespace = "llm", attributes = "user=#user", estimate = "9", actual = "#result.tokens")
        public CompletableFuture<Completion> promised(String user) {
            if (user.equals("broken")) return CompletableFuture.failedFuture(new IllegalStateException("no model"));
            return CompletableFuture.completedFuture(new Completion(user, 5));
        }

        @RateLimit(value = "calls", attributes = "user=#user")
        @Reserve(namespace = "llm", attributes = "user=#user", estimate = "9", actual = "#result", onError = RateLimit.OnError.ALLOW)
        public int both(String user) {
            return 2;
        }
    }

    private static List<String> calls(MemoryGate gate) {
        return gate.received().stream().map(one -> one.path() + " " + one.namespace() + " " + one.cost()).toList();
    }

    @Test
    void reservesTheEstimateAndChargesWhatWasUsed() {
        runner.withBean(Models.class).run(context -> {
            Models models = context.getBean(Models.class);
            MemoryGate gate = context.getBean(MemoryGate.class);
            assertThat(models.complete("ann", "prompt").text()).isEqualTo("prompt");
            assertThat(gate.received().get(0).attributes()).isEqualTo(Map.of("user", "ann"));
            assertThatThrownBy(() -> models.complete("ann", "broken")).hasMessage("no model");
            assertThat(models.promised("ann").join().tokens()).isEqualTo(5);
            assertThatThrownBy(() -> models.promised("broken").join()).hasRootCauseMessage("no model");
            assertThat(calls(gate)).containsExactly(
                    "/reserve llm 6", "/commit llm 3", "/reserve llm 6", "/commit llm 0", "/reserve llm 9", "/commit llm 5", "/reserve llm 9", "/commit llm 0");
        });
    }

    @Test
    void reservesOnEachSubscription() {
        runner.withBean(Models.class).run(context -> {
            Models models = context.getBean(Models.class);
            MemoryGate gate = context.getBean(MemoryGate.class);
            Mono<Completion> later = models.later("ann");
            assertThat(gate.received()).isEmpty();
            for (int nth = 0; nth < 2; nth += 1) StepVerifier.create(later).expectNextCount(1).verifyComplete();
            StepVerifier.create(models.later("broken")).verifyErrorMessage("no model");
            StepVerifier.create(models.later("null")).verifyError(ExpressionException.class);
            assertThat(calls(gate)).containsExactly(
                    "/reserve llm 9", "/commit llm 4", "/reserve llm 9", "/commit llm 4", "/reserve llm 9", "/commit llm 0", "/reserve llm 9", "/commit llm 9");
        });
    }

    @Test
    void cancelledSubscriptionChargesWhatWasReserved() {
        runner.withBean(Models.class).run(context -> {
            Models models = context.getBean(Models.class);
            MemoryGate gate = context.getBean(MemoryGate.class);
            Disposable endless = models.later("endless").subscribe();
            until(() -> models.calls() == 1);
            endless.dispose();
            until(() -> calls(gate).equals(List.of("/reserve llm 9", "/commit llm 9")));
        });
    }

    @Test
    void methodIsNotCalledIfTheUnitsAreMissing() {
        runner.withBean(Models.class).run(context -> {
            Models models = context.getBean(Models.class);
            MemoryGate gate = context.getBean(MemoryGate.class);
            gate.deny("llm", Map.of("user", "eve"), Duration.ofSeconds(5));
            assertThatThrownBy(() -> models.complete("eve", "prompt"))
                    .isInstanceOfSatisfying(RateLimitExceededException.class, refused -> assertThat(refused.getAnswer().retryAfterMs()).isEqualTo(5000));
            StepVerifier.create(models.later("eve")).verifyError(RateLimitExceededException.class);
            assertThat(models.both("ann")).isEqualTo(2);
            assertThat(calls(gate)).containsExactly("/reserve llm 6", "/reserve llm 9", "/check calls 1", "/reserve llm 9", "/commit llm 2");
            gate.fail(WeirException.Kind.CONNECTION);
            assertThatThrownBy(() -> models.complete("ann", "prompt"))
                    .isInstanceOfSatisfying(RateLimitExceededException.class, refused -> assertThat(refused.getStatus()).isEqualTo(503));
            assertThat(models.calls()).isZero();
        });
    }

    static class Allowed {
        @Reserve(namespace = "llm", attributes = "user=#user", estimate = "9", actual = "#result", onError = RateLimit.OnError.ALLOW)
        public int call(String user) {
            return 2;
        }
    }

    @Test
    void choiceOfTheAnnotationDecidesWithoutAGate() {
        runner.withBean(Allowed.class).run(context -> {
            context.getBean(MemoryGate.class).fail(WeirException.Kind.CONNECTION);
            assertThat(context.getBean(Allowed.class).call("ann")).isEqualTo(2);
        });
    }

    @Test
    void actualUnitsThatAreNoNumberChargeTheEstimateAndFail() {
        runner.withBean(Models.class).run(context -> {
            assertThatThrownBy(() -> context.getBean(Models.class).complete("ann", "null")).isInstanceOf(ExpressionException.class)
                    .hasMessageContaining("@Reserve(\"llm\")").hasMessageContaining("Models.complete").hasMessageContaining("actual = #result.tokens is null");
            assertThat(calls(context.getBean(MemoryGate.class))).containsExactly("/reserve llm 4", "/commit llm 4");
            assertThatThrownBy(() -> context.getBean(Models.class).complete(null, "prompt")).isInstanceOf(ExpressionException.class).hasMessageContaining("attribute user = #user is null");
        });
    }

    static class Unparsable {
        @Reserve(value = "a", attributes = "user=#user", estimate = "#user.", actual = "1")
        public void call(String user) {}
    }

    static class ResultOfNothing {
        @Reserve(value = "a", attributes = "user=#user", estimate = "#result", actual = "1")
        public int call(String user) {
            return 1;
        }
    }

    static class UnknownActual {
        @Reserve(value = "a", attributes = "user=#user", estimate = "1", actual = "#answer")
        public void call(String user) {}
    }

    static class WithoutNamespace {
        @Reserve(attributes = "user=#user", estimate = "1", actual = "1")
        public void call(String user) {}
    }

    static class TooLong {
        @Reserve(value = "a", attributes = "user=#user", estimate = "1", actual = "1", ttl = "1h")
        public void call(String user) {}
    }

    static class NoTime {
        @Reserve(value = "a", attributes = "user=#user", estimate = "1", actual = "1", ttl = "soon")
        public void call(String user) {}
    }

    static class Fixed {
        @Reserve(value = "a", attributes = "user=#user", estimate = "1", actual = "1")
        public final void call(String user) {}
    }

    static class Many {
        @Reserve(value = "a", attributes = "user=#user", estimate = "1", actual = "1")
        public Flux<String> call(String user) {
            return Flux.just(user);
        }
    }

    @Test
    void wrongAnnotationsStopTheStart() {
        List<Class<?>> all = List.of(
                Unparsable.class, ResultOfNothing.class, UnknownActual.class, WithoutNamespace.class, TooLong.class, NoTime.class, Fixed.class, Many.class);
        for (Class<?> wrong : all) {
            runner.withBean(wrong).run(context -> assertThat(context.getStartupFailure()).as(wrong.getName())
                    .isInstanceOf(ExpressionException.class).hasMessageContaining("@Reserve").hasMessageContaining(wrong.getName() + ".call"));
        }
    }

    @Test
    void refusalDoesNotInterruptTheThreadThatWritesItsResponse() throws Exception {
        Callable<String> refusal = () -> {
            throw new IllegalStateException("refused");
        };
        // The refusal can arrive before the subscription has begun, or after it.
        for (int call = 0; call < 2_000; call += 1) {
            CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
            CompletableFuture<Void> subscribed = new CompletableFuture<>();
            Mono<?> refused = (Mono<?>) Reactive.reserved(() -> null, refusal, (held, result) -> {}, held -> {}, held -> {});
            refused.subscribe(new CoreSubscriber<Object>() {
                private Subscription subscription;

                @Override
                public void onSubscribe(Subscription begun) {
                    subscription = begun;
                    begun.request(1);
                }

                @Override
                public void onNext(Object value) {}

                @Override
                public void onComplete() {}

                @Override
                public void onError(Throwable failure) {
                    // As WebFlux does, before it writes.
                    subscription.cancel();
                    subscribed.join();
                    interrupted.complete(Thread.currentThread().isInterrupted());
                }
            });
            subscribed.complete(null);
            assertThat(interrupted.get(60, TimeUnit.SECONDS)).isFalse();
        }
    }

    @RestController
    static class Api {
        @Reserve(value = "llm", attributes = "user=#user", estimate = "9", actual = "#result.length()")
        @GetMapping("/now/{user}")
        String now(@PathVariable("user") String user) {
            return "done";
        }

        @Reserve(value = "llm", attributes = "user=#user", estimate = "9", actual = "#result.length()")
        @GetMapping("/later/{user}")
        Mono<String> later(@PathVariable("user") String user) {
            return Mono.just("done");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({MockWeir.Gate.class, Api.class})
    static class Application {}

    @ParameterizedTest
    @EnumSource(value = WebApplicationType.class, names = {"SERVLET", "REACTIVE"})
    void reservesAroundHandlers(WebApplicationType type) throws Exception {
        try (ConfigurableApplicationContext context = AnnotationTest.started(Application.class, type)) {
            MemoryGate gate = context.getBean(MemoryGate.class);
            gate.deny("llm", Map.of("user", "eve"), Duration.ofSeconds(9));
            // A method that blocks has no place on an event loop.
            for (String path : type == WebApplicationType.SERVLET ? List.of("/now", "/later") : List.of("/later")) {
                int before = gate.received().size();
                assertThat(AnnotationTest.get(context, path + "/ann").body()).isEqualTo("done");
                assertThat(calls(gate).subList(before, before + 2)).containsExactly("/reserve llm 9", "/commit llm 4");
                HttpResponse<String> refused = AnnotationTest.get(context, path + "/eve");
                assertThat(refused.statusCode()).isEqualTo(429);
                assertThat(refused.headers().firstValue("retry-after")).hasValue("9");
                assertThat(refused.body()).contains("\"code\":\"rate_limited\"");
            }
        }
    }
}
