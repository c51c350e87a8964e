package io.github.weirratelimit;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * An action about which a gate is asked.
 *
 * @param namespace the namespace of the rules
 * @param attributes names and values that describe the action: texts, numbers, booleans, UUIDs and enums. Entries that are null are not sent
 * @param cost the number of units to take; null for 1
 * @param peek whether nothing is to be taken
 * @param idempotencyKey a repeat within 60 s gets the first answer and takes nothing; such checks are never answered from the cache
 */
public record CheckRequest(
        String namespace, Map<String, ? extends @Nullable Object> attributes, @Nullable Long cost, boolean peek, @Nullable String idempotencyKey) {
    /**
     * A check of one unit.
     *
     * @param namespace the namespace of the rules
     * @param attributes names and values that describe the action
     * @return the request
     */
    public static CheckRequest of(String namespace, Map<String, ? extends @Nullable Object> attributes) {
        return new CheckRequest(namespace, attributes, null, false, null);
    }

    /**
     * The same request with a cost.
     *
     * @param units the number of units to take
     * @return the request
     */
    public CheckRequest withCost(long units) {
        return new CheckRequest(namespace, attributes, units, peek, idempotencyKey);
    }

    /** {@return the same request, which takes nothing} */
    public CheckRequest withPeek() {
        return new CheckRequest(namespace, attributes, cost, true, idempotencyKey);
    }

    /**
     * The same request with an idempotency key.
     *
     * @param key identifies the action, in at most 128 bytes
     * @return the request
     */
    public CheckRequest withIdempotencyKey(String key) {
        return new CheckRequest(namespace, attributes, cost, peek, key);
    }

    /** The JSON of a request, as a map that the caller can extend. */
    Map<String, Object> body() {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("namespace", namespace);
        body.put("attributes", texts());
        if (cost != null) body.put("cost", cost);
        if (peek) body.put("mode", "peek");
        if (idempotencyKey != null) body.put("idempotency_key", idempotencyKey);
        return body;
    }

    /** Equal for requests that every rulebook decides alike. A smaller cost may pass, so the cost belongs to it. */
    String cacheKey() {
        return Json.write(java.util.List.of(namespace, cost == null ? 1L : cost, new TreeMap<>(texts())));
    }

    private Map<String, String> texts() {
        Map<String, String> texts = new LinkedHashMap<>();
        attributes.forEach((name, value) -> {
            if (value != null) texts.put(name, textOf(name, value));
        });
        return texts;
    }

    private static String textOf(String name, Object value) {
        boolean finite = !(value instanceof Number number) || Double.isFinite(number.doubleValue());
        boolean written =
                value instanceof CharSequence || value instanceof Number || value instanceof Boolean || value instanceof UUID || value instanceof Enum<?>;
        if (written && finite) return value.toString();
        throw new IllegalArgumentException(
                "attributes." + name + ": a text, a number or a boolean is needed, not " + (finite ? value.getClass().getName() : value));
    }
}
