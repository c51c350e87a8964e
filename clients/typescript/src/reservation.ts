import { type Answer, type Degraded, Fields, readBuffered } from "./answer.js";

/** The options of `reserve`. */
export interface ReserveOptions {
  /** The estimated number of units; 1 if not given. */
  cost?: number;
  /** The time after which the units return if no commit arrives, 1,000 to 600,000; 60,000 if not given. */
  ttlMs?: number;
  /** Accepts fewer units than `cost`, at least one: `reserved` says how many. */
  atMost?: boolean;
  /** A repeat within 60 s gets the same reservation. */
  idempotencyKey?: string;
}

/** What became of a reservation. */
export interface Committed {
  /** The number of units that each matching limit took. */
  charged: number;
  /** The reserved units that were not used. */
  released: number;
  /** Whether the reservation was no longer open, so that the cost was recorded. */
  late: boolean;
  /** Why nothing was held, or nothing was charged; null usually. */
  degraded: Degraded | null;
  /** Whether the gate holds the commit, because Redis was away, and sends it when Redis returns. */
  buffered: boolean;
}

/** A reservation of which nothing was held and nothing was used. */
export const NOTHING: Committed = { charged: 0, released: 0, late: false, degraded: null, buffered: false };

/** Units that are held until `commit` or `cancel`, or until `expiresAtMs`. */
export class Reservation {
  readonly #commit: (cost: number) => Promise<Committed>;

  constructor(
    /** The answer to the reserve. Begin the work only if it is `allowed`. */
    readonly answer: Answer,
    /** The units that are held; 0 if the reserve was denied or `degraded` is `client`. */
    readonly reserved: number,
    /** In milliseconds since 1970, by the clock of the gates; null if nothing is held. */
    readonly expiresAtMs: number | null,
    commit: (cost: number) => Promise<Committed>,
  ) {
    this.#commit = commit;
  }

  /**
   * Charges the units that were used, fewer or more than reserved, and releases the reservation. A further commit or cancel changes nothing
   * and gets the first answer. If the reservation is no longer open, the cost is recorded. Rejects with a `WeirError` if no gate confirms it.
   */
  commit(cost: number): Promise<Committed> {
    return this.#commit(cost);
  }

  /** Releases the units: a commit of 0. Resolves also if the reservation is no longer open. */
  cancel(): Promise<Committed> {
    return this.#commit(0);
  }
}

/** What a gate's answer to a reserve says of the reservation. `text` is null if it was denied. */
export function readReservation(value: unknown): { text: string | null; reserved: number; expiresAtMs: number | null } {
  const body = new Fields(value, "the reservation");
  return {
    text: body.textOrNull("reservation"),
    reserved: body.count("reserved"),
    expiresAtMs: body.countOrNull("expires_at_ms"),
  };
}

/** Reads the answer to a commit. */
export function readCommitted(value: unknown): Committed {
  const body = new Fields(value, "the commit");
  return {
    charged: body.count("charged"),
    released: body.count("released"),
    late: body.flag("late"),
    degraded: body.oneOfOrNull("degraded", ["allow", "deny", "local"]),
    buffered: readBuffered(body),
  };
}
