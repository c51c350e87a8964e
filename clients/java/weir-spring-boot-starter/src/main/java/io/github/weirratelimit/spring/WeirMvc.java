package io.github.weirratelimit.spring;

import io.github.weirratelimit.ClientAddress;
import io.github.weirratelimit.Weir;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.security.Principal;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.springframework.http.ResponseEntity;
import org.springframework.http.server.RequestPath;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.servlet.HandlerInterceptor;
import org.springframework.web.servlet.HandlerMapping;
import org.springframework.web.util.WebUtils;

/** Limits the requests of Spring MVC: the interceptor asks, where the route is known; the filter settles when the response has ended. */
final class WeirMvc implements Filter, HandlerInterceptor {
    /** The attribute of a request with its {@code LimitedRequest}. */
    private static final String LIMITED = LimitedRequest.class.getName();
    /** The attribute of a request with the response to its refusal. */
    static final String REFUSAL = LIMITED + ".refusal";

    private final Weir weir;
    private final HandlerLimits limits;
    private final ClientAddress address;

    WeirMvc(Weir weir, HandlerLimits limits, ClientAddress address) {
        this.weir = weir;
        this.limits = limits;
        this.address = address;
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain) throws IOException, ServletException {
        if (request.getAttribute(LIMITED) != null || !(response instanceof HttpServletResponse http)) {
            chain.doFilter(request, response);
            return;
        }
        LimitedRequest limited = limits.request(weir.async());
        request.setAttribute(LIMITED, limited);
        boolean failed = true;
        try {
            chain.doFilter(request, new LimitedResponse(http));
            failed = false;
        } finally {
            if (!failed && request.isAsyncStarted()) request.getAsyncContext().addListener(new Settling(limited, http));
            else limited.settle(failed ? HttpServletResponse.SC_INTERNAL_SERVER_ERROR : http.getStatus());
        }
    }

    @Override
    public boolean preHandle(HttpServletRequest request, HttpServletResponse response, Object handler) {
        boolean first = request.getDispatcherType() != DispatcherType.ERROR && request.getAttribute(LIMITED) instanceof LimitedRequest found && found.begin();
        if (!first) return true;
        LimitedRequest limited = (LimitedRequest) request.getAttribute(LIMITED);
        List<RequestLimit> all = handler instanceof HandlerMethod method ? limits.of(method.getBeanType(), method.getMethod()) : limits.ofAll();
        ResponseEntity<?> refusal = admitted(limited, all, new Call(request, address));
        if (limited.last() != null) request.setAttribute(LimitedRequest.ANSWER, limited.last());
        if (refusal != null) {
            request.setAttribute(REFUSAL, refusal);
            throw new RateLimitExceededException(java.util.Objects.requireNonNull(limited.last()));
        }
        LimitedResponse own = WebUtils.getNativeResponse(response, LimitedResponse.class);
        if (own != null) own.addLimits(limited.headers());
        return true;
    }

    private static @Nullable ResponseEntity<?> admitted(LimitedRequest limited, List<RequestLimit> all, LimitedCall call) {
        try {
            return limited.admit(all, call, null).join();
        } catch (CompletionException failure) {
            limited.settle(null);
            if (failure.getCause() instanceof RuntimeException cause) throw cause;
            throw failure;
        }
    }

    /** A response in which the headers of the handler replace those of the limits. */
    private static final class LimitedResponse extends HttpServletResponseWrapper {
        private final Map<String, String> limits = new HashMap<>();

        LimitedResponse(HttpServletResponse response) {
            super(response);
        }

        void addLimits(Map<String, String> headers) {
            headers.forEach(super::setHeader);
            limits.putAll(headers);
        }

        @Override
        public void setHeader(String name, String value) {
            limits.remove(name.toLowerCase(Locale.ROOT));
            super.setHeader(name, value);
        }

        @Override
        public void addHeader(String name, String value) {
            if (limits.remove(name.toLowerCase(Locale.ROOT)) != null) super.setHeader(name, value);
            else super.addHeader(name, value);
        }
    }

    private record Settling(LimitedRequest limited, HttpServletResponse response) implements AsyncListener {
        @Override
        public void onComplete(AsyncEvent event) {
            limited.settle(response.getStatus());
        }

        @Override
        public void onTimeout(AsyncEvent event) {}

        @Override
        public void onError(AsyncEvent event) {
            limited.settle(null);
        }

        @Override
        public void onStartAsync(AsyncEvent event) {
            event.getAsyncContext().addListener(this);
        }
    }

    private record Call(HttpServletRequest request, ClientAddress address) implements LimitedCall {
        @Override
        public String method() {
            return request.getMethod();
        }

        @Override
        public String route() {
            return request.getAttribute(HandlerMapping.BEST_MATCHING_PATTERN_ATTRIBUTE) instanceof String pattern ? pattern : "unmatched";
        }

        @Override
        public String uri() {
            return request.getRequestURI();
        }

        @Override
        public String pathInApplication() {
            return RequestPath.parse(request.getRequestURI(), request.getContextPath()).pathWithinApplication().value();
        }

        @Override
        public String ip() {
            return address.of(request.getRemoteAddr(), Collections.list(request.getHeaders("X-Forwarded-For")));
        }

        @Override
        public @Nullable Principal principal() {
            return request.getUserPrincipal();
        }

        @Override
        @SuppressWarnings("unchecked")
        public Map<String, String> path() {
            Object found = request.getAttribute(HandlerMapping.URI_TEMPLATE_VARIABLES_ATTRIBUTE);
            return found == null ? Map.of() : (Map<String, String>) found;
        }

        @Override
        public Map<String, String> query() {
            Map<String, String> found = new HashMap<>();
            request.getParameterMap().forEach((name, values) -> found.put(name, values[0]));
            return found;
        }

        @Override
        public Map<String, String> headers() {
            Map<String, String> found = new HashMap<>();
            for (String name : Collections.list(request.getHeaderNames())) found.put(name.toLowerCase(Locale.ROOT), request.getHeader(name));
            return found;
        }
    }
}
