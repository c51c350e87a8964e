package io.github.weirratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.weirratelimit.Support;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** The health of an application, as the actuator's endpoint tells it. */
class HealthTest {
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    @Test
    void applicationIsUpIfTheGateIsReady() throws Exception {
        assertThat(health(Support.env("WEIR_GATE_URL"), "deny", 200)).containsEntry("status", "UP");
    }

    @Test
    void applicationIsDownWithoutAGateOnlyIfErrorsDeny() throws Exception {
        String closed;
        try (ServerSocket socket = new ServerSocket(0)) {
            closed = "http://127.0.0.1:" + socket.getLocalPort();
        }
        assertThat(health(closed, "deny", 503)).containsEntry("status", "DOWN");
        assertThat(health(closed, "allow", 200)).containsEntry("status", "UNKNOWN");
    }

    private static Map<String, Object> health(String gate, String onError, int status) throws Exception {
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class).web(WebApplicationType.SERVLET)
                .properties("server.port=0", "spring.main.banner-mode=off", "logging.level.root=off", "management.endpoint.health.show-details=always")
                .run("--weir.gate-url=" + gate, "--weir.key=k", "--weir.on-error=" + onError)) {
            URI uri = URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port") + "/actuator/health");
            HttpResponse<String> response =
                    HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
            return Support.object(Support.object(Support.object(Support.json(response.body())).get("components")).get("weir"));
        }
    }
}
