package io.github.weirratelimit.spring;

import java.security.Principal;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The parts of a request that limits count by, the same for MVC and WebFlux. */
public interface LimitedCall {
    /** {@return such as {@code GET}} */
    String method();

    /** {@return the pattern of the route, such as {@code /users/{id}}; {@code unmatched} if there is none} */
    String route();

    /** {@return the path, which a client can choose} */
    String uri();

    /** {@return the path without that of the application, as {@code weir.filter} tests it} */
    String pathInApplication();

    /** {@return the address of the client, by {@code weir.client-address}} */
    String ip();

    /** {@return who is signed in; null if nobody is} */
    @Nullable Principal principal();

    /** {@return the variables of the route's pattern} */
    Map<String, String> path();

    /** {@return the first values of the query's parameters} */
    Map<String, String> query();

    /** {@return the first values of the headers, by lower-case name} */
    Map<String, String> headers();
}
