package io.github.weirratelimit.spring;

import io.github.weirratelimit.Choice;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Asks whether the gate is ready, for the health indicators of Spring Boot 3 and 4. */
final class GateHealth {
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private final HttpClient http = HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).build();
    private final URI ready;
    /** The status of an application whose gate is not ready. */
    final String down;

    GateHealth(String url, Choice onError) {
        ready = URI.create(url.replaceAll("/+$", "") + "/readyz");
        down = onError == Choice.DENY ? "DOWN" : "UNKNOWN";
    }

    /** The status of the gate's answer. */
    int ask() throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(ready).version(HttpClient.Version.HTTP_1_1).timeout(TIMEOUT).build();
        return http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
    }
}
