package io.github.weirratelimit.spring;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.Degraded;
import io.github.weirratelimit.RateLimitHeaders;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A limit refused the action. An {@code @ExceptionHandler} makes another response of it than the problem document. */
public final class RateLimitExceededException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Answer answer;
    private final transient Map<String, String> headers;

    RateLimitExceededException(Answer answer) {
        this(answer, List.of(answer), true);
    }

    RateLimitExceededException(Answer answer, List<Answer> shown, boolean withHeaders) {
        super(answer.degraded() == Degraded.CLIENT ? "no gate decided" : "denied by " + String.join(", ", answer.deniedBy()));
        this.answer = answer;
        headers = new LinkedHashMap<>(RateLimitHeaders.ofAll(shown, withHeaders ? answer : null));
        String retryAfter = answer.headers().get("retry-after");
        if (retryAfter != null) headers.put("retry-after", retryAfter);
        headers.put("cache-control", "no-store");
    }

    /** {@return the answer that refused the action} */
    public Answer getAnswer() {
        return answer;
    }

    /** {@return the status of a response: 429, or 503 if no gate decided, because the request is not at fault} */
    public int getStatus() {
        return answer.degraded() == Degraded.CLIENT ? 503 : 429;
    }

    /** {@return the headers of a response, by lower-case name} */
    public Map<String, String> getHeaders() {
        return headers;
    }
}
