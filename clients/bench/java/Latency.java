import io.github.weirratelimit.Answer;
import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.OnError;
import io.github.weirratelimit.Weir;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Measures a check by the Java client beside the same request by java.net.http: Latency ROUNDS CALLS [concurrent]. Prints the latencies in
 * nanoseconds as a JSON object for each round; with concurrent, those of bursts.
 */
public class Latency {
    private static final String URL = System.getenv("WEIR_GATE_URL");
    private static final String KEY = System.getenv("WEIR_KEY");
    private static final CheckRequest REQUEST = CheckRequest.of("conformance", Map.of("suite", "latency", "user", "java"));
    private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        if (args.length > 2) {
            bursts(rounds);
            return;
        }
        Weir weir = builder().timeout(Duration.ofSeconds(20)).build();
        int calls = Integer.parseInt(args[1]);
        // The first round warms up; the JIT compiler needs more than one.
        for (int round = -4; round < rounds; round++) {
            long[] bare = new long[calls];
            long[] client = new long[calls];
            for (int call = 0; call < calls; call++) {
                // In turn, and each as often first, so that what else the machine does meets both alike.
                if (call % 2 == 0) bare[call] = timed(() -> decided(bare()));
                client[call] = timed(() -> decided(weir.check(REQUEST)));
                if (call % 2 == 1) bare[call] = timed(() -> decided(bare()));
            }
            if (round >= 0) System.out.println("{\"bare\":" + java.util.Arrays.toString(bare) + ",\"client\":" + java.util.Arrays.toString(client) + "}");
        }
    }

    private static Weir.Builder builder() {
        return Weir.builder(URL, KEY, OnError.DENY).cacheSize(0);
    }

    /** The client has the deadline that it has by default. */
    private static void bursts(int rounds) {
        Weir weir = builder().build();
        for (int size : List.of(1, 64, 300, 1_000)) {
            long[] bare = new long[rounds];
            long[] client = new long[rounds];
            int[] late = new int[rounds];
            for (int round = -4; round < rounds; round++) {
                int at = Math.max(round, 0);
                bare[at] = burst(size, () -> HTTP.sendAsync(request(), HttpResponse.BodyHandlers.ofString()).thenApply(response -> decided(response.body())))[0];
                long[] found = burst(size, () -> weir.async().check(REQUEST).thenApply(answer -> decided(answer)));
                client[at] = found[0];
                late[at] = (int) found[1];
            }
            System.out.println("{\"at_once\":" + size + ",\"bare\":" + java.util.Arrays.toString(bare) + ",\"client\":" + java.util.Arrays.toString(client)
                    + ",\"late\":" + java.util.Arrays.toString(late) + "}");
        }
    }

    /** The time of this number of calls at once, and how many of them no gate decided in time. */
    private static long[] burst(int size, Supplier<CompletableFuture<Boolean>> call) {
        long begun = System.nanoTime();
        List<CompletableFuture<Boolean>> calls = IntStream.range(0, size).mapToObj(nth -> call.get()).toList();
        long late = calls.stream().filter(one -> !one.join()).count();
        return new long[] {System.nanoTime() - begun, late};
    }

    private static HttpRequest request() {
        String text = "{\"namespace\":\"conformance\",\"attributes\":{\"suite\":\"latency\",\"user\":\"java\"}}";
        return HttpRequest.newBuilder(URI.create(URL + "/check")).header("Authorization", "Bearer " + KEY).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(text)).build();
    }

    private static String bare() {
        try {
            return HTTP.send(request(), HttpResponse.BodyHandlers.ofString()).body();
        } catch (java.io.IOException | InterruptedException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static boolean decided(String body) {
        return body.startsWith("{\"allowed\":true") && body.contains("\"degraded\":null");
    }

    private static boolean decided(Answer answer) {
        return answer.allowed() && answer.degraded() == null;
    }

    private static long timed(Supplier<Boolean> call) {
        long begun = System.nanoTime();
        boolean decided = call.get();
        long taken = System.nanoTime() - begun;
        if (!decided) throw new IllegalStateException("not a decision");
        return taken;
    }
}
