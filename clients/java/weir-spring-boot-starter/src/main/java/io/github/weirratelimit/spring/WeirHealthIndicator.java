package io.github.weirratelimit.spring;

import io.github.weirratelimit.Choice;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.Status;

/** Whether the gate is ready. If not, the application is down only if {@code onError} denies. */
final class WeirHealthIndicator extends AbstractHealthIndicator {
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private final HttpClient http = HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).build();
    private final URI ready;
    private final boolean needed;

    WeirHealthIndicator(String url, Choice onError) {
        ready = URI.create(url.replaceAll("/+$", "") + "/readyz");
        needed = onError == Choice.DENY;
    }

    @Override
    protected void doHealthCheck(Health.Builder health) throws InterruptedException {
        Status down = needed ? Status.DOWN : Status.UNKNOWN;
        try {
            HttpRequest request = HttpRequest.newBuilder(ready).version(HttpClient.Version.HTTP_1_1).timeout(TIMEOUT).build();
            int status = http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
            health.status(status == 200 ? Status.UP : down).withDetail("status", status);
        } catch (java.io.IOException failure) {
            health.status(down).withException(failure);
        }
    }
}
