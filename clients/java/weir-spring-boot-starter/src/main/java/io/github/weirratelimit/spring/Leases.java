package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.AsyncWeir;
import io.github.weirratelimit.Lease;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The leases of an answer, which are renewed at a third of their time until they are released. */
final class Leases {
    private static final long UNKNOWN_MS = 60_000;

    private final AsyncWeir weir;
    private final Answer answer;
    private volatile boolean released;

    Leases(AsyncWeir weir, Answer answer) {
        this.weir = weir;
        this.answer = answer;
        for (Lease lease : answer.leases()) {
            long lengthMs = answer.limits().stream()
                    .filter(limit -> limit.ruleId().equals(lease.ruleId()) && limit.algorithm().equals("concurrency"))
                    .mapToLong(limit -> limit.windowMs()).findFirst().orElse(UNKNOWN_MS);
            renewLater(lease, Math.max(lengthMs / 3, 1));
        }
    }

    private void renewLater(Lease lease, long everyMs) {
        CompletableFuture.delayedExecutor(everyMs, TimeUnit.MILLISECONDS).execute(() -> {
            if (released) return;
            weir.renew(lease.id()).whenComplete((renewed, failure) -> {
                // A failed renewal is tried again: the lease can still be held.
                if (failure != null || renewed.held()) renewLater(lease, everyMs);
            });
        });
    }

    void release() {
        if (released) return;
        released = true;
        answer.leases().forEach(lease -> weir.release(lease.id()));
    }
}
