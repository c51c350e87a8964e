import { type Answer, type GateAnswer, readAnswer, readBatch } from "./answer.js";
import { BATCH_MAX, Batcher, notAnAnswer } from "./batcher.js";
import { DenialCache } from "./cache.js";
import { type Deferral, type DeferOptions, type DeferredJob, readDeferral, readDeferredJob } from "./deferral.js";
import { WeirError } from "./errors.js";
import { ENDED, type Released, type Renewed, readReleased, readRenewed } from "./lease.js";
import { type Options, type Settings, knownOnly, readOptions, readTimeout } from "./options.js";
import { type Attributes, type ChargedRequest, type CheckCall, type CheckRequest, body, cacheKey } from "./request.js";
import { type Committed, NOTHING, Reservation, type ReserveOptions, readCommitted, readReservation } from "./reservation.js";
import { DECISION, type Exchange, type Reply, exchange } from "./transport.js";

export interface WaitOptions extends CheckCall {
  /** The longest time to wait for units, in milliseconds. */
  maxMs: number;
}

/** The options of `record`. */
export interface ReportOptions {
  cost?: number;
  idempotencyKey?: string;
}

/** The options of `refund`. */
export interface RefundOptions extends ReportOptions {
  /** The `charge` of the answer to the check: units return only to the window, bucket or entry that was charged. */
  charge?: string | null;
}

/** A client of Weir's gates. Holds no limits: every decision is a gate's, or that of `onError`. */
export class Weir {
  readonly #settings: Settings;
  readonly #cache: DenialCache;
  readonly #batcher: Batcher;

  constructor(options: Options) {
    this.#settings = readOptions(options);
    this.#batcher = new Batcher(
      this.#settings,
      ({ path, json, repeatable, ...rest }) => this.#exchange({ method: "POST", path, body: json, accepted: DECISION, ...rest }, repeatable),
      // Nobody else can release them. A lease that is not released ends by itself.
      ({ leases }) => leases.forEach(({ id }) => void this.release(id).catch(() => {})),
    );
    this.#cache = new DenialCache(this.#settings.cacheSize);
  }

  /**
   * Asks whether an action is allowed, and takes its cost if it is. A denial is an answer, not an error.
   *
   * If no gate decides, `onError` does and the answer's `degraded` is `client`. Rejects with a `WeirError` of the kind
   * `refused` if the request itself is wrong. Checks that begin during others travel together.
   */
  async check(namespace: string, attributes: Attributes, options: CheckCall = {}): Promise<Answer> {
    knownOnly("check", options, CHECK_OPTIONS);
    const { signal, ...rest } = options;
    const request = { namespace, attributes, ...rest };
    const cacheable = options.peek !== true && options.idempotencyKey === undefined;
    const key = cacheable ? cacheKey(request) : "";
    const cached = cacheable ? this.#cache.get(key, this.#settings.now()) : null;
    if (cached !== null) return cached;
    const { generation } = this.#cache;
    try {
      const sent = this.#withRetryKey("/check", request);
      const repeatable = sent.peek === true || sent.idempotencyKey !== undefined;
      const traceparent = this.#settings.traceparent();
      const { gate, sentAt } = await this.#batcher.ask({ json: JSON.stringify(body(sent)), repeatable, traceparent, signal });
      if (cacheable) this.#cache.insert(key, gate, sentAt, generation);
      return gate.answer;
    } catch (error) {
      return this.#degraded(error, request);
    }
  }

  /** The answer of a check that takes nothing. */
  peek(namespace: string, attributes: Attributes, options: { cost?: number; signal?: AbortSignal } = {}): Promise<Answer> {
    return this.check(namespace, attributes, { ...options, peek: true });
  }

  /**
   * Takes units that were used already, even if fewer are left. Rejects with a `WeirError` if no gate confirms it. `charged` of the answer is
   * the number of units that each matching limit took. It is 0 while Redis is away, and `buffered` says whether the gate charges them later.
   */
  async record(namespace: string, attributes: Attributes, options: ReportOptions = {}): Promise<Answer> {
    knownOnly("record", options, ["cost", "idempotencyKey"]);
    return (await this.#decide("/record", { namespace, attributes, ...options })).answer;
  }

  /**
   * Returns units to every matching limit. Rejects with a `WeirError` if no gate confirms it. With the `charge` of the check's answer, units
   * return only where they were taken: not to a window that began later.
   */
  async refund(namespace: string, attributes: Attributes, options: RefundOptions = {}): Promise<Answer> {
    knownOnly("refund", options, ["cost", "idempotencyKey", "charge"]);
    try {
      return (await this.#decide("/refund", { namespace, attributes, ...options })).answer;
    } finally {
      // Any cached denial may have ended, because rules count by some of the attributes only.
      this.#cache.clear();
    }
  }

  /**
   * Decides as a check, and holds the units until `commit` or `cancel`. If no gate decides, `onError` does; nothing is held then, and a commit
   * records its cost.
   */
  async reserve(namespace: string, attributes: Attributes, options: ReserveOptions = {}): Promise<Reservation> {
    knownOnly("reserve", options, ["cost", "idempotencyKey", "ttlMs", "atMost"]);
    const { ttlMs, atMost, ...rest } = options;
    const request: CheckRequest = { namespace, attributes, ...rest };
    try {
      const { status, body: answer, requestId } = await this.#send(
        "/reserve",
        {
          ...body(this.#withRetryKey("/reserve", request)),
          ...(ttlMs === undefined ? {} : { ttl_ms: ttlMs }),
          ...(atMost === undefined ? {} : { at_most: atMost }),
        },
        this.#settings.retry,
      );
      const gate = readAnswer(answer, requestId);
      if (status !== (gate.answer.allowed ? 200 : 429)) throw notAnAnswer(status);
      const { text, reserved, expiresAtMs } = readReservation(answer);
      if (gate.answer.allowed !== (text !== null)) throw notAnAnswer(status);
      return new Reservation(gate.answer, reserved, expiresAtMs, (cost) => this.#commit(request, text, cost));
    } catch (error) {
      const answer = await this.#degraded(error, request);
      return new Reservation(answer, 0, null, (cost) => this.#commit(request, null, cost));
    }
  }

  /** Commits a reservation, or records the cost if there is none. */
  async #commit(request: CheckRequest, text: string | null, cost: number): Promise<Committed> {
    const { namespace, attributes } = request;
    if (text === null && cost === 0) return NOTHING;
    if (text === null) {
      const { charged, degraded, buffered } = await this.record(namespace, attributes, { cost });
      return { charged: charged ?? 0, released: 0, late: true, degraded, buffered };
    }
    try {
      const late = body({ namespace, attributes });
      // Repeatable: a gate commits a reservation once.
      const { status, body: answer } = await this.#send("/commit", { ...late, reservation: text, cost }, true);
      if (status !== 200) throw notAnAnswer(status);
      return readCommitted(answer);
    } finally {
      // Any cached denial may have ended.
      this.#cache.clear();
    }
  }

  /** Lets a lease of a concurrency limit begin anew. Rejects with a `WeirError` if no gate confirms it. */
  async renew(lease: string): Promise<Renewed> {
    return this.#settle("/renew", lease, readRenewed, ENDED);
  }

  /** Ends a lease, so that another check can take its place. Rejects with a `WeirError` if no gate confirms it. */
  async release(lease: string): Promise<Released> {
    return this.#settle("/release", lease, readReleased, { released: false, degraded: null });
  }

  /**
   * Lets all limits that match count as exhausted for this time, because the service behind them said so. The key needs the scope `exhaust`.
   * Rejects with a `WeirError` if no gate confirms it.
   */
  async exhaust(namespace: string, attributes: Attributes, forMs: number): Promise<Answer> {
    const request = { ...body({ namespace, attributes }), for_ms: forMs };
    // Repeatable: a second time is no longer than the first one.
    const { status, body: answer, requestId } = await this.#send("/exhaust", request, true);
    if (status !== 200) throw notAnAnswer(status);
    return readAnswer(answer, requestId).answer;
  }

  /**
   * Has a job delivered to a webhook: at once if the limits permit it, otherwise as soon as they do. Rejects with a `WeirError` if no gate
   * confirms it; repeat the call then, with the same key.
   */
  async defer(namespace: string, attributes: Attributes, options: DeferOptions): Promise<Deferral> {
    knownOnly("defer", options, ["target", "payload", "idempotencyKey", "notAfterMs", "cost", "timeoutMs"]);
    const { target, payload, notAfterMs, idempotencyKey, cost, timeoutMs = DEFER_TIMEOUT_MS } = options;
    const request = {
      ...body({ namespace, attributes, idempotencyKey, ...(cost === undefined ? {} : { cost }) }),
      target,
      payload: payload ?? null,
      ...(notAfterMs === undefined ? {} : { not_after_ms: notAfterMs }),
    };
    const accepted = [...DECISION, 202];
    // Repeatable: a gate stores the job of a key once.
    const reply = await this.#send("/defer", request, true, { accepted, timeoutMs: readTimeout(timeoutMs) });
    const deferral = readDeferral(reply);
    if (deferral === null) throw notAnAnswer(reply.status);
    return deferral;
  }

  /** The state of a deferred job; null if no gate knows it (any longer). Rejects with a `WeirError` if no gate answers. */
  async deferred(id: string): Promise<DeferredJob | null> {
    return unlessNotFound(async () => readDeferredJob((await this.#ask("GET", id, [200], true)).body), null);
  }

  /**
   * Removes a deferred job that waits, or a dead letter. Returns false if there is no such job, or it was delivered. Rejects with a `WeirError`
   * if no gate confirms it.
   */
  async cancelDeferred(id: string): Promise<boolean> {
    // Not repeatable: the second answer would not tell what the first call did.
    return unlessNotFound(async () => (await this.#ask("DELETE", id, [204], false)).status === 204, false);
  }

  /** What `read` makes of the answer to a renewal or release; `ended` if the lease had ended. */
  #settle<T>(path: "/renew" | "/release", lease: string, read: (answer: unknown) => T, ended: T): Promise<T> {
    return unlessNotFound(async () => {
      // Repeatable: a gate gives a repeat the first answer.
      return read((await this.#send(path, { lease }, true, { accepted: [200] })).body);
    }, ended);
  }

  /** Up to 100 independent checks in one request, decided in order. If no gate decides, `onError` answers each. */
  async batch(checks: readonly CheckRequest[]): Promise<Answer[]> {
    if (checks.length === 0) return [];
    if (checks.length > BATCH_MAX) throw new RangeError(`checks: at most ${BATCH_MAX}`);
    try {
      const bodies = checks.map((check) => body(this.#withRetryKey("/check", check)));
      const reply = await this.#send("/check/batch", { checks: bodies }, this.#settings.retry);
      if (reply.status !== 200) throw notAnAnswer(reply.status);
      return readBatch(reply, checks.length).map((gate) => gate.answer);
    } catch (error) {
      return Promise.all(checks.map((check) => this.#degraded(error, check)));
    }
  }

  /**
   * Checks until the action is allowed, and waits as the answers say, after a denial up to `retrySpreadMs` longer. Returns the denial if it
   * cannot be allowed before `maxMs`. The delay of a leaky bucket is waited for in full, because its units are already taken.
   */
  async wait(namespace: string, attributes: Attributes, options: WaitOptions): Promise<Answer> {
    const { maxMs, ...call } = options;
    const { signal } = call;
    if (!(maxMs >= 0)) throw new RangeError("maxMs: 0 or more");
    const { now, sleep, random, retrySpreadMs } = this.#settings;
    const until = now() + maxMs;
    for (;;) {
      signal?.throwIfAborted();
      const answer = await this.check(namespace, attributes, call);
      const ms = answer.allowed ? answer.delayMs : answer.retryAfterMs;
      const tooLong = ms === null || (!answer.allowed && now() + ms > until);
      if (tooLong) return answer;
      const spread = answer.allowed ? 0 : Math.min(Math.floor(random() * Math.min(retrySpreadMs, ms)), Math.floor(until - now() - ms));
      if (ms > 0) await sleep(ms + spread, signal);
      if (answer.allowed) return answer;
    }
  }

  /** Sends a record or refund, which is 200 whether it is allowed or not. */
  async #decide(path: "/record" | "/refund", request: ChargedRequest): Promise<GateAnswer> {
    const { status, body: answer, requestId } = await this.#send(
      path,
      body(this.#withRetryKey(path, request)),
      this.#settings.retry,
    );
    const gate = readAnswer(answer, requestId);
    const reported = status === 200 || !gate.answer.allowed;
    // A record names the units that it took.
    const confirmed = path !== "/record" || status !== 200 || gate.answer.charged !== null;
    if (!reported || !confirmed) throw notAnAnswer(status);
    return gate;
  }

  /** The request with an idempotency key, if it can be sent twice and would take units. */
  #withRetryKey(path: Path, request: ChargedRequest): ChargedRequest {
    const takes = path !== "/check" || request.peek !== true;
    if (!this.#settings.retry || !takes || request.idempotencyKey !== undefined) return request;
    return { ...request, idempotencyKey: crypto.randomUUID() };
  }

  /** Posts a request; once more if the connection failed, and `repeatable`. */
  #send(path: string, request: object, repeatable: boolean, options: SendOptions = {}): Promise<Reply> {
    const { accepted = DECISION, timeoutMs = this.#settings.timeoutMs } = options;
    return this.#exchange({ method: "POST", path, body: JSON.stringify(request), accepted, ...this.#now(timeoutMs) }, repeatable);
  }

  /** Asks about a deferred job. */
  #ask(method: "GET" | "DELETE", id: string, accepted: readonly number[], repeatable: boolean): Promise<Reply> {
    const path = `/deferred/${encodeURIComponent(id)}`;
    return this.#exchange({ method, path, body: null, accepted, ...this.#now() }, repeatable);
  }

  /** The deadline and the trace of a call that begins now. */
  #now(timeoutMs = this.#settings.timeoutMs): Pick<Exchange, "deadline" | "traceparent"> {
    return { deadline: performance.now() + timeoutMs, traceparent: this.#settings.traceparent() };
  }

  async #exchange(request: PathRequest, repeatable: boolean): Promise<Reply> {
    const { url, key, fetch } = this.#settings;
    const { path, ...rest } = request;
    const { deadline } = rest;
    const send = () => exchange({ ...rest, url: url + path, key, fetch });
    try {
      return await send();
    } catch (error) {
      const again = repeatable && error instanceof WeirError && error.kind === "connection";
      if (!again || performance.now() >= deadline) throw error;
      return send();
    }
  }

  async #degraded(error: unknown, request: CheckRequest): Promise<Answer> {
    if (!(error instanceof WeirError) || error.kind === "refused") throw error;
    this.#settings.onDegraded(error);
    const { onError } = this.#settings;
    const choice = typeof onError === "function" ? await onError(error, request) : onError;
    const allowed = choice === "allow";
    return {
      allowed,
      deniedBy: [],
      over: [],
      retryAfterMs: allowed ? 0 : RETRY_AFTER_MS,
      delayMs: 0,
      limit: null,
      remaining: null,
      resetAfterMs: null,
      limits: [],
      leases: [],
      charge: null,
      degraded: "client",
      charged: null,
      buffered: false,
      code: null,
      rulebookVersion: null,
      requestId: null,
      cached: false,
      error,
    };
  }
}

type Path = "/check" | "/record" | "/refund" | "/reserve";
type PathRequest = Omit<Exchange, "url" | "key" | "fetch"> & { path: string };

interface SendOptions {
  accepted?: readonly number[];
  timeoutMs?: number;
}

const CHECK_OPTIONS = ["cost", "peek", "idempotencyKey", "signal"];
/** When to try again after a denial by `onError`; a gate without Redis answers the same. */
const RETRY_AFTER_MS = 1_000;
/** A gate waits up to 2,000 ms for the first delivery of a job. */
const DEFER_TIMEOUT_MS = 5_000;

/** What `call` returns, or `absent` if the gate knows no such lease or job. */
async function unlessNotFound<T>(call: () => Promise<T>, absent: T): Promise<T> {
  try {
    return await call();
  } catch (error) {
    // Something between the client and the gate can answer 404 too, without the code.
    if (error instanceof WeirError && error.status === 404 && error.code === "not_found") return absent;
    throw error;
  }
}
