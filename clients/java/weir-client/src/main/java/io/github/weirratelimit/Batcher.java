package io.github.weirratelimit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Sends checks: at once while fewer than {@code maxInFlight} calls are in flight, and at most as many others wait for the answers to checks that
 * were given up. Otherwise they wait in order, and the next call carries all that wait, as a batch.
 */
final class Batcher {
    static final int BATCH_MAX = 100;
    /** A gate reads 64 KiB. A UTF-16 unit is at most three bytes of UTF-8. */
    private static final int LENGTH_MAX = ((64 << 10) - 16) / 3;
    private static final Pattern CHECK_OF_FIELD = Pattern.compile("^checks\\[(\\d{1,3})]");

    /** A decision, and the time before the check was sent, by {@code nowMs} of the settings. */
    record Decided(Answer.GateAnswer gate, long sentAtMs) {}

    /** A check that is not decided yet. The lock of the batcher guards what changes. */
    private static final class Pending {
        final String json;
        final boolean repeatable;
        final @Nullable String traceparent;
        final long deadlineNs;
        final CompletableFuture<Decided> decision = new CompletableFuture<>();
        boolean done;
        /** Whether a batch with this check was refused because of it. */
        boolean alone;
        /** Null while it waits. */
        @Nullable Batch batch;

        Pending(String json, boolean repeatable, @Nullable String traceparent, long deadlineNs) {
            this.json = json;
            this.repeatable = repeatable;
            this.traceparent = traceparent;
            this.deadlineNs = deadlineNs;
        }
    }

    /** A call in flight, with the number of its checks that are not decided. */
    private static final class Batch {
        final List<Pending> checks = new ArrayList<>();
        final long sentAtMs;
        int undecided;

        Batch(long sentAtMs) {
            this.sentAtMs = sentAtMs;
        }
    }

    private final Settings settings;
    private final Transport transport;
    private final Consumer<Answer> onLate;
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<Pending> queue = new ArrayDeque<>();
    private int inFlight;
    /** Those in flight, and those whose checks are all given up but whose answer is awaited, so that the connection stays open. */
    private int open;

    /** {@code onLate} gets the answer to a check that was given up before. */
    Batcher(Settings settings, Transport transport, Consumer<Answer> onLate) {
        this.settings = settings;
        this.transport = transport;
        this.onLate = onLate;
    }

    /** The decision about a check. Cancelling it gives up this check alone. */
    CompletableFuture<Decided> ask(String json, boolean repeatable, @Nullable String traceparent) {
        Pending check = new Pending(json, repeatable, traceparent, settings.deadlineNs(settings.timeoutMs()));
        lock.lock();
        try {
            if (!canSend() && queue.size() >= settings.maxWaiting()) {
                String message = settings.maxWaiting() + " checks wait already";
                return CompletableFuture.failedFuture(new WeirException(WeirException.Kind.OVERLOAD, message));
            }
            queue.add(check);
        } finally {
            lock.unlock();
        }
        Timers.Deadline timer = Timers.at(check.deadlineNs, () -> fail(check, WeirException.late()));
        check.decision.whenComplete((decided, failure) -> {
            timer.cancel();
            // Also if the caller cancelled it.
            settle(check);
        });
        sendNext();
        return check.decision;
    }

    /** The number of checks that wait or are in flight. */
    int undecided() {
        lock.lock();
        try {
            return queue.size() + inFlight;
        } finally {
            lock.unlock();
        }
    }

    private void fail(Pending check, Throwable failure) {
        if (settle(check)) check.decision.completeExceptionally(failure);
    }

    private void resolve(Pending check, Answer.GateAnswer gate, long sentAtMs) {
        // A caller that cancels at the same time has given it up.
        boolean taken = settle(check) && check.decision.complete(new Decided(gate, sentAtMs));
        if (!taken) onLate.accept(gate.answer());
    }

    /** Takes a check off the queue or its call. Returns false if it was decided or given up before. */
    private boolean settle(Pending check) {
        lock.lock();
        try {
            if (check.done) return false;
            check.done = true;
            if (check.batch == null) queue.remove(check);
            else leave(check);
        } finally {
            lock.unlock();
        }
        sendNext();
        return true;
    }

    /** A call without undecided checks is in flight no longer. */
    private void leave(Pending check) {
        if (check.batch != null && --check.batch.undecided == 0) inFlight -= 1;
        check.batch = null;
    }

    private boolean canSend() {
        return inFlight < settings.maxInFlight() && open < 2 * settings.maxInFlight();
    }

    private void sendNext() {
        for (Batch batch = take(); batch != null; batch = take()) send(batch);
    }

    /** The oldest checks that wait, as many as one call can carry; null if none can be sent. */
    private @Nullable Batch take() {
        lock.lock();
        try {
            if (!canSend() || queue.isEmpty()) return null;
            Batch batch = new Batch(settings.nowMs().getAsLong());
            int length = 0;
            for (Pending check = queue.peek(); check != null; check = queue.peek()) {
                length += check.json.length() + 1;
                // If a batch is refused, its checks are sent again, so those that cannot be repeated must not have been decided.
                boolean fits = batch.checks.size() < BATCH_MAX && length <= LENGTH_MAX && !check.alone;
                if (!batch.checks.isEmpty() && (!fits || check.repeatable != batch.checks.get(0).repeatable)) break;
                queue.remove();
                check.batch = batch;
                batch.checks.add(check);
                if (check.alone) break;
            }
            batch.undecided = batch.checks.size();
            inFlight += 1;
            open += 1;
            return batch;
        } finally {
            lock.unlock();
        }
    }

    private void send(Batch batch) {
        Pending first = batch.checks.get(0);
        boolean single = batch.checks.size() == 1;
        long latestNs = batch.checks.stream().mapToLong(check -> check.deadlineNs).reduce((a, b) -> a - b > 0 ? a : b).orElseThrow();
        String json = single
                ? first.json
                : batch.checks.stream().map(check -> check.json).collect(Collectors.joining(",", "{\"checks\":[", "]}"));
        // The last check is too late by its deadline. A connection whose answer comes a little later stays open.
        long deadlineNs = latestNs + settings.timeoutMs() * 1_000_000;
        String path = single ? "/check" : "/check/batch";
        Transport.Call call = new Transport.Call("POST", path, json, Transport.DECISION, deadlineNs, first.traceparent, first.repeatable);
        transport.send(call).whenComplete((reply, failure) -> {
            try {
                if (failure == null) read(batch, reply);
                else if (!single && AsyncWeir.isKind(failure, WeirException.Kind.REFUSED)) sendAgain(batch, (WeirException) AsyncWeir.cause(failure));
                else batch.checks.forEach(check -> fail(check, AsyncWeir.cause(failure)));
            } finally {
                end();
            }
        });
    }

    private void end() {
        lock.lock();
        open -= 1;
        lock.unlock();
        sendNext();
    }

    /** Gives each check its entry. One that is no answer fails its own check alone. */
    private void read(Batch batch, Transport.Reply reply) {
        List<Pending> checks = batch.checks;
        try {
            List<Object> entries = checks.size() == 1 ? java.util.Collections.singletonList(reply.body()) : entries(reply, checks.size());
            for (int at = 0; at < checks.size(); at += 1) {
                try {
                    Answer.GateAnswer gate = Answer.read(entries.get(at), reply.requestId());
                    boolean fits = checks.size() > 1 || reply.status() == (gate.answer().allowed() ? 200 : 429);
                    if (!fits) throw WeirException.notAnAnswer(reply.status());
                    resolve(checks.get(at), gate, batch.sentAtMs);
                } catch (WeirException failure) {
                    fail(checks.get(at), failure);
                }
            }
        } catch (WeirException failure) {
            checks.forEach(check -> fail(check, failure));
        }
    }

    /** The entries of {@code results}. */
    static List<Object> entries(Transport.Reply reply, int count) {
        if (reply.status() != 200) throw WeirException.notAnAnswer(reply.status());
        List<Object> entries = new Fields(reply.body(), "the batch").list("results", entry -> entry == null ? "null" : entry);
        if (entries.size() != count) throw WeirException.notAnAnswer(reply.status());
        return entries;
    }

    /** Puts the checks of a refused batch back, the wrong ones alone. */
    private void sendAgain(Batch batch, WeirException refusal) {
        Set<Integer> wrong = new HashSet<>();
        for (WeirException.FieldProblem one : refusal.getFields()) {
            Matcher named = CHECK_OF_FIELD.matcher(one.field());
            if (named.find() && Integer.parseInt(named.group(1)) < batch.checks.size()) wrong.add(Integer.valueOf(named.group(1)));
        }
        lock.lock();
        try {
            for (int at = batch.checks.size() - 1; at >= 0; at -= 1) {
                Pending check = batch.checks.get(at);
                if (check.done) continue;
                leave(check);
                check.alone = wrong.isEmpty() || wrong.contains(at);
                queue.addFirst(check);
            }
        } finally {
            lock.unlock();
        }
    }
}
