package io.github.weirratelimit;

import java.util.concurrent.ScheduledThreadPoolExecutor;

/** One thread of all clients for deadlines, waits and renewals; what it runs does not block. */
final class Timers {
    static final ScheduledThreadPoolExecutor TIMERS = new ScheduledThreadPoolExecutor(1, task -> {
        Thread thread = new Thread(task, "weir-timers");
        thread.setDaemon(true);
        return thread;
    });

    static {
        TIMERS.setRemoveOnCancelPolicy(true);
    }

    private Timers() {}
}
