package io.github.weirratelimit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Clock;
import java.util.Base64;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** The signatures of the messages that Weir sends to webhooks: deferred jobs and alerts. */
public final class WebhookSignature {
    /** The greatest difference between the clocks. */
    private static final long TOLERANCE_S = 300;
    /** More than Weir sends: one, and two while a secret is replaced. */
    private static final int SIGNATURES_MAX = 8;

    private WebhookSignature() {}

    /**
     * Whether Weir sent this message lately and nobody changed it: whether one of its signatures was made with the secret of the webhook. A
     * message can arrive twice: remember its {@code webhook-id}.
     *
     * @param secret the secret of the webhook
     * @param header returns the value of the header with a name; null if there is none
     * @param body what arrived, not yet parsed
     * @return whether it is genuine
     */
    public static boolean isFromWeir(String secret, Function<String, @Nullable String> header, byte[] body) {
        return isFromWeir(secret, header, body, Clock.systemUTC());
    }

    static boolean isFromWeir(String secret, Function<String, @Nullable String> header, byte[] body, Clock clock) {
        byte[] key = decoded(secret.replaceFirst("^whsec_", ""));
        if (key == null || key.length == 0) throw new IllegalArgumentException("secret: the secret of a webhook is needed");
        String id = header.apply("webhook-id");
        String timestamp = header.apply("webhook-timestamp");
        String signatures = header.apply("webhook-signature");
        if (id == null || timestamp == null || signatures == null || !timestamp.matches("[0-9]{1,15}")) return false;
        if (Math.abs(clock.instant().getEpochSecond() - Long.parseLong(timestamp)) > TOLERANCE_S) return false;
        byte[] expected = mac(key, (id + "." + timestamp + ".").getBytes(UTF_8), body);
        String[] all = signatures.split(" ");
        for (int at = 0; at < Math.min(all.length, SIGNATURES_MAX); at += 1) {
            byte[] found = all[at].startsWith("v1,") ? decoded(all[at].substring(3)) : null;
            if (found != null && MessageDigest.isEqual(found, expected)) return true;
        }
        return false;
    }

    private static byte[] mac(byte[] key, byte[] head, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update(head);
            return mac.doFinal(body);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException(missing);
        }
    }

    private static byte @Nullable [] decoded(String base64) {
        try {
            return Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException notBase64) {
            return null;
        }
    }
}
