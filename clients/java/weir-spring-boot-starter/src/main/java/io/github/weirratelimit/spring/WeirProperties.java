package io.github.weirratelimit.spring;

import io.github.weirratelimit.Choice;
import io.github.weirratelimit.ClientAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code weir.*}.
 *
 * @param enabled whether anything is limited; false lets all requests and calls pass
 * @param gateUrl the address of a gate or of the load balancer before the gates, such as http://weir:8081. Not weir.url, because the variable WEIR_URL
 *     is the address of the control plane
 * @param key an API key with the scope check
 * @param onError the decision if no gate decides: allow or deny. There is no default, because either choice hurts somebody
 * @param timeout the time for one call with its waiting and its repeat, 1 ms to 60 s
 * @param namespace the namespace of annotations that have none
 * @param retry repeats a call once if its connection fails
 * @param maxInFlight the number of calls with checks that are in flight at a time, 1 to 64
 * @param maxWaiting the number of checks that wait, 0 to 1,000,000
 * @param cacheSize how many denials are repeated without asking while the gate permits it, 0 to 1,000,000
 * @param clientAddress how #ip is read
 * @param filter a limit of all requests to some paths, before those of beans and annotations
 */
@ConfigurationProperties("weir")
public record WeirProperties(
        @DefaultValue("true") boolean enabled, @Nullable String gateUrl, @Nullable String key, @Nullable Choice onError,
        @DefaultValue("100ms") Duration timeout, @DefaultValue("") String namespace, @DefaultValue("false") boolean retry,
        @DefaultValue("4") int maxInFlight, @DefaultValue("10000") int maxWaiting, @DefaultValue("10000") int cacheSize,
        @DefaultValue Address clientAddress, @DefaultValue Filter filter) {
    /**
     * How the address of a client is read.
     *
     * @param trustedHops the number of proxies before this server that append to X-Forwarded-For; with 0 the header is ignored, because anybody can
     *     send it
     * @param ipv6Prefix the prefix length by which IPv6 addresses are counted, 32 to 128
     */
    public record Address(@DefaultValue("0") int trustedHops, @DefaultValue("64") int ipv6Prefix) {
        ClientAddress read() {
            return new ClientAddress(trustedHops, ipv6Prefix);
        }
    }

    /**
     * A limit by configuration alone.
     *
     * @param paths patterns of paths within the application, such as /api/**; without one there is no such limit
     * @param exclude patterns of paths that it does not limit, such as /api/health
     * @param namespace the namespace of the rules; that of weir.namespace if empty
     * @param attributes names, and texts or expressions of the request, such as ip: "#ip"
     * @param cost the number of units: a number, or an expression
     * @param onError the decision if no gate decides; that of weir.on-error if not given
     */
    public record Filter(
            @DefaultValue List<String> paths, @DefaultValue List<String> exclude, @DefaultValue("") String namespace,
            @DefaultValue Map<String, String> attributes, @DefaultValue("1") String cost, @Nullable Choice onError) {}
}
