package io.github.weirratelimit;

/** The decision about an action on which no gate decided. */
public enum Choice {
    /** The action passes. */
    ALLOW,
    /** The action is refused. */
    DENY
}
