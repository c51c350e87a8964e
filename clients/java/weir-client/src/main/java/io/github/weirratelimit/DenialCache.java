package io.github.weirratelimit;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Denials that the gate permits the client to repeat. Bounded; the oldest entry leaves first. */
final class DenialCache {
    /** The longest time for which a denial is repeated, whatever the gate permits. */
    private static final long MAX_MS = 1_000;

    private record Entry(Answer answer, long sinceMs, long untilMs) {}

    private final int size;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Entry> entries = new LinkedHashMap<>();
    private volatile long generation;

    DenialCache(int size) {
        this.size = size;
    }

    /** Changes with each {@code clear}: a denial of a request that was sent before is not inserted after it. */
    long generation() {
        return generation;
    }

    @Nullable Answer get(String key, long nowMs) {
        lock.lock();
        try {
            Entry entry = entries.get(key);
            if (entry == null) return null;
            if (nowMs < entry.untilMs) return entry.answer.after(nowMs - entry.sinceMs);
            entries.remove(key);
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** {@code sinceMs} is the time before the request was sent, so that the entry ends before the gate's decision does. */
    void insert(String key, Answer.GateAnswer gate, long sinceMs, long ofGeneration) {
        Answer answer = gate.answer();
        long ms = Math.min(gate.cacheForMs(), MAX_MS);
        if (answer.retryAfterMs() != null) ms = Math.min(ms, answer.retryAfterMs());
        if (answer.allowed() || answer.degraded() != null || ms <= 0 || size <= 0) return;
        lock.lock();
        try {
            if (ofGeneration != generation) return;
            entries.remove(key);
            Iterator<String> oldest = entries.keySet().iterator();
            if (entries.size() >= size && oldest.hasNext()) {
                oldest.next();
                oldest.remove();
            }
            entries.put(key, new Entry(answer, sinceMs, sinceMs + ms));
        } finally {
            lock.unlock();
        }
    }

    void clear() {
        lock.lock();
        try {
            generation += 1;
            entries.clear();
        } finally {
            lock.unlock();
        }
    }
}
