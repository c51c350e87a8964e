import { type Degraded, Fields } from "./answer.js";

/** The effect of a renewal. */
export interface Renewed {
  /** Whether the lease is held; false if it had ended, so that someone else can have the place. */
  held: boolean;
  /** The time at which it ends by itself, in milliseconds since 1970, by the clock of the gates; null if it was not renewed. */
  expiresAtMs: number | null;
  /** Why nothing was renewed although it is held; null usually. */
  degraded: Degraded | null;
}

/** The effect of a release. */
export interface Released {
  /** Whether the place is free; false if the lease had ended before. */
  released: boolean;
  /** Why nothing was released; null usually. */
  degraded: Degraded | null;
}

/** The renewal of a lease that had ended. */
export const ENDED: Renewed = { held: false, expiresAtMs: null, degraded: null };

export function readRenewed(value: unknown): Renewed {
  const body = new Fields(value, "the renewal");
  return {
    held: true,
    expiresAtMs: body.countOrNull("expires_at_ms"),
    degraded: body.oneOfOrNull("degraded", ["allow", "deny", "local"]),
  };
}

export function readReleased(value: unknown): Released {
  const body = new Fields(value, "the release");
  return {
    released: body.flag("released"),
    degraded: body.oneOfOrNull("degraded", ["allow", "deny", "local"]),
  };
}
