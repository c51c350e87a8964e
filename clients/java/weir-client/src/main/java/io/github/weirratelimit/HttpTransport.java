package io.github.weirratelimit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ProtocolException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Sends requests by {@link HttpClient}. */
final class HttpTransport implements Transport {
    /** The longest answer that is read: more than a batch of 100 checks with the most limits. */
    private static final int BODY_MAX = 8 << 20;
    /** The gate refuses such a request because of what it says. */
    private static final List<Integer> REFUSED = List.of(400, 413, 415, 422);

    private final HttpClient http;
    private final String url;
    private final String authorization;

    HttpTransport(HttpClient http, String url, String key) {
        this.http = http;
        this.url = url;
        this.authorization = "Bearer " + key;
    }

    @Override
    public CompletableFuture<Reply> send(Call call) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + call.path()))
                .header("authorization", authorization).header("accept", "application/json").header("accept-encoding", "identity");
        // A gate on plain HTTP would otherwise be asked to upgrade to HTTP/2.
        if (url.startsWith("http:")) request.version(HttpClient.Version.HTTP_1_1);
        if (call.traceparent() != null) request.header("traceparent", call.traceparent());
        if (call.body() == null) {
            request.method(call.method(), HttpRequest.BodyPublishers.noBody());
        } else {
            request.header("content-type", "application/json").method(call.method(), HttpRequest.BodyPublishers.ofString(call.body(), UTF_8));
        }
        CompletableFuture<Reply> reply = new CompletableFuture<>();
        AtomicReference<@Nullable CompletableFuture<?>> exchange = new AtomicReference<>();
        CompletableFuture<?> response = http.sendAsync(request.build(), head -> new Body(exchange, whole -> Timers.CALLBACKS.execute(() -> {
            try {
                reply.complete(read(call, head, whole));
            } catch (WeirException error) {
                reply.completeExceptionally(error);
            }
        })));
        exchange.set(response);
        // Cancelling the exchange closes its connection.
        Timers.Deadline timer = Timers.at(call.deadlineNs(), () -> {
            if (reply.completeExceptionally(WeirException.late())) response.cancel(true);
        });
        reply.whenComplete((found, failure) -> timer.cancel());
        response.whenComplete((done, failure) -> {
            if (failure != null) reply.completeExceptionally(failure(failure));
        });
        return reply;
    }

    private static Reply read(Call call, HttpResponse.ResponseInfo head, byte[] body) {
        int status = head.statusCode();
        String text;
        try {
            text = UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
        } catch (CharacterCodingException cause) {
            throw new WeirException(WeirException.Kind.ANSWER, "the gate's answer is not UTF-8", cause);
        }
        if (Arrays.stream(call.accepted()).noneMatch(accepted -> accepted == status)) throw problem(status, text);
        try {
            String requestId = head.headers().firstValue("x-request-id").orElse(null);
            return new Reply(status, status == 204 ? null : Json.parse(text), requestId);
        } catch (IllegalArgumentException cause) {
            throw new WeirException(WeirException.Kind.ANSWER, "the gate's answer is not JSON", cause);
        }
    }

    /** The error of a problem document, or of any other text with this status. */
    private static WeirException problem(int status, String text) {
        Map<?, ?> document = Map.of();
        try {
            if (Json.parse(text) instanceof Map<?, ?> found) document = found;
        } catch (IllegalArgumentException notJson) {
            // Something between the client and the gate answered.
        }
        List<WeirException.FieldProblem> fields = document.get("fields") instanceof List<?> list
                ? list.stream().map(HttpTransport::fieldProblem).filter(java.util.Objects::nonNull).toList()
                : List.of();
        StringBuilder message = new StringBuilder("the gate answered " + status);
        if (document.get("detail") instanceof String detail) message.append("; ").append(detail);
        fields.forEach(one -> message.append("; ").append(one.field()).append(": ").append(one.reason()));
        String requestId = textOf(document.get("request_id"));
        if (requestId != null) message.append("; request ").append(requestId);
        WeirException.Kind kind = REFUSED.contains(status) ? WeirException.Kind.REFUSED : WeirException.Kind.STATUS;
        return new WeirException(
                kind, message.toString(), status, textOf(document.get("code")), requestId, fields, null);
    }

    private static WeirException.@Nullable FieldProblem fieldProblem(@Nullable Object value) {
        boolean valid = value instanceof Map<?, ?> map && map.get("field") instanceof String && map.get("reason") instanceof String;
        if (!valid) return null;
        Map<?, ?> map = (Map<?, ?>) value;
        return new WeirException.FieldProblem((String) map.get("field"), (String) map.get("reason"));
    }

    private static @Nullable String textOf(@Nullable Object value) {
        return value instanceof String text ? text : null;
    }

    private static WeirException failure(Throwable failure) {
        Throwable cause = failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof WeirException error) return error;
        for (Throwable one = cause; one != null; one = one.getCause()) {
            if (one instanceof WeirException error) return error;
            if (one instanceof ProtocolException) {
                return new WeirException(WeirException.Kind.ANSWER, "the gate's answer is not HTTP", cause);
            }
        }
        return new WeirException(WeirException.Kind.CONNECTION, "the connection to the gate failed: " + cause.getMessage(), cause);
    }

    /** Collects an answer of bounded length. */
    private static final class Body implements HttpResponse.BodySubscriber<byte[]> {
        /** The future of the response; null until the request is sent. */
        private final AtomicReference<@Nullable CompletableFuture<?>> exchange;
        private final Consumer<byte[]> onWhole;
        private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private Flow.@Nullable Subscription subscription;

        Body(AtomicReference<@Nullable CompletableFuture<?>> exchange, Consumer<byte[]> onWhole) {
            this.exchange = exchange;
            this.onWhole = onWhole;
        }

        @Override
        public CompletionStage<byte[]> getBody() {
            return whole;
        }

        @Override
        public void onSubscribe(Flow.Subscription begun) {
            subscription = begun;
            begun.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            for (ByteBuffer buffer : buffers) {
                if (bytes.size() + buffer.remaining() > BODY_MAX) {
                    if (subscription != null) subscription.cancel();
                    whole.completeExceptionally(new IOException(new WeirException(WeirException.Kind.ANSWER, "the gate's answer is too long")));
                    return;
                }
                byte[] part = new byte[buffer.remaining()];
                buffer.get(part);
                bytes.writeBytes(part);
            }
        }

        @Override
        public void onError(Throwable failure) {
            whole.completeExceptionally(failure);
        }

        @Override
        public void onComplete() {
            if (whole.isDone()) return;
            // The HTTP client would complete the response on one more thread, a new one for each call if there are two processors.
            CompletableFuture<?> response = exchange.get();
            if (response != null) response.complete(null);
            byte[] all = bytes.toByteArray();
            whole.complete(all);
            onWhole.accept(all);
        }
    }
}
