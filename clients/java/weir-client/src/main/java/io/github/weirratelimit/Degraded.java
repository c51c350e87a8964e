package io.github.weirratelimit;

/** The source of an answer that Redis did not decide. */
public enum Degraded {
    /** A rule chose to allow. */
    ALLOW,
    /** A rule chose to deny. */
    DENY,
    /** The gate's own counters. */
    LOCAL,
    /** {@code onError} of this client. */
    CLIENT
}
