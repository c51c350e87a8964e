package io.github.weirratelimit;

import static io.github.weirratelimit.Support.attributes;
import static io.github.weirratelimit.Support.ms;
import static io.github.weirratelimit.Support.object;
import static io.github.weirratelimit.Support.objects;
import static io.github.weirratelimit.Support.ofRun;
import static io.github.weirratelimit.Support.request;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The rows of conformance.json. */
class ConformanceTest {
    @TestFactory
    Collection<DynamicTest> cases() {
        return Support.rows("cases").stream().map(row -> DynamicTest.dynamicTest((String) row.get("name"), () -> new Run(row).run())).toList();
    }

    @TestFactory
    Collection<DynamicTest> concurrent() {
        return Support.rows("concurrent").stream().map(row -> DynamicTest.dynamicTest((String) row.get("name"), () -> atOnce(row))).toList();
    }

    private static void atOnce(Map<String, Object> row) {
        String url = Support.url(row);
        Weir.Builder builder = Support.client(row, url);
        CompletableFuture<Void> made = new CompletableFuture<>();
        // No call to the stub is sent before all are made, however slow this thread is.
        if (!row.containsKey("times")) builder.httpClient(HttpClient.newBuilder().executor(task -> made.thenRunAsync(task)).build());
        AsyncWeir weir = builder.build().async();
        List<Map<String, Object>> calls = new ArrayList<>(objects(row.get("calls")));
        while (calls.size() < (Long) row.getOrDefault("times", 1L)) calls.add(calls.get(0));
        List<CompletableFuture<Answer>> answers = calls.stream()
                .map(step -> step.get("call").equals("peek") ? weir.peek(request(step)) : weir.check(request(step)))
                .toList();
        made.complete(null);
        if (row.containsKey("times")) {
            assertEquals(row.get("allowed"), answers.stream().filter(answer -> answer.join().allowed()).count());
            return;
        }
        for (int at = 0; at < calls.size(); at += 1) {
            Map<String, Object> step = calls.get(at);
            String where = "call " + at;
            try {
                Support.compare(Weir.block(answers.get(at)), object(step.getOrDefault("expect", Map.of("no", "answer"))), where);
            } catch (WeirException error) {
                assertNotNull(step.get("error"), where + ": " + error);
                Support.compareError(error, object(step.get("error")), where);
            }
        }
        if (row.containsKey("paths")) {
            assertEquals(row.get("paths"), Support.requestsAt(url).stream().map(request -> request.get("path")).toList());
        }
    }

    /** One row, and what its steps leave to the next ones. */
    private static final class Run {
        private final Map<String, Object> row;
        private final String url;
        private final Weir weir;
        private final List<Long> slept = new ArrayList<>();
        private Reservation reservation;
        private String lease = "lease_x";
        private String job = "deferred_x";
        private String charge;

        Run(Map<String, Object> row) {
            this.row = row;
            this.url = Support.url(row);
            Weir.Builder builder = Support.client(row, url);
            if (row.get("server").equals("stub")) {
                builder.sleep(time -> {
                    slept.add(time.toMillis());
                    return CompletableFuture.completedFuture(null);
                });
            }
            // A busy machine must not outlast a cached denial.
            if (objects(row.get("steps")).stream().noneMatch(step -> step.get("call").equals("wait"))) builder.nowMs(() -> 0);
            this.weir = builder.build();
        }

        void run() {
            int nth = 0;
            for (Map<String, Object> step : objects(row.get("steps"))) {
                String where = "step " + nth++ + " (" + step.get("call") + ")";
                if (step.containsKey("until")) until(step, where);
                else take(step, where);
            }
            if (row.containsKey("sleeps")) assertEquals(row.get("sleeps"), slept);
            if (row.get("server").equals("stub")) compareRequests();
        }

        private void until(Map<String, Object> step, String where) {
            long deadline = System.nanoTime() + Support.GENEROUS.toNanos() / 2;
            Support.until(() -> {
                try {
                    take(step, where);
                    return true;
                } catch (AssertionError fault) {
                    if (System.nanoTime() > deadline) throw fault;
                    return false;
                }
            });
        }

        private void take(Map<String, Object> step, String where) {
            try {
                Object outcome = outcome(step);
                assertNull(step.get("error"), where + ": " + outcome);
                if (outcome instanceof List<?> answers) {
                    List<Map<String, Object>> wanted = objects(step.get("results"));
                    assertEquals(wanted.size(), answers.size(), where);
                    for (int at = 0; at < answers.size(); at += 1) Support.compare((Answer) answers.get(at), wanted.get(at), where);
                } else {
                    Support.compare(object(outcome), object(step.get("expect")), where + ": " + outcome);
                }
            } catch (WeirException error) {
                assertNotNull(step.get("error"), where + ": " + error);
                Support.compareError(error, object(step.get("error")), where);
            }
        }

        /** The answers of a batch, or the fields of another result. */
        private Object outcome(Map<String, Object> step) {
            return switch ((String) step.get("call")) {
                case "batch" -> weir.checkAll(objects(step.get("checks")).stream().map(Support::request).toList());
                case "check" -> answer(weir.check(request(step)));
                case "peek" -> answer(weir.peek(request(step)));
                case "wait" -> answer(weir.await(request(step), ms(step.get("max_ms"))));
                case "record" -> answer(weir.record(request(step)));
                case "refund" -> {
                    Object given = step.get("charge");
                    yield answer(weir.refund(request(step), "$CHARGE".equals(given) ? charge : (String) given));
                }
                case "exhaust" -> answer(weir.exhaust("conformance", attributes(step), ms(step.get("for_ms"))));
                case "reserve" -> reserve(step);
                case "commit" -> committed(reservation.commit((Long) step.get("cost")));
                case "cancel" -> committed(reservation.cancel());
                case "renew" -> {
                    Renewed renewed = weir.renew((String) step.getOrDefault("lease", lease));
                    yield map("held", renewed.held(), "degraded", Support.lower(renewed.degraded()));
                }
                case "release" -> {
                    Released released = weir.release((String) step.getOrDefault("lease", lease));
                    yield map("released", released.released(), "degraded", Support.lower(released.degraded()));
                }
                case "defer" -> defer(step);
                case "deferred" -> job(weir.deferred((String) step.getOrDefault("job", job)));
                case "cancel_deferred" -> map("removed", weir.cancelDeferred((String) step.getOrDefault("job", job)));
                default -> throw new IllegalArgumentException(step.toString());
            };
        }

        private Map<String, Object> answer(Answer answer) {
            if (answer.charge() != null) charge = answer.charge();
            if (!answer.leases().isEmpty()) lease = answer.leases().get(0).id();
            return Support.fields(answer);
        }

        private Map<String, Object> reserve(Map<String, Object> step) {
            Duration ttl = step.containsKey("ttl_ms") ? ms(step.get("ttl_ms")) : null;
            reservation = weir.reserve(request(step), new ReserveOptions(ttl, Boolean.TRUE.equals(step.get("at_most"))));
            Map<String, Object> found = answer(reservation.getAnswer());
            found.put("reserved", reservation.getReserved());
            return found;
        }

        private Map<String, Object> defer(Map<String, Object> step) {
            Duration notAfter = step.containsKey("not_after_ms") ? ms(step.get("not_after_ms")) : null;
            Duration timeout = step.containsKey("timeout_ms") ? ms(step.get("timeout_ms")) : Support.GENEROUS;
            String target = step.containsKey("target") ? (String) step.get("target") : Support.env("WEIR_WEBHOOK");
            Deferral deferral = weir.defer(new DeferRequest(request(step), target, step.get("payload"), notAfter, timeout));
            if (deferral.job() != null) job = deferral.job().id();
            Map<String, Object> found = job(deferral.job());
            Map<String, Object> expected = object(object(step.getOrDefault("expect", Map.of())).get("answer"));
            if (deferral.answer() != null && expected != null) {
                Support.compare(deferral.answer(), expected, "the answer of a defer");
                found.put("answer", expected);
            } else {
                found.put("answer", deferral.answer());
            }
            return found;
        }

        private static Map<String, Object> job(DeferredJob job) {
            if (job == null) return map("state", null);
            Map<String, Object> found = map("state", Support.lower(job.state()), "position", job.position(), "charged", job.charged());
            found.putAll(map("attempts", job.attempts(), "error", job.error(), "expires_at_ms", job.expiresAtMs()));
            return found;
        }

        private static Map<String, Object> committed(Committed committed) {
            Map<String, Object> found = map("charged", committed.charged(), "released", committed.released(), "late", committed.late());
            found.putAll(map("degraded", Support.lower(committed.degraded()), "buffered", committed.buffered()));
            return found;
        }

        private static Map<String, Object> map(Object... entries) {
            Map<String, Object> found = new HashMap<>();
            for (int at = 0; at < entries.length; at += 2) found.put((String) entries[at], entries[at + 1]);
            return found;
        }

        private void compareRequests() {
            List<Map<String, Object>> requests = Support.requestsAt(url);
            if (row.containsKey("requests")) assertEquals(row.get("requests"), (long) requests.size(), "requests");
            if (Boolean.TRUE.equals(row.get("same_key"))) {
                Set<Object> keys = requests.stream().map(request -> object(request.get("body")).get("idempotency_key")).collect(Collectors.toSet());
                assertEquals(1, keys.size());
                assertTrue(((String) keys.iterator().next()).length() >= 16);
            }
        }
    }
}
