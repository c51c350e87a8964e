package io.github.weirratelimit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpClient;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What needs no gate. */
class UnitTest {
    @Test
    void readsAndWritesJson() {
        String text = "{\"a\":[1,-2.5,true,null,\"Zo\\u00eb \\\"\\\\\\n\"],\"b\":{}}";
        Object value = Json.parse(text);
        assertEquals("{\"a\":[1,-2.5,true,null,\"Zoë \\\"\\\\\\u000a\"],\"b\":{}}", Json.write(value));
        assertEquals(value, Json.parse(Json.write(value)));
        assertEquals(1e20, Json.parse("100000000000000000000"));
        for (String wrong : List.of("", "{", "[1,]", "{\"a\"}", "01", "1.", "\"\n\"", "\"\\u12", "nul", "1 2", "-", "[".repeat(200), "\"\\x\"")) {
            assertThrows(IllegalArgumentException.class, () -> Json.parse(wrong), wrong);
        }
        assertThrows(IllegalArgumentException.class, () -> Json.write(Map.of("a", new Object())));
        assertThrows(IllegalArgumentException.class, () -> Json.write(Double.NaN));
    }

    @Test
    void cutsAddresses() {
        ClientAddress peer = ClientAddress.OF_PEER;
        assertEquals("192.0.2.1", peer.of("192.0.2.1", List.of("198.51.100.1")));
        assertEquals("192.0.2.1", peer.of("::ffff:192.0.2.1", List.of()));
        assertEquals("2001:db8:1:2::/64", peer.of("2001:db8:1:2:3:4:5:6%eth0", List.of()));
        assertEquals("2001:db8::1", new ClientAddress(0, 128).of("[2001:db8:0:0:0::1]:443", List.of()));
        assertEquals("::/64", peer.of("::1", List.of()));
        ClientAddress behindTwo = new ClientAddress(2, 64);
        assertEquals("198.51.100.2", behindTwo.of("192.0.2.1", List.of("6.6.6.6, 198.51.100.2", "10.0.0.1")));
        assertEquals("192.0.2.1", behindTwo.of("192.0.2.1", List.of("not an address, 10.0.0.1")));
        for (String wrong : List.of("", "gate.example", "1.2.3", "1.2.3.256", "01.2.3.4", "1::2::3")) {
            assertThrows(IllegalArgumentException.class, () -> peer.of(wrong, List.of()), wrong);
        }
        assertThrows(IllegalArgumentException.class, () -> new ClientAddress(-1, 64));
        assertThrows(IllegalArgumentException.class, () -> new ClientAddress(0, 31));
    }

    @Test
    void checksSignatures() {
        // Of the specification of Standard Webhooks.
        String secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        byte[] body = "{\"test\": 2432232314}".getBytes(UTF_8);
        Map<String, String> headers = Map.of(
                "webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp", "1614265330",
                "webhook-signature", "v1,bm90IHRoaXMgb25l v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        Clock then = Clock.fixed(Instant.ofEpochSecond(1614265330 + 300), ZoneOffset.UTC);
        assertTrue(WebhookSignature.isFromWeir(secret, headers::get, body, then));
        assertFalse(WebhookSignature.isFromWeir(secret, headers::get, "{}".getBytes(UTF_8), then));
        assertFalse(WebhookSignature.isFromWeir(secret, headers::get, body, Clock.offset(then, Duration.ofSeconds(1))));
        assertFalse(WebhookSignature.isFromWeir(secret, name -> null, body, then));
        assertFalse(WebhookSignature.isFromWeir(secret, headers::get, body));
        assertThrows(IllegalArgumentException.class, () -> WebhookSignature.isFromWeir("", headers::get, body));
    }

    @Test
    void refusesWrongOptions() {
        for (String url : List.of("gate:8081", "ftp://gate", "http://", "http://user@gate", "http://gate?a=b", "http:// gate")) {
            assertThrows(IllegalArgumentException.class, () -> Weir.builder(url, "key", OnError.DENY), url);
        }
        assertThrows(IllegalArgumentException.class, () -> Weir.builder("http://gate", "a key", OnError.DENY));
        Weir.Builder builder = Weir.builder("http://gate/", "key", OnError.DENY);
        assertThrows(IllegalArgumentException.class, () -> builder.timeout(Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> builder.maxInFlight(65));
        assertThrows(IllegalArgumentException.class, () -> builder.maxWaiting(-1));
        assertThrows(IllegalArgumentException.class, () -> builder.cacheSize(1_000_001));
        assertThrows(IllegalArgumentException.class, () -> builder.retrySpread(Duration.ofMinutes(2)));
        HttpClient following = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.ALWAYS).build();
        assertThrows(IllegalArgumentException.class, () -> builder.httpClient(following));
    }

    @Test
    void refusesAttributesThatAreNoValues() {
        Weir weir = new MemoryGate().client();
        for (Object wrong : List.of(List.of("a"), Map.of(), new Object(), Double.NaN)) {
            assertThrows(IllegalArgumentException.class, () -> weir.check("api", Map.of("user", wrong)));
        }
        Map<String, Object> safe = SafeAttributes.of(Map.of("short", "Zoë", "long", "x".repeat(513), "control", "a\nb", "number", 1));
        assertEquals("Zoë", safe.get("short"));
        assertTrue(((String) safe.get("long")).matches("sha256:[0-9a-f]{64}"));
        assertTrue(((String) safe.get("control")).startsWith("sha256:"));
        assertEquals(1, safe.get("number"));
    }

    @Test
    void gateInMemoryDeniesWhatATestNames() {
        MemoryGate gate = new MemoryGate();
        Weir weir = gate.client();
        gate.deny("api", Map.of("user", "eve"), null);
        assertNull(weir.check("api", Map.of("user", "eve")).retryAfterMs());
        assertTrue(weir.check("api", Map.of("user", "ann")).allowed());
        assertEquals(3, weir.reserve(CheckRequest.of("api", Map.of()).withCost(3)).commit(3).charged());
        assertEquals(List.of("/check", "/check", "/reserve", "/commit"), gate.received().stream().map(MemoryGate.Received::path).toList());
        gate.fail(WeirException.Kind.TIMEOUT);
        assertEquals(Degraded.CLIENT, weir.check("api", Map.of()).degraded());
        gate.allow();
        assertTrue(weir.check("api", Map.of("user", "eve")).allowed());
    }
}
