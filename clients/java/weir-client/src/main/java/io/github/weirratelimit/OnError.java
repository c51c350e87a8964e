package io.github.weirratelimit;

/** Decides about an action on which no gate decided: too late, no connection, an error, or an answer that is none. */
@FunctionalInterface
public interface OnError {
    /** Allows every such action. */
    OnError ALLOW = (failure, request) -> Choice.ALLOW;
    /** Denies every such action. */
    OnError DENY = (failure, request) -> Choice.DENY;

    /**
     * Must not block: it is called on a thread of the HTTP client.
     *
     * @param failure why no gate decided
     * @param request the request
     * @return the decision
     */
    Choice choose(WeirException failure, CheckRequest request);
}
