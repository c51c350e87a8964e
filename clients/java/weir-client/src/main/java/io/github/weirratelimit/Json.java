package io.github.weirratelimit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** JSON (RFC 8259) as maps, lists, strings, booleans, null, and numbers: {@code Long} where one holds it, otherwise {@code Double}. */
final class Json {
    /** Deeper values are refused, so that no answer overflows the stack. */
    private static final int DEPTH_MAX = 100;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Throws {@code IllegalArgumentException} if the text is not JSON. */
    static @Nullable Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        if (json.next() != END) throw json.wrong();
        return value;
    }

    static String write(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value, "value");
        return out.toString();
    }

    private static final int END = -1;

    /** The next character that is no space, which is not consumed. */
    private int next() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at += 1;
        return at < text.length() ? text.charAt(at) : END;
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("not JSON at character " + at);
    }

    private void expect(String word) {
        if (!text.startsWith(word, at)) throw wrong();
        at += word.length();
    }

    private @Nullable Object value(int depth) {
        if (depth > DEPTH_MAX) throw wrong();
        switch (next()) {
            case '{':
                return object(depth);
            case '[':
                return list(depth);
            case '"':
                return string();
            case 't':
                expect("true");
                return true;
            case 'f':
                expect("false");
                return false;
            case 'n':
                expect("null");
                return null;
            default:
                return number();
        }
    }

    private Map<String, @Nullable Object> object(int depth) {
        Map<String, @Nullable Object> found = new LinkedHashMap<>();
        at += 1;
        if (next() != '}') {
            do {
                if (next() != '"') throw wrong();
                String name = string();
                next();
                expect(":");
                found.put(name, value(depth + 1));
            } while (comma());
        }
        next();
        expect("}");
        return found;
    }

    private List<@Nullable Object> list(int depth) {
        List<@Nullable Object> found = new ArrayList<>();
        at += 1;
        if (next() != ']') {
            do {
                found.add(value(depth + 1));
            } while (comma());
        }
        next();
        expect("]");
        return found;
    }

    private boolean comma() {
        if (next() != ',') return false;
        at += 1;
        return true;
    }

    private String string() {
        int begin = ++at;
        while (at < text.length() && text.charAt(at) != '"' && text.charAt(at) != '\\' && text.charAt(at) >= ' ') at += 1;
        if (at < text.length() && text.charAt(at) == '"') return text.substring(begin, at++);
        StringBuilder found = new StringBuilder(text.substring(begin, at));
        while (at < text.length()) {
            char one = text.charAt(at++);
            if (one == '"') return found.toString();
            if (one < ' ') break;
            found.append(one == '\\' ? escaped() : one);
        }
        throw wrong();
    }

    private char escaped() {
        if (at >= text.length()) throw wrong();
        char one = text.charAt(at++);
        int known = "\"\\/bfnrt".indexOf(one);
        if (known >= 0) return "\"\\/\b\f\n\r\t".charAt(known);
        if (one != 'u' || at + 4 > text.length()) throw wrong();
        int code = 0;
        for (int end = at + 4; at < end; at += 1) {
            int digit = Character.digit(text.charAt(at), 16);
            if (digit < 0 || text.charAt(at) > 'f') throw wrong();
            code = code * 16 + digit;
        }
        return (char) code;
    }

    private Object number() {
        int begin = at;
        if (at < text.length() && text.charAt(at) == '-') at += 1;
        int whole = at;
        digits();
        if (text.charAt(whole) == '0' && at > whole + 1) throw wrong();
        boolean fraction = false;
        if (at < text.length() && text.charAt(at) == '.') {
            fraction = true;
            at += 1;
            digits();
        }
        if (at < text.length() && (text.charAt(at) | 32) == 'e') {
            fraction = true;
            at += 1;
            if (at < text.length() && "+-".indexOf(text.charAt(at)) >= 0) at += 1;
            digits();
        }
        String found = text.substring(begin, at);
        if (fraction || at - whole > 18) return Double.valueOf(found);
        return Long.valueOf(found);
    }

    private void digits() {
        int begin = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at += 1;
        if (at == begin) throw wrong();
    }

    private static void write(StringBuilder out, @Nullable Object value, String where) {
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof CharSequence || value instanceof Enum<?> || value instanceof Character || value instanceof java.util.UUID) {
            quote(out, value.toString());
        } else if (value instanceof Number number) {
            double real = number.doubleValue();
            if (Double.isNaN(real) || Double.isInfinite(real)) throw new IllegalArgumentException(where + ": JSON has no " + number);
            out.append(number);
        } else if (value instanceof Map<?, ?> map) {
            char separator = '{';
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(separator);
                quote(out, String.valueOf(entry.getKey()));
                write(out.append(':'), entry.getValue(), where + "." + entry.getKey());
                separator = ',';
            }
            out.append(separator == '{' ? "{}" : "}");
        } else if (value instanceof Iterable<?> items) {
            char separator = '[';
            for (Object item : items) {
                write(out.append(separator), item, where);
                separator = ',';
            }
            out.append(separator == '[' ? "[]" : "]");
        } else {
            throw new IllegalArgumentException(where + ": maps, lists, texts, numbers and booleans become JSON, not " + value.getClass().getName());
        }
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (int at = 0; at < text.length(); at += 1) {
            char one = text.charAt(at);
            if (one == '"' || one == '\\') {
                out.append('\\').append(one);
            } else if (Character.isHighSurrogate(one) && at + 1 < text.length() && Character.isLowSurrogate(text.charAt(at + 1))) {
                out.append(one).append(text.charAt(++at));
            } else if (one < ' ' || Character.isSurrogate(one)) {
                out.append(String.format("\\u%04x", (int) one));
            } else {
                out.append(one);
            }
        }
        out.append('"');
    }
}
