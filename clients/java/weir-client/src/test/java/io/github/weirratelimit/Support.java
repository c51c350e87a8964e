package io.github.weirratelimit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/** The rows of conformance.json, and what all tests need of their servers. */
public final class Support {
    public static final String RUN = Long.toString(System.nanoTime(), 36);
    public static final Duration GENEROUS = Duration.ofSeconds(60);
    static final Map<String, Object> FILE = object(Json.parse(conformance()));
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private Support() {}

    private static String conformance() {
        try {
            return Files.readString(Path.of("../../conformance.json"));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** The rows of a section: {@code cases}, {@code concurrent} or {@code middleware}. */
    public static List<Map<String, Object>> rows(String section) {
        return section.equals("cases") ? objects(FILE.get("cases")) : objects(object(FILE.get(section)).get("cases"));
    }

    /** The position of a row at the stub. */
    static int position(Map<String, Object> row) {
        List<Map<String, Object>> all = new ArrayList<>();
        for (String section : List.of("cases", "concurrent", "middleware")) all.addAll(rows(section));
        for (int at = 0; at < all.size(); at += 1) if (all.get(at) == row) return at;
        throw new IllegalArgumentException();
    }

    public static String url(Map<String, Object> row) {
        return switch ((String) row.get("server")) {
            case "gate" -> env("WEIR_GATE_URL");
            case "stub" -> env("WEIR_STUB") + "/" + position(row) + "/" + RUN;
            default -> closedPort();
        };
    }

    static String closedPort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return "http://127.0.0.1:" + socket.getLocalPort();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    public static String env(String name) {
        return Objects.requireNonNull(System.getenv(name), name + " is set by cargo xtask clients");
    }

    /** A client for a row, with a long time-out unless the row has one. */
    public static Weir.Builder client(Map<String, Object> row, String url) {
        Map<String, Object> options = object(row.getOrDefault("options", Map.of()));
        OnError onError = "allow".equals(options.get("on_error")) ? OnError.ALLOW : OnError.DENY;
        Weir.Builder builder = Weir.builder(url, (String) options.getOrDefault("key", env("WEIR_KEY")), onError);
        builder.timeout(ms(options.getOrDefault("timeout_ms", GENEROUS.toMillis()))).retry(Boolean.TRUE.equals(options.get("retry")));
        builder.random(() -> ((Number) row.getOrDefault("random", 0)).doubleValue());
        if (options.containsKey("cache_size")) builder.cacheSize(number(options.get("cache_size")));
        if (options.containsKey("max_in_flight")) builder.maxInFlight(number(options.get("max_in_flight")));
        if (options.containsKey("max_waiting")) builder.maxWaiting(number(options.get("max_waiting")));
        if (options.containsKey("retry_spread_ms")) builder.retrySpread(ms(options.get("retry_spread_ms")));
        return builder;
    }

    public static Weir patient() {
        return Weir.builder(env("WEIR_GATE_URL"), env("WEIR_KEY"), OnError.DENY).timeout(GENEROUS).cacheSize(0).build();
    }

    static Duration ms(Object value) {
        return Duration.ofMillis((Long) value);
    }

    static int number(Object value) {
        return Math.toIntExact((Long) value);
    }

    @SuppressWarnings("unchecked")
    public static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    public static List<Map<String, Object>> objects(Object value) {
        return (List<Map<String, Object>>) value;
    }

    public static Object json(String text) {
        return Json.parse(text);
    }

    static String ofRun(Object text) {
        return ((String) text).replace("$RUN", RUN);
    }

    public static Map<String, Object> attributes(Map<String, Object> step) {
        Map<String, Object> found = new LinkedHashMap<>();
        object(step.getOrDefault("attributes", Map.of())).forEach((name, value) -> found.put(name, ofRun(value)));
        return found;
    }

    public static CheckRequest request(Map<String, Object> step) {
        String key = step.containsKey("idempotency_key") ? ofRun(step.get("idempotency_key")) : null;
        String namespace = (String) step.getOrDefault("namespace", "conformance");
        return new CheckRequest(namespace, attributes(step), (Long) step.get("cost"), Boolean.TRUE.equals(step.get("peek")), key);
    }

    /** What arrived at the stub. */
    public static List<Map<String, Object>> requestsAt(String url) {
        return objects(get(url + "/requests"));
    }

    static Object get(String url) {
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
            return Json.parse(HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body());
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }

    /** Waits until the condition holds. */
    public static void until(BooleanSupplier condition) {
        long deadline = System.nanoTime() + GENEROUS.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) fail("it did not happen in time");
            try {
                Thread.sleep(2);
            } catch (InterruptedException ended) {
                throw new AssertionError(ended);
            }
        }
    }

    /** The fields of an answer that a row can name. */
    static Map<String, Object> fields(Answer answer) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("allowed", answer.allowed());
        found.put("denied_by", answer.deniedBy());
        found.put("over", answer.over());
        found.put("request_id", answer.requestId());
        found.put("retry_after_ms", answer.retryAfterMs());
        found.put("delay_ms", answer.delayMs());
        found.put("limit", answer.limit());
        found.put("remaining", answer.remaining());
        found.put("reset_after_ms", answer.resetAfterMs());
        found.put("limits", (long) answer.limits().size());
        found.put("leases", (long) answer.leases().size());
        found.put("degraded", lower(answer.degraded()));
        found.put("charged", answer.charged());
        found.put("buffered", answer.buffered());
        found.put("code", answer.code());
        found.put("rulebook_version", answer.rulebookVersion());
        found.put("cached", answer.cached());
        found.put("error", answer.error() == null ? null : lower(answer.error().getKind()));
        found.put("headers", answer.headers());
        return found;
    }

    static String lower(Enum<?> value) {
        return value == null ? null : value.name().toLowerCase(java.util.Locale.ROOT);
    }

    public static void compare(Answer answer, Map<String, Object> wanted, String where) {
        compare(fields(answer), wanted, where + ": " + answer);
    }

    static void compare(Map<String, Object> found, Map<String, Object> wanted, String where) {
        wanted.forEach((name, value) -> {
            String place = where + ": " + name;
            if (name.equals("headers")) {
                Map<String, Object> headers = object(found.get(name));
                object(value).forEach((header, text) -> assertEquals(text, headers.get(header), place + " " + header));
            } else if (value instanceof Map<?, ?> range && range.containsKey("min")) {
                long number = (Long) found.get(name);
                assertTrue((Long) range.get("min") <= number && number <= (Long) range.get("max"), place);
            } else {
                assertTrue(found.containsKey(name), place + " is known");
                assertEquals(value, found.get(name), place);
            }
        });
    }

    static void compareError(WeirException error, Map<String, Object> wanted, String where) {
        wanted.forEach((name, value) -> {
            Object found = switch (name) {
                case "kind" -> lower(error.getKind());
                case "status" -> error.getStatus() == null ? null : error.getStatus().longValue();
                case "fields" -> error.getFields().stream().map(WeirException.FieldProblem::field).toList();
                default -> throw new IllegalArgumentException(name);
            };
            assertEquals(value, found, where + ": " + name + " of " + error);
        });
    }
}
