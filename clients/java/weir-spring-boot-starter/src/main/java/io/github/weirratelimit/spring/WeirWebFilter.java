package io.github.weirratelimit.spring;

import io.github.weirratelimit.ClientAddress;
import io.github.weirratelimit.Weir;
import java.net.InetSocketAddress;
import java.security.Principal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseEntity;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.ErrorResponse;
import org.springframework.web.cors.reactive.CorsUtils;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.reactive.HandlerMapping;
import org.springframework.web.reactive.function.server.HandlerStrategies;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.reactive.result.view.ViewResolver;
import org.springframework.http.codec.HttpMessageWriter;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import org.springframework.web.util.pattern.PathPattern;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Limits the requests of Spring WebFlux. */
final class WeirWebFilter implements WebFilter {
    /** The key by which Spring passes the observation of a request on. */
    private static final String OBSERVATION = "micrometer.observation";

    private final Weir weir;
    private final HandlerLimits limits;
    private final ClientAddress address;
    private final Iterable<HandlerMapping> mappings;

    /** {@code mappings} in their order. */
    WeirWebFilter(Weir weir, HandlerLimits limits, ClientAddress address, Iterable<HandlerMapping> mappings) {
        this.weir = weir;
        this.limits = limits;
        this.address = address;
        this.mappings = mappings;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        if (CorsUtils.isPreFlightRequest(exchange.getRequest())) return chain.filter(exchange);
        Mono<List<RequestLimit>> found = Flux.fromIterable(mappings).concatMap(mapping -> mapping.getHandler(exchange)).next()
                .map(handler -> handler instanceof HandlerMethod method ? limits.of(method.getBeanType(), method.getMethod()) : limits.ofAll())
                .defaultIfEmpty(limits.ofAll());
        Mono<Optional<Principal>> principal = exchange.getPrincipal().map(Optional::of).defaultIfEmpty(Optional.empty());
        return found.zipWith(principal).flatMap(both -> limited(exchange, chain, both.getT1(), both.getT2().orElse(null)));
    }

    private Mono<Void> limited(ServerWebExchange exchange, WebFilterChain chain, List<RequestLimit> all, @Nullable Principal principal) {
        LimitedRequest limited = limits.request(weir.async());
        ServerHttpResponse response = exchange.getResponse();
        Call call = new Call(exchange, address, principal);
        Mono<Void> ended = Mono.deferContextual(context -> Mono.fromFuture(limited.admit(all, call, context.getOrDefault(OBSERVATION, null))).map(Optional::<ResponseEntity<?>>of).defaultIfEmpty(Optional.empty()))
                .flatMap(refusal -> {
                    if (limited.last() != null) exchange.getAttributes().put(LimitedRequest.ANSWER, limited.last());
                    if (refusal.isPresent()) return write(refusal.get(), exchange);
                    // The headers of the handler stay.
                    response.beforeCommit(() -> Mono.fromRunnable(() -> limited.headers().forEach((name, value) -> {
                        if (response.getHeaders().getFirst(name) == null) response.getHeaders().set(name, value);
                    })));
                    return chain.filter(exchange);
                });
        return ended.doOnError(failure -> limited.settle(failure instanceof ErrorResponse known ? known.getStatusCode().value() : 500))
                .doOnSuccess(done -> limited.settle(status(response)))
                .doOnCancel(() -> limited.settle(null));
    }

    private static int status(ServerHttpResponse response) {
        HttpStatusCode status = response.getStatusCode();
        return status == null ? 200 : status.value();
    }

    private static Mono<Void> write(ResponseEntity<?> refusal, ServerWebExchange exchange) {
        ServerResponse.BodyBuilder builder = ServerResponse.status(refusal.getStatusCode())
                // Spring 7 has no headers that are a map.
                .headers(headers -> refusal.getHeaders().forEach((name, values) -> headers.put(name, values)));
        Mono<ServerResponse> response = refusal.getBody() == null ? builder.build() : builder.bodyValue(refusal.getBody());
        return response.flatMap(one -> one.writeTo(exchange, new WriterContext(HandlerStrategies.withDefaults())));
    }

    private record WriterContext(HandlerStrategies strategies) implements ServerResponse.Context {
        @Override
        public List<HttpMessageWriter<?>> messageWriters() {
            return strategies.messageWriters();
        }

        @Override
        public List<ViewResolver> viewResolvers() {
            return strategies.viewResolvers();
        }
    }

    private record Call(ServerWebExchange exchange, ClientAddress address, @Nullable Principal principal) implements LimitedCall {
        @Override
        public String method() {
            return exchange.getRequest().getMethod().name();
        }

        @Override
        public String route() {
            Object found = exchange.getAttribute(HandlerMapping.BEST_MATCHING_PATTERN_ATTRIBUTE);
            return found instanceof PathPattern pattern ? pattern.getPatternString() : "unmatched";
        }

        @Override
        public String uri() {
            return exchange.getRequest().getPath().value();
        }

        @Override
        public String pathInApplication() {
            return exchange.getRequest().getPath().pathWithinApplication().value();
        }

        @Override
        public String ip() {
            InetSocketAddress peer = exchange.getRequest().getRemoteAddress();
            String text = peer == null || peer.getAddress() == null ? null : peer.getAddress().getHostAddress();
            List<String> forwarded = new ArrayList<>();
            // What finds a header by its name has other types in Spring 6 and 7.
            exchange.getRequest().getHeaders().forEach((name, values) -> {
                if (name.equalsIgnoreCase("X-Forwarded-For")) forwarded.addAll(values);
            });
            return address.of(text, forwarded);
        }

        @Override
        public Map<String, String> path() {
            Map<String, String> found = exchange.getAttribute(HandlerMapping.URI_TEMPLATE_VARIABLES_ATTRIBUTE);
            return found == null ? Map.of() : found;
        }

        @Override
        public Map<String, String> query() {
            return exchange.getRequest().getQueryParams().toSingleValueMap();
        }

        @Override
        public Map<String, String> headers() {
            Map<String, String> found = new HashMap<>();
            exchange.getRequest().getHeaders().toSingleValueMap().forEach((name, value) -> found.put(name.toLowerCase(Locale.ROOT), value));
            return found;
        }
    }
}
