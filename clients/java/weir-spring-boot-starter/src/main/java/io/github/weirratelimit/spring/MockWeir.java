package io.github.weirratelimit.spring;

import io.github.weirratelimit.MemoryGate;
import io.github.weirratelimit.Weir;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;

/** For a test: the application asks a {@link MemoryGate}, which is a bean, instead of a gate. */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Import(MockWeir.Gate.class)
public @interface MockWeir {
    /** The beans of the test. */
    @Configuration(proxyBeanMethods = false)
    class Gate {
        /** Creates the beans. */
        public Gate() {}

        /** {@return the gate, which admits all checks until the test denies some} */
        @Bean
        public MemoryGate memoryGate() {
            return new MemoryGate();
        }

        /**
         * The client of the gate.
         *
         * @param gate the gate
         * @return the client
         */
        @Bean
        @Primary
        public Weir mockWeirClient(MemoryGate gate) {
            return gate.client();
        }
    }
}
