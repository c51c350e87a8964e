package io.github.weirratelimit;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The headers of responses, by lower-case name. */
public final class RateLimitHeaders {
    private static final String OVER = "x-ratelimit-over";

    private RateLimitHeaders() {}

    /** The headers of an answer: those that a gate sends with it. None if no limit decided or is exceeded. */
    static Map<String, String> of(Answer answer) {
        Map<String, String> all = new LinkedHashMap<>();
        if (answer.limit() != null && answer.remaining() != null) {
            // A quota that never renews has no reset and no window.
            Long resetS = answer.resetAfterMs() == null ? null : seconds(answer.resetAfterMs());
            all.put("x-ratelimit-limit", answer.limit().toString());
            all.put("x-ratelimit-remaining", answer.remaining().toString());
            if (resetS != null) all.put("x-ratelimit-reset", resetS.toString());
            LimitAnswer deciding =
                    answer.code() != null ? null : answer.limits().stream().filter(limit -> decides(answer, limit)).findFirst().orElse(null);
            String name = answer.code() != null ? answer.code() : deciding == null ? null : deciding.rule();
            if (name != null && isQuotable(name)) {
                long windowS = seconds(deciding == null ? 1000 : deciding.windowMs());
                all.put("ratelimit-policy", "\"" + name + "\";q=" + answer.limit() + (windowS > 0 ? ";w=" + windowS : ""));
                all.put("ratelimit", "\"" + name + "\";r=" + answer.remaining() + (resetS == null ? "" : ";t=" + resetS));
            }
        }
        if (!answer.allowed() && answer.retryAfterMs() != null) {
            String retryS = Long.toString(Math.max(seconds(answer.retryAfterMs()), 1));
            all.put("x-ratelimit-retry-after", retryS);
            all.put("retry-after", retryS);
        }
        addOver(all, List.of(answer));
        return all;
    }

    /** Lists the exceeded rules in the mode {@code report}, each once. */
    private static void addOver(Map<String, String> headers, List<Answer> answers) {
        String names = answers.stream().flatMap(answer -> answer.over().stream()).filter(RateLimitHeaders::isQuotable).distinct()
                .collect(Collectors.joining(", "));
        if (!names.isEmpty()) headers.put(OVER, names);
    }

    /** A header carries Latin-1 text alone, and a name is quoted. */
    private static boolean isQuotable(String name) {
        return name.chars().allMatch(one -> one >= ' ' && one <= '~' && one != '"' && one != '\\');
    }

    /**
     * The headers of a response to which several answers belong. {@code RateLimit} and {@code RateLimit-Policy} are lists in the order of the
     * answers, and {@code X-RateLimit-Over} names the rules of all. The others are those of the refusal, or of the answer with the least left, the first one of equals.
     *
     * @param answers in the order of the limits
     * @param refusal the answer that refuses the request; null if none does
     * @return the headers, by lower-case name
     */
    public static Map<String, String> ofAll(List<Answer> answers, @Nullable Answer refusal) {
        Answer chosen = refusal;
        if (chosen == null) {
            for (Answer one : answers) if (chosen == null || rest(one) < rest(chosen)) chosen = one;
        }
        Map<String, String> all = chosen == null ? new LinkedHashMap<>() : of(chosen);
        for (String name : List.of("ratelimit-policy", "ratelimit")) {
            String items = answers.stream().map(answer -> of(answer).get(name)).filter(Objects::nonNull).collect(Collectors.joining(", "));
            if (!items.isEmpty()) all.put(name, items);
        }
        addOver(all, answers);
        return all;
    }

    private static long rest(Answer answer) {
        return answer.remaining() == null ? Long.MAX_VALUE : answer.remaining();
    }

    /** Whether the numbers of this limit are those of the whole answer. */
    private static boolean decides(Answer answer, LimitAnswer limit) {
        return limit.enforced() && Objects.equals(limit.limit(), answer.limit()) && Objects.equals(limit.remaining(), answer.remaining())
                && Objects.equals(limit.resetAfterMs(), answer.resetAfterMs())
                && (answer.allowed() || Objects.equals(limit.retryAfterMs(), answer.retryAfterMs()));
    }

    private static long seconds(long ms) {
        return (ms + 999) / 1000;
    }
}
