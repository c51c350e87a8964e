"""The synchronous client."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from ._calls import Call, Request, interrupted, timed_out
from ._core import (
    BODY_MAX, DEFER_TIMEOUT_MS, RETRY_SPREAD_MS, Attributes, CheckRequest, Core, OnError, failure, job_path, reply_of, timeout_of,
    too_long, too_many,
)
from ._deadline import DeadlineTransport
from .answer import Answer, GateAnswer, Reply
from .deferral import Deferral, DeferredJob
from .errors import WeirError
from .lease import Released, Renewed
from .reservation import NOTHING, Committed, Reservation


class Weir:
    """A client of Weir's gates, for any number of threads. Holds no limits: every decision is a gate's, or that of `on_error`."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        on_error: OnError,
        timeout_ms: int = 100,
        retry: bool = False,
        cache_size: int = 10_000,
        max_in_flight: int = 4,
        max_waiting: int = 10_000,
        retry_spread_ms: int = RETRY_SPREAD_MS,
        on_degraded: Callable[[WeirError], None] | None = None,
        traceparent: Callable[[], str | None] | None = None,
        transport: httpx.BaseTransport | None = None,
        now_ms: Callable[[], float] | None = None,
        sleep: Callable[[float], object] = time.sleep,
        random: Callable[[], float] | None = None,
    ) -> None:
        """The options are described at `Core`. `transport` replaces the connections, for a client certificate or a proxy:
        `httpx.HTTPTransport(verify=context)`. With one of these, the time-out bounds each step of a call."""
        self._core = Core(
            url,
            key,
            on_error=on_error,
            timeout_ms=timeout_ms,
            retry=retry,
            cache_size=cache_size,
            max_in_flight=max_in_flight,
            max_waiting=max_waiting,
            retry_spread_ms=retry_spread_ms,
            on_degraded=on_degraded,
            traceparent=traceparent,
            now_ms=now_ms,
            random=random,
        )
        self._sleep = sleep
        self._lock = threading.Lock()
        self._queue = self._core.queue()
        self._deadlines = DeadlineTransport(tls=self._core.tls) if transport is None else None
        self._http = httpx.Client(
            transport=transport or self._deadlines, headers=self._core.request_headers, trust_env=False
        )

    def __enter__(self) -> Weir:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def check(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        cost: int | None = None,
        peek: bool = False,
        idempotency_key: str | None = None,
    ) -> Answer:
        """Asks whether an action is allowed, and takes its cost if it is. A denial is an answer, not an exception.

        If no gate decides, `on_error` does and the answer's `degraded` is `client`. Raises a `WeirError` of the kind `refused` if
        the request itself is wrong.
        """
        core, request = self._core, CheckRequest(namespace, attributes, cost, peek, idempotency_key)
        key, sent_at, generation = request.cache_key(), core.now_ms(), core.cache.generation
        cached = None if key is None else core.cache.get(key, sent_at)
        if cached is not None:
            return cached
        try:
            gate = core.checked(self._carry(core.check_request(request)))
        except WeirError as error:
            return core.degraded(error, request)
        if key is not None:
            core.cache.insert(key, gate, sent_at, generation)
        return gate.answer

    def peek(self, namespace: str, attributes: Attributes, *, cost: int | None = None) -> Answer:
        """The answer of a check that takes nothing."""
        return self.check(namespace, attributes, cost=cost, peek=True)

    def record(
        self, namespace: str, attributes: Attributes, *, cost: int | None = None, idempotency_key: str | None = None
    ) -> Answer:
        """Takes units that were used already, even if fewer are left. Raises a `WeirError` if no gate confirms it. `charged` of the
        answer is the number of units that each matching limit took. It is 0 while Redis is away, and `buffered` says whether the gate
        charges them later."""
        return self._decide("/record", CheckRequest(namespace, attributes, cost, False, idempotency_key)).answer

    def refund(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        cost: int | None = None,
        charge: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer:
        """Returns units to every matching limit. Raises a `WeirError` if no gate confirms it. With the `charge` of the check's
        answer, units return only where they were taken: not to a window that began later."""
        request = CheckRequest(namespace, attributes, cost, False, idempotency_key, charge)
        try:
            return self._decide("/refund", request).answer
        finally:
            # Any cached denial may have ended, because rules count by some of the attributes only.
            self._core.cache.clear()

    def reserve(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        cost: int | None = None,
        ttl_ms: int | None = None,
        at_most: bool = False,
        idempotency_key: str | None = None,
    ) -> Reservation:
        """Decides as a check, and holds the units until `commit` or `cancel` of the reservation, or for `ttl_ms`. `at_most` accepts fewer units
        than `cost`. If no gate decides, `on_error` does; nothing is held then, and a commit records its cost."""
        core, request = self._core, CheckRequest(namespace, attributes, cost, False, idempotency_key)
        try:
            sent = self._send("/reserve", core.reserve_body(request, ttl_ms, at_most), core.retry)
            answer, text, units, expires_at_ms = core.reserved(sent)
        except WeirError as error:
            answer, text, units, expires_at_ms = core.degraded(error, request), None, 0, None

        def commit(cost: int) -> Committed:
            return self._commit(request, text, cost)

        return Reservation(answer, units, expires_at_ms, commit)

    def _commit(self, request: CheckRequest, text: str | None, cost: int) -> Committed:
        """Commits a reservation, or records the cost if there is none."""
        if text is None and cost == 0:
            return NOTHING
        if text is None:
            answer = self.record(request.namespace, request.attributes, cost=cost)
            return Committed(answer.charged or 0, 0, True, answer.degraded, answer.buffered)
        try:
            # Repeatable: a gate commits a reservation once.
            sent = self._send("/commit", self._core.commit_body(request, text, cost), True)
            return self._core.committed(sent)
        finally:
            # Any cached denial may have ended.
            self._core.cache.clear()

    def renew(self, lease: str) -> Renewed:
        """Lets a lease of a concurrency limit begin anew. Raises a `WeirError` if no gate confirms it."""
        # Repeatable: a gate gives a repeat the first answer.
        return self._core.renewed(self._send("/renew", {"lease": lease}, True))

    def release(self, lease: str) -> Released:
        """Ends a lease, so that another check can take its place. Raises a `WeirError` if no gate confirms it."""
        return self._core.released(self._send("/release", {"lease": lease}, True))

    def exhaust(self, namespace: str, attributes: Attributes, *, for_ms: int) -> Answer:
        """Lets all limits that match count as exhausted for this time, because the service behind them said so. The key needs the scope
        `exhaust`. Raises a `WeirError` if no gate confirms it."""
        # Repeatable: a second time is no longer than the first one.
        body = {**CheckRequest(namespace, attributes).body(), "for_ms": for_ms}
        return self._core.exhausted(self._send("/exhaust", body, True))

    def defer(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        target: str,
        payload: Any,
        idempotency_key: str,
        not_after_ms: int | None = None,
        cost: int | None = None,
        timeout_ms: int = DEFER_TIMEOUT_MS,
    ) -> Deferral:
        """Has a job delivered to the webhook `target`: at once if the limits permit it, otherwise as soon as they do. `payload` is any JSON value of
        at most 32,768 bytes. The job waits for at most `not_after_ms` (24 hours if not given). `timeout_ms` is the time for the call, because
        a gate waits up to 2,000 ms for the first delivery. Raises a `WeirError` if no gate confirms it; repeat the call then, with the
        same key."""
        core, request = self._core, CheckRequest(namespace, attributes, cost, False, idempotency_key)
        body = core.defer_body(request, target, payload, not_after_ms)
        # Repeatable: a gate stores the job of a key once.
        return core.deferral(self._send("/defer", body, True, timeout_of(timeout_ms)))

    def deferred(self, job_id: str) -> DeferredJob | None:
        """The state of a deferred job; None if no gate knows it (any longer). Raises a `WeirError` if no gate answers."""
        request = self._core.request("GET", job_path(job_id), None, True)
        return self._core.deferred_job(self._exchange(request))

    def cancel_deferred(self, job_id: str) -> bool:
        """Removes a deferred job that waits, or a dead letter. Returns False if there is no such job, or it was delivered. Raises a `WeirError` if
        no gate confirms it."""
        # Not repeatable: the second answer would not tell what the first call did.
        request = self._core.request("DELETE", job_path(job_id), None, False)
        return self._core.cancelled(self._exchange(request))

    def batch(self, checks: Sequence[CheckRequest]) -> list[Answer]:
        """Up to 100 independent checks in one request, decided in order. If no gate decides, `on_error` answers each."""
        if not checks or too_many(len(checks)):
            return []
        core = self._core
        bodies = [core.with_retry_key(check).body() for check in checks]
        try:
            sent = self._send("/check/batch", {"checks": bodies}, core.retry)
            found: Sequence[GateAnswer | WeirError] = core.decisions(sent, len(checks))
        except WeirError as error:
            found = [error] * len(checks)
        return [one.answer if isinstance(one, GateAnswer) else core.degraded(one, check) for one, check in zip(found, checks, strict=True)]

    def wait(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        max_ms: float,
        cost: int | None = None,
        idempotency_key: str | None = None,
    ) -> Answer:
        """Checks until the action is allowed, and waits as the answers say. Returns the denial if it cannot be allowed before
        `max_ms`. Adds up to `retry_spread_ms` to the time of a denial. The delay of a leaky bucket is waited for in full, because its units are already taken."""
        until = self._core.now_ms() + max_ms
        while True:
            answer = self.check(namespace, attributes, cost=cost, idempotency_key=idempotency_key)
            ms, left = answer.delay_ms if answer.allowed else answer.retry_after_ms, until - self._core.now_ms()
            if ms is None or (not answer.allowed and ms > left):
                return answer
            wait_ms = ms if answer.allowed else self._core.spread(ms, left)
            if wait_ms > 0:
                self._sleep(wait_ms / 1000)
            if answer.allowed:
                return answer

    def _decide(self, path: str, request: CheckRequest) -> GateAnswer:
        body = self._core.with_retry_key(request).body()
        return self._core.decision(path, self._send(path, body, self._core.retry))

    def _send(self, path: str, body: object, repeatable: bool, timeout_s: float | None = None) -> Reply:
        return self._exchange(self._core.request("POST", path, body, repeatable, timeout_s))

    def _carry(self, request: Request) -> Request:
        """Sends a check when its turn comes, or waits for the answer of the call that carries it. Of the threads whose checks share a batch, the
        last one sends it."""
        request.event = threading.Event()
        with self._lock:
            self._queue.add(request)
            self._begin()
        while request.outcome is None and not request.abandoned:
            call = request.call
            if call is not None and call.leader is request:
                self._send_call(call)
            elif request.event.wait(max(request.deadline - time.monotonic(), 0)):
                request.event.clear()
            else:
                with self._lock:
                    # It can have become the one that sends a moment ago, and then it must.
                    if request.call is None or request.call.leader is not request:
                        self._queue.abandon(request)
                    self._begin()
        return request

    def _begin(self) -> None:
        """Wakes the threads that send the next calls. Needs the lock."""
        while (call := self._queue.next()) is not None:
            call.leader.event.set()

    def _send_call(self, call: Call) -> None:
        found: Reply | WeirError = interrupted()
        try:
            found = self._exchange(call.as_one())
        except WeirError as error:
            found = error
        finally:
            with self._lock:
                self._core.settle(self._queue, call, found)
                self._begin()
            for request in call.requests:
                request.event.set()

    def _exchange(self, request: Request) -> Reply:
        """Sends a request; once more if the connection failed and it can be sent twice."""
        try:
            return self._exchange_once(request)
        except WeirError as error:
            if not self._core.repeats(error, request.repeatable, request.deadline):
                raise
        return self._exchange_once(request)

    def _exchange_once(self, request: Request) -> Reply:
        left = request.deadline - time.monotonic()
        if left <= 0:
            raise timed_out()
        try:
            with (
                self._deadlines.until(request.deadline) if self._deadlines else contextlib.nullcontext(),
                self._http.stream(
                    request.method,
                    self._core.url + request.path,
                    content=request.content,
                    headers=request.headers,
                    # Of each step of a transport of the program; the other one ends at the deadline.
                    timeout=left,
                ) as response,
            ):
                if response.is_stream_consumed:
                    # A transport for tests has read it already.
                    return reply_of(response, response.content)
                answer = bytearray()
                for chunk in response.iter_raw():
                    answer += chunk
                    if len(answer) > BODY_MAX:
                        raise too_long(response.status_code)
                    if time.monotonic() > request.deadline:
                        raise timed_out()
                return reply_of(response, bytes(answer))
        except WeirError:
            raise
        except Exception as error:
            raise failure(error) from error
