package io.github.weirratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.weirratelimit.MemoryGate;
import io.github.weirratelimit.WeirException;
import io.micrometer.common.KeyValue;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** The observation {@code weir.check}, and the timer that it makes. */
class ObservationTest {
    static class Recorder implements ObservationHandler<Observation.Context> {
        final List<Observation.Context> stopped = new CopyOnWriteArrayList<>();

        @Override
        public boolean supportsContext(Observation.Context context) {
            // Those of Spring have no name yet.
            return "weir.check".equals(context.getName());
        }

        @Override
        public void onStop(Observation.Context context) {
            stopped.add(context);
        }

        List<Map<String, String>> keys() {
            return stopped.stream().map(one -> one.getLowCardinalityKeyValues().stream().collect(Collectors.toMap(KeyValue::getKey, KeyValue::getValue))).toList();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({MockWeir.Gate.class, AnnotationTest.Api.class, AnnotationTest.Exports.class, Recorder.class})
    static class Application {
        @Bean
        MeterRegistry registry() {
            return new SimpleMeterRegistry();
        }
    }

    @ParameterizedTest
    @EnumSource(value = WebApplicationType.class, names = {"SERVLET", "REACTIVE"})
    void checksAreObservedWithinTheirRequest(WebApplicationType type) throws Exception {
        try (ConfigurableApplicationContext context = AnnotationTest.started(Application.class, type)) {
            Recorder recorder = context.getBean(Recorder.class);
            MemoryGate gate = context.getBean(MemoryGate.class);
            assertThat(AnnotationTest.get(context, "/movies/7").body()).isEqualTo("movie");
            gate.deny("api", Map.of(), null);
            assertThat(AnnotationTest.get(context, "/movies/7").statusCode()).isEqualTo(429);
            gate.fail(WeirException.Kind.CONNECTION);
            assertThatThrownBy(() -> context.getBean(AnnotationTest.Exports.class).export(new AnnotationTest.Export("ann", 1))).isInstanceOf(RateLimitExceededException.class);
            assertThat(recorder.keys()).containsExactly(
                    Map.of("namespace", "api", "outcome", "allowed", "degraded", "no"),
                    Map.of("namespace", "api", "outcome", "denied", "degraded", "no"),
                    Map.of("namespace", "export", "outcome", "denied", "degraded", "client"));
            assertThat(recorder.stopped.subList(0, 2)).allSatisfy(
                    one -> assertThat(one.getParentObservation().getContextView().getName()).isEqualTo("http.server.requests"));
            MeterRegistry meters = context.getBean(MeterRegistry.class);
            assertThat(meters.find("weir.check").timers()).extracting(timer -> timer.count()).containsOnly(1L);
            assertThat(meters.get("weir.check").tag("namespace", "export").tag("degraded", "client").timer().count()).isEqualTo(1);
        }
    }

    @Test
    void timerNeedsNoObservations() {
        new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(WeirAutoConfiguration.class)).withUserConfiguration(MockWeir.Gate.class)
                .withBean(SimpleMeterRegistry.class).withBean(AnnotationTest.Exports.class).run(context -> {
                    context.getBean(AnnotationTest.Exports.class).export(new AnnotationTest.Export("ann", 7));
                    assertThat(context.getBean(MeterRegistry.class).get("weir.check").tag("outcome", "allowed").timer().count()).isEqualTo(1);
                });
    }
}
