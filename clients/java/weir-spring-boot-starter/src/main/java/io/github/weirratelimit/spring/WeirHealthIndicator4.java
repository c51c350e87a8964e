package io.github.weirratelimit.spring;

import java.io.IOException;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** {@link WeirHealthIndicator} for Spring Boot 4, where the interface is in another package. */
final class WeirHealthIndicator4 extends AbstractHealthIndicator {
    private final GateHealth gate;

    WeirHealthIndicator4(GateHealth gate) {
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
