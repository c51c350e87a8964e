package io.github.weirratelimit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Attributes with values that every gate accepts, so that no client of a server can cause an error by what it sends. */
public final class SafeAttributes {
    private static final int BYTES_MAX = 512;
    private static final Pattern REFUSED = Pattern.compile("[\\p{Cc}\\p{Cs}]");

    private SafeAttributes() {}

    /**
     * The attributes, with values that are longer than 512 bytes or contain control characters replaced by their SHA-256.
     *
     * @param attributes names and values
     * @return names and values
     */
    public static Map<String, @Nullable Object> of(Map<String, ? extends @Nullable Object> attributes) {
        Map<String, @Nullable Object> safe = new LinkedHashMap<>();
        attributes.forEach((name, value) -> safe.put(name, value instanceof CharSequence text ? safe(text.toString()) : value));
        return safe;
    }

    private static String safe(String value) {
        byte[] bytes = value.getBytes(UTF_8);
        if (bytes.length <= BYTES_MAX && !REFUSED.matcher(value).find()) return value;
        try {
            return "sha256:" + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException(missing);
        }
    }
}
