package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.Weir;
import java.io.IOException;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpRequest;
import org.springframework.http.client.ClientHttpRequestExecution;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.http.client.ClientHttpResponse;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import reactor.core.publisher.Mono;

/**
 * Waits for units before each request of a {@code RestClient}, a {@code RestTemplate} or (by {@link #forWebClient}) a {@code WebClient}. A 429 of the
 * provider with {@code Retry-After} in seconds lets the limits count as exhausted for that time, which needs a key with the scope {@code exhaust}.
 */
public final class BudgetInterceptor implements ClientHttpRequestInterceptor {
    private final Weir weir;
    private final Function<String, CheckRequest> request;
    private final Duration longest;

    /**
     * An interceptor.
     *
     * @param weir the client
     * @param request the check for a host, such as {@code host -> CheckRequest.of("outbound", Map.of("provider", host))}
     * @param longest the longest time to wait; then a {@link RateLimitExceededException} is thrown
     */
    public BudgetInterceptor(Weir weir, Function<String, CheckRequest> request, Duration longest) {
        this.weir = weir;
        this.request = request;
        this.longest = longest;
    }

    @Override
    public ClientHttpResponse intercept(HttpRequest sent, byte[] body, ClientHttpRequestExecution execution) throws IOException {
        CheckRequest check = request.apply(String.valueOf(sent.getURI().getHost()));
        admitted(weir.await(check, longest));
        ClientHttpResponse response = execution.execute(sent, body);
        exhaust(check, response.getStatusCode().value(), response.getHeaders());
        return response;
    }

    /** {@return the same for a {@code WebClient}} */
    public ExchangeFilterFunction forWebClient() {
        return (sent, next) -> {
            ClientRequest call = sent;
            CheckRequest check = request.apply(String.valueOf(call.url().getHost()));
            return Mono.defer(() -> Mono.fromFuture(weir.async().await(check, longest)))
                    .flatMap(answer -> next.exchange(admitted(answer, call)))
                    .doOnNext(response -> exhaust(check, response.statusCode().value(), response.headers().asHttpHeaders()));
        };
    }

    private static void admitted(Answer answer) {
        if (!answer.allowed()) throw new RateLimitExceededException(answer);
    }

    private static ClientRequest admitted(Answer answer, ClientRequest sent) {
        admitted(answer);
        return sent;
    }

    private void exhaust(CheckRequest check, int status, HttpHeaders headers) {
        @Nullable String retryAfter = headers.getFirst("Retry-After");
        boolean given = status == 429 && retryAfter != null && retryAfter.matches("[1-9][0-9]{0,5}");
        // A failure leaves the provider's answer as it is.
        if (given) weir.async().exhaust(check.namespace(), check.attributes(), Duration.ofSeconds(Long.parseLong(retryAfter)));
    }
}
