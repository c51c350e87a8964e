package io.github.weirratelimit.spring;

import java.io.IOException;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/** Whether the gate is ready. If not, the application is down only if {@code onError} denies. */
final class WeirHealthIndicator extends AbstractHealthIndicator {
    private final GateHealth gate;

    WeirHealthIndicator(GateHealth gate) {
        this.gate = gate;
    }

    @Override
    protected void doHealthCheck(Health.Builder health) throws InterruptedException {
        try {
            int status = gate.ask();
            health.status(status == 200 ? "UP" : gate.down).withDetail("status", status);
        } catch (IOException failure) {
            health.status(gate.down).withException(failure);
        }
    }
}
