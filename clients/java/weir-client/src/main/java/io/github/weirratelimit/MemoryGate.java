package io.github.weirratelimit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** A gate in memory, for tests: admits all checks, but those that it is to deny. The client that asks it is the real one. */
public final class MemoryGate {
    private record Denial(@Nullable String namespace, Map<String, String> attributes, @Nullable Duration retryAfter) {
        boolean matches(Received check) {
            return (namespace == null || namespace.equals(check.namespace())) && check.attributes().entrySet().containsAll(attributes.entrySet());
        }
    }

    /**
     * A request that a gate got, as the client sent it; the checks of a batch one by one.
     *
     * @param path such as {@code /check}
     * @param namespace the namespace; empty if the request has none
     * @param attributes the attributes
     * @param cost the number of units
     */
    public record Received(String path, String namespace, Map<String, String> attributes, long cost) {}

    private final List<Denial> denials = new CopyOnWriteArrayList<>();
    private final List<Received> received = new CopyOnWriteArrayList<>();
    private final AtomicLong reservations = new AtomicLong();
    private volatile @Nullable WeirException failure;

    /** Creates a gate that admits all checks. */
    public MemoryGate() {}

    /** {@return a client of this gate, which denies what no gate decides} */
    public Weir client() {
        return client(OnError.DENY);
    }

    /**
     * A client of this gate.
     *
     * @param onError the decision while the gate fails
     * @return the client
     */
    public Weir client(OnError onError) {
        // A busy machine must not degrade an answer.
        Weir.Builder builder = Weir.builder("http://gate.test", "test", onError).timeout(Duration.ofSeconds(60)).cacheSize(0);
        builder.transport = this::answer;
        return builder.build();
    }

    /**
     * Denies such checks from now on.
     *
     * @param namespace of the checks; null for all
     * @param attributes that the checks have
     * @param retryAfter null: never again
     */
    public void deny(@Nullable String namespace, Map<String, String> attributes, @Nullable Duration retryAfter) {
        denials.add(new Denial(namespace, Map.copyOf(attributes), retryAfter));
    }

    /** Admits all checks from now on, and fails no longer. */
    public void allow() {
        denials.clear();
        failure = null;
    }

    /**
     * Fails all calls from now on.
     *
     * @param kind such as {@code CONNECTION}
     */
    public void fail(WeirException.Kind kind) {
        failure = new WeirException(kind, "the gate of the test fails");
    }

    /** {@return the requests, in the order of their arrival} */
    public List<Received> received() {
        return List.copyOf(received);
    }

    private CompletableFuture<Transport.Reply> answer(Transport.Call call) {
        WeirException fault = failure;
        if (fault != null) return CompletableFuture.failedFuture(fault);
        Map<?, ?> body = call.body() == null ? Map.of() : (Map<?, ?>) Json.parse(call.body());
        if (!call.path().equals("/check/batch")) return CompletableFuture.completedFuture(answer(call.path(), body));
        List<Object> results = new ArrayList<>();
        for (Object check : (List<?>) body.get("checks")) results.add(answer("/check", (Map<?, ?>) check).body());
        return CompletableFuture.completedFuture(new Transport.Reply(200, Map.of("results", results), null));
    }

    private Transport.Reply answer(String path, Map<?, ?> body) {
        Map<String, String> attributes = new HashMap<>();
        if (body.get("attributes") instanceof Map<?, ?> given) given.forEach((name, value) -> attributes.put((String) name, (String) value));
        long cost = body.get("cost") instanceof Long given ? given : 1;
        Received request = new Received(path, body.get("namespace") instanceof String given ? given : "", Map.copyOf(attributes), cost);
        received.add(request);
        Map<String, @Nullable Object> reply = new HashMap<>();
        reply.put("degraded", null);
        switch (path) {
            case "/commit" -> reply.putAll(Map.of("charged", cost, "released", 0L, "late", false));
            case "/renew" -> reply.put("expires_at_ms", System.currentTimeMillis() + 60_000);
            case "/release" -> reply.put("released", true);
            default -> {
                return decision(path, request, reply);
            }
        }
        return new Transport.Reply(200, reply, null);
    }

    private Transport.Reply decision(String path, Received request, Map<String, @Nullable Object> reply) {
        boolean decides = path.equals("/check") || path.equals("/reserve");
        Denial denial = denials.stream().filter(one -> decides && one.matches(request)).findFirst().orElse(null);
        boolean allowed = denial == null;
        Duration retryAfter = denial == null ? Duration.ZERO : denial.retryAfter();
        for (String name : List.of("limit", "remaining", "reset_after_ms")) reply.put(name, null);
        reply.put("retry_after_ms", retryAfter == null ? null : retryAfter.toMillis());
        reply.putAll(Map.of(
                "allowed", allowed, "denied_by", allowed ? List.of() : List.of("test"), "delay_ms", 0L, "limits", List.of(), "rulebook_version", 1L));
        if (path.equals("/record")) reply.put("charged", request.cost());
        if (path.equals("/reserve")) {
            reply.put("reservation", allowed ? "resv_" + reservations.incrementAndGet() : null);
            reply.put("reserved", allowed ? request.cost() : 0L);
            reply.put("expires_at_ms", null);
        }
        return new Transport.Reply(allowed ? 200 : 429, reply, null);
    }
}
