package io.github.weirratelimit;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The fields of a JSON object; each reader fails if the value is another one. */
final class Fields {
    private final Map<?, ?> values;

    Fields(@Nullable Object value, String what) {
        if (!(value instanceof Map<?, ?> map)) throw invalid(what, "an object");
        values = map;
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    boolean flag(String name) {
        if (values.get(name) instanceof Boolean flag) return flag;
        throw invalid(name, "true or false");
    }

    String text(String name) {
        if (values.get(name) instanceof String text) return text;
        throw invalid(name, "a string");
    }

    @Nullable String textOrNull(String name) {
        return isNull(name) ? null : text(name);
    }

    long count(String name) {
        if (values.get(name) instanceof Long number && number >= 0) return number;
        throw invalid(name, "a whole number");
    }

    @Nullable Long countOrNull(String name) {
        return isNull(name) ? null : Long.valueOf(count(name));
    }

    List<String> texts(String name) {
        return list(name, item -> {
            if (item instanceof String text) return text;
            throw invalid(name, "a list of strings");
        });
    }

    <T> List<T> list(String name, Function<Object, T> read) {
        if (!(values.get(name) instanceof List<?> items)) throw invalid(name, "a list");
        List<T> found = new ArrayList<>(items.size());
        for (Object item : items) found.add(read.apply(item));
        return List.copyOf(found);
    }

    String oneOf(String name, String... allowed) {
        for (String one : allowed) if (one.equals(values.get(name))) return one;
        throw invalid(name, String.join(" or ", allowed));
    }

    @Nullable Degraded degraded() {
        return isNull("degraded") ? null : Degraded.valueOf(oneOf("degraded", "allow", "deny", "local").toUpperCase(Locale.ROOT));
    }

    /** Whether the gate holds the call until Redis returns. Older gates do not send it. */
    boolean buffered() {
        return has("buffered") && flag("buffered");
    }

    private boolean isNull(String name) {
        return has(name) && values.get(name) == null;
    }

    private static WeirException invalid(String name, String expected) {
        return new WeirException(WeirException.Kind.ANSWER, "the gate's answer is not valid: " + name + " is not " + expected);
    }
}
