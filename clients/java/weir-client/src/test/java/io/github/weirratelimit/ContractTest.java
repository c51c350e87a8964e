package io.github.weirratelimit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the other clients promise too, against a real gate, which some tests freeze. */
class ContractTest {
    private static final CheckRequest SUBJECT = CheckRequest.of("conformance", Map.of("suite", "none"));

    private static void signal(String signal) {
        try {
            assertEquals(0, new ProcessBuilder("kill", "-" + signal, Support.env("WEIR_PID")).start().waitFor());
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }

    private static Weir.Builder gate(OnError onError) {
        return Weir.builder(Support.env("WEIR_GATE_URL"), Support.env("WEIR_KEY"), onError);
    }

    @Test
    void frozenGateLeavesTheDecisionToOnErrorAndIsUsedAgainWhenItContinues() {
        Weir patient = Support.patient();
        assertNull(patient.peek(SUBJECT).degraded());
        AtomicInteger degraded = new AtomicInteger();
        signal("STOP");
        try {
            for (OnError choice : List.of(OnError.DENY, OnError.ALLOW)) {
                Weir weir = gate(choice).onDegraded(failure -> degraded.incrementAndGet()).build();
                List<CompletableFuture<Answer>> answers = IntStream.range(0, 20).mapToObj(nth -> weir.async().check(SUBJECT)).toList();
                for (CompletableFuture<Answer> answer : answers) {
                    assertEquals(choice == OnError.ALLOW, answer.join().allowed());
                    assertEquals(WeirException.Kind.TIMEOUT, answer.join().error().getKind());
                }
                WeirException late = assertThrows(WeirException.class, () -> weir.refund(SUBJECT, null));
                assertEquals(WeirException.Kind.TIMEOUT, late.getKind());
            }
        } finally {
            signal("CONT");
        }
        assertEquals(40, degraded.get());
        assertNull(patient.peek(SUBJECT).degraded());
    }

    @Test
    void cancelledCheckLeavesItsNeighbours() {
        AsyncWeir weir = gate(OnError.DENY).timeout(Support.GENEROUS).maxInFlight(1).build().async();
        signal("STOP");
        List<CompletableFuture<Answer>> answers;
        try {
            answers = IntStream.range(0, 4).mapToObj(nth -> weir.check(SUBJECT)).toList();
            answers.get(0).cancel(false);
            answers.get(2).cancel(false);
        } finally {
            signal("CONT");
        }
        assertNull(answers.get(1).join().degraded());
        assertNull(answers.get(3).join().degraded());
        assertThrows(CancellationException.class, answers.get(2)::join);
    }

    @Test
    void interruptedThreadGivesItsCheckUp() throws InterruptedException {
        Weir weir = gate(OnError.ALLOW).timeout(Support.GENEROUS).build();
        CompletableFuture<Boolean> outcome = new CompletableFuture<>();
        signal("STOP");
        try {
            Thread thread = new Thread(() -> {
                try {
                    weir.check(SUBJECT);
                    outcome.complete(false);
                } catch (CancellationException cancelled) {
                    outcome.complete(Thread.currentThread().isInterrupted());
                }
            });
            thread.start();
            Support.until(() -> weir.async().batcher.undecided() == 1);
            thread.interrupt();
            assertTrue(outcome.join());
            thread.join();
        } finally {
            signal("CONT");
        }
    }

    @Test
    void leaseOfAnAbandonedCheckIsReleased() {
        Weir weir = gate(OnError.DENY).timeout(Support.GENEROUS).cacheSize(0).build();
        CheckRequest place = CheckRequest.of("conformance", Map.of("suite", "places", "user", "java-away-" + Support.RUN));
        signal("STOP");
        try {
            CompletableFuture<Answer> check = weir.async().check(place);
            // The call goes on; its answer is late.
            Support.until(() -> weir.async().batcher.undecided() == 1);
            check.cancel(false);
        } finally {
            signal("CONT");
        }
        Support.until(() -> weir.peek(place).allowed());
    }

    @Test
    void threadsShareAClient() {
        Weir weir = gate(OnError.DENY).timeout(Support.GENEROUS).build();
        CheckRequest request = CheckRequest.of("conformance", Map.of("suite", "window", "user", "java-threads-" + Support.RUN));
        ExecutorService threads = Executors.newFixedThreadPool(12);
        try {
            List<CompletableFuture<Answer>> answers =
                    IntStream.range(0, 12).mapToObj(nth -> CompletableFuture.supplyAsync(() -> weir.check(request), threads)).toList();
            assertEquals(2, answers.stream().filter(answer -> answer.join().allowed()).count());
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void ownHeaderOfTracesIsSent() {
        Map<String, Object> row = Support.rows("cases").stream().filter(one -> one.get("name").equals("a peek is retried without a key")).findFirst().orElseThrow();
        String url = Support.url(row) + "-trace";
        String header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assertTrue(Support.client(row, url).traceparent(() -> header).build().peek(SUBJECT).allowed());
        assertEquals(header, Support.requestsAt(url).get(0).get("traceparent"));
    }

    @Test
    void tenThousandCallsLeaveFewSocketsAndThreads() throws IOException {
        int sockets = sockets();
        long threads = ManagementFactory.getThreadMXBean().getTotalStartedThreadCount();
        for (String url : List.of(Support.env("WEIR_GATE_URL"), Support.closedPort())) {
            Weir weir = Weir.builder(url, Support.env("WEIR_KEY"), OnError.DENY).timeout(Support.GENEROUS).build();
            for (int call = 0; call < 5_000; call += 1) assertEquals(url.equals(Support.env("WEIR_GATE_URL")), weir.peek(SUBJECT).degraded() == null);
            // A failure takes a thread of the HTTP client, an answer none.
            long started = ManagementFactory.getThreadMXBean().getTotalStartedThreadCount() - threads;
            if (url.equals(Support.env("WEIR_GATE_URL"))) assertTrue(started < 1_000, () -> started + " threads");
        }
        assertTrue(sockets() - sockets <= 4, () -> "open sockets");
        // Those that ran callbacks end soon; the timers stay.
        Support.until(() -> Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().startsWith("weir-")).count() <= 1);
    }

    private static int sockets() throws IOException {
        try (Stream<Path> entries = Files.list(Path.of("/proc/self/fd"))) {
            return (int) entries.filter(ContractTest::isSocket).count();
        }
    }

    private static boolean isSocket(Path entry) {
        try {
            return Files.readSymbolicLink(entry).toString().startsWith("socket:");
        } catch (IOException closed) {
            return false;
        }
    }
}
