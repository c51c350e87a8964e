package io.github.weirratelimit.spring;

import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.context.request.RequestAttributes;
import org.springframework.web.context.request.RequestContextHolder;

/** The response to a refusal, unless another {@code @ControllerAdvice} makes one. */
@ControllerAdvice
@Order(Ordered.LOWEST_PRECEDENCE)
class RateLimitAdvice {
    @ExceptionHandler
    ResponseEntity<?> refused(RateLimitExceededException refused) {
        // None in WebFlux, whose filter writes the response itself.
        RequestAttributes request = RequestContextHolder.getRequestAttributes();
        Object own = request == null ? null : request.getAttribute(LimitedRequest.class.getName() + ".refusal", RequestAttributes.SCOPE_REQUEST);
        return own instanceof ResponseEntity<?> response ? response : LimitedRequest.problem(refused);
    }
}
