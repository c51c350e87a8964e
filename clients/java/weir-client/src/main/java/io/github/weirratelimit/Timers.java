package io.github.weirratelimit;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** One thread of all clients for deadlines, waits and renewals; what it runs does not block. */
final class Timers {
    static final ScheduledThreadPoolExecutor TIMERS = new ScheduledThreadPoolExecutor(1, task -> {
        Thread thread = new Thread(task, "weir-timers");
        thread.setDaemon(true);
        return thread;
    });

    /** Runs what follows an answer or a deadline: programs can add to it, and block. A thread that is idle for two seconds ends. */
    static final Executor CALLBACKS = new ThreadPoolExecutor(0, Integer.MAX_VALUE, 2, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> {
        Thread thread = new Thread(task, "weir-callbacks");
        thread.setDaemon(true);
        return thread;
    });

    static {
        TIMERS.setRemoveOnCancelPolicy(true);
    }

    /** Cancelled deadlines stay in the queue until there are this many more than others. */
    private static final int CANCELLED_MAX = 1_000;

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final PriorityQueue<Deadline> QUEUE = new PriorityQueue<>();
    private static int live;
    /** When the thread looks at the queue; null while it has no reason to. */
    private static @Nullable Long wakeNs;

    private Timers() {}

    /** An action at a time, unless it is cancelled before. */
    static final class Deadline implements Comparable<Deadline> {
        private final long ns;
        private @Nullable Runnable action;

        private Deadline(long ns, Runnable action) {
            this.ns = ns;
            this.action = action;
        }

        void cancel() {
            LOCK.lock();
            try {
                if (action == null) return;
                action = null;
                live -= 1;
                if (QUEUE.size() > 2 * live + CANCELLED_MAX) QUEUE.removeIf(one -> one.action == null);
            } finally {
                LOCK.unlock();
            }
        }

        @Override
        public int compareTo(Deadline other) {
            return Long.signum(ns - other.ns);
        }
    }

    /**
     * Runs the action at this time of {@code System.nanoTime()}. Nearly all deadlines of calls are cancelled, so the thread wakes once in a time-out
     * and not for each call.
     */
    static Deadline at(long ns, Runnable action) {
        Deadline deadline = new Deadline(ns, action);
        LOCK.lock();
        try {
            QUEUE.add(deadline);
            live += 1;
            wakeAt(ns);
        } finally {
            LOCK.unlock();
        }
        return deadline;
    }

    /** Needs the lock. */
    private static void wakeAt(long ns) {
        if (wakeNs != null && wakeNs - ns <= 0) return;
        wakeNs = ns;
        TIMERS.schedule(Timers::runDue, Math.max(ns - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
    }

    private static void runDue() {
        List<Runnable> due = new ArrayList<>();
        LOCK.lock();
        try {
            wakeNs = null;
            for (Deadline first = QUEUE.peek(); first != null; first = QUEUE.peek()) {
                if (first.action != null && first.ns - System.nanoTime() > 0) {
                    wakeAt(first.ns);
                    break;
                }
                QUEUE.remove();
                if (first.action != null) {
                    due.add(first.action);
                    first.action = null;
                    live -= 1;
                }
            }
        } finally {
            LOCK.unlock();
        }
        due.forEach(CALLBACKS::execute);
    }
}
