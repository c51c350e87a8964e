"""The asynchronous client, for asyncio and trio."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import anyio
import httpx

from ._calls import Call, Request, interrupted, timed_out
from ._core import (
    BODY_MAX, DEFER_TIMEOUT_MS, RETRY_SPREAD_MS, Attributes, CheckRequest, Core, OnError, failure, job_path, reply_of, timeout_of,
    too_long, too_many,
)
from .answer import Answer, GateAnswer, Reply
from .deferral import Deferral, DeferredJob
from .errors import WeirError
from .lease import Released, Renewed
from .reservation import NOTHING, AsyncReservation, Committed


class AsyncWeir:
    """A client of Weir's gates. The calls are those of `Weir`."""

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
        transport: httpx.AsyncBaseTransport | None = None,
        now_ms: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
        random: Callable[[], float] | None = None,
    ) -> None:
        """The options are described at `Core`. `transport` replaces the connections, for a client certificate or a proxy:
        `httpx.AsyncHTTPTransport(verify=context)`."""
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
        self._transport = transport
        self._loops: weakref.WeakKeyDictionary[Any, _Loop] = weakref.WeakKeyDictionary()

    def _loop(self) -> _Loop:
        running, spawn = _running_loop()
        loop = self._loops.get(running)
        if loop is None:
            loop = self._loops[running] = _Loop(self._core, self._transport, spawn)
        return loop

    async def __aenter__(self) -> AsyncWeir:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        loop = self._loops.pop(_running_loop()[0], None)
        if loop is not None:
            await loop.http.aclose()

    async def check(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        cost: int | None = None,
        peek: bool = False,
        idempotency_key: str | None = None,
    ) -> Answer:
        """See `Weir.check`."""
        core, request = self._core, CheckRequest(namespace, attributes, cost, peek, idempotency_key)
        key, sent_at, generation = request.cache_key(), core.now_ms(), core.cache.generation
        cached = None if key is None else core.cache.get(key, sent_at)
        if cached is not None:
            return cached
        try:
            gate = core.checked(await self._carry(core.check_request(request)))
        except WeirError as error:
            return core.degraded(error, request)
        if key is not None:
            core.cache.insert(key, gate, sent_at, generation)
        return gate.answer

    async def peek(self, namespace: str, attributes: Attributes, *, cost: int | None = None) -> Answer:
        """See `Weir.peek`."""
        return await self.check(namespace, attributes, cost=cost, peek=True)

    async def record(
        self, namespace: str, attributes: Attributes, *, cost: int | None = None, idempotency_key: str | None = None
    ) -> Answer:
        """See `Weir.record`."""
        return (await self._decide("/record", CheckRequest(namespace, attributes, cost, False, idempotency_key))).answer

    async def refund(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        cost: int | None = None,
        charge: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer:
        """See `Weir.refund`."""
        request = CheckRequest(namespace, attributes, cost, False, idempotency_key, charge)
        try:
            return (await self._decide("/refund", request)).answer
        finally:
            self._core.cache.clear()

    async def reserve(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        cost: int | None = None,
        ttl_ms: int | None = None,
        at_most: bool = False,
        idempotency_key: str | None = None,
    ) -> AsyncReservation:
        """See `Weir.reserve`."""
        core, request = self._core, CheckRequest(namespace, attributes, cost, False, idempotency_key)
        try:
            sent = await self._send("/reserve", core.reserve_body(request, ttl_ms, at_most), core.retry)
            answer, text, units, expires_at_ms = core.reserved(sent)
        except WeirError as error:
            answer, text, units, expires_at_ms = core.degraded(error, request), None, 0, None

        async def commit(cost: int) -> Committed:
            return await self._commit(request, text, cost)

        return AsyncReservation(answer, units, expires_at_ms, commit)

    async def _commit(self, request: CheckRequest, text: str | None, cost: int) -> Committed:
        """Commits a reservation, or records the cost if there is none."""
        if text is None and cost == 0:
            return NOTHING
        if text is None:
            answer = await self.record(request.namespace, request.attributes, cost=cost)
            return Committed(answer.charged or 0, 0, True, answer.degraded, answer.buffered)
        try:
            # Repeatable: a gate commits a reservation once.
            sent = await self._send("/commit", self._core.commit_body(request, text, cost), True)
            return self._core.committed(sent)
        finally:
            # Any cached denial may have ended.
            self._core.cache.clear()

    async def renew(self, lease: str) -> Renewed:
        """See `Weir.renew`."""
        # Repeatable: a gate gives a repeat the first answer.
        return self._core.renewed(await self._send("/renew", {"lease": lease}, True))

    async def release(self, lease: str) -> Released:
        """See `Weir.release`."""
        return self._core.released(await self._send("/release", {"lease": lease}, True))

    async def exhaust(self, namespace: str, attributes: Attributes, *, for_ms: int) -> Answer:
        """See `Weir.exhaust`."""
        # Repeatable: a second time is no longer than the first one.
        body = {**CheckRequest(namespace, attributes).body(), "for_ms": for_ms}
        return self._core.exhausted(await self._send("/exhaust", body, True))

    async def defer(
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
        """See `Weir.defer`."""
        core, request = self._core, CheckRequest(namespace, attributes, cost, False, idempotency_key)
        body = core.defer_body(request, target, payload, not_after_ms)
        # Repeatable: a gate stores the job of a key once.
        return core.deferral(await self._send("/defer", body, True, timeout_of(timeout_ms)))

    async def deferred(self, job_id: str) -> DeferredJob | None:
        """See `Weir.deferred`."""
        request = self._core.request("GET", job_path(job_id), None, True)
        return self._core.deferred_job(await self._exchange(request))

    async def cancel_deferred(self, job_id: str) -> bool:
        """See `Weir.cancel_deferred`."""
        # Not repeatable: the second answer would not tell what the first call did.
        request = self._core.request("DELETE", job_path(job_id), None, False)
        return self._core.cancelled(await self._exchange(request))

    async def batch(self, checks: Sequence[CheckRequest]) -> list[Answer]:
        """See `Weir.batch`."""
        if not checks or too_many(len(checks)):
            return []
        core = self._core
        bodies = [core.with_retry_key(check).body() for check in checks]
        try:
            sent = await self._send("/check/batch", {"checks": bodies}, core.retry)
            found: Sequence[GateAnswer | WeirError] = core.decisions(sent, len(checks))
        except WeirError as error:
            found = [error] * len(checks)
        return [one.answer if isinstance(one, GateAnswer) else core.degraded(one, check) for one, check in zip(found, checks, strict=True)]

    async def wait(
        self,
        namespace: str,
        attributes: Attributes,
        *,
        max_ms: float,
        cost: int | None = None,
        idempotency_key: str | None = None,
    ) -> Answer:
        """See `Weir.wait`."""
        until = self._core.now_ms() + max_ms
        while True:
            answer = await self.check(namespace, attributes, cost=cost, idempotency_key=idempotency_key)
            ms, left = answer.delay_ms if answer.allowed else answer.retry_after_ms, until - self._core.now_ms()
            if ms is None or (not answer.allowed and ms > left):
                return answer
            wait_ms = ms if answer.allowed else self._core.spread(ms, left)
            if wait_ms > 0:
                await self._sleep(wait_ms / 1000)
            if answer.allowed:
                return answer

    async def _decide(self, path: str, request: CheckRequest) -> GateAnswer:
        body = self._core.with_retry_key(request).body()
        return self._core.decision(path, await self._send(path, body, self._core.retry))

    async def _send(self, path: str, body: object, repeatable: bool, timeout_s: float | None = None) -> Reply:
        return await self._exchange(self._core.request("POST", path, body, repeatable, timeout_s))

    async def _carry(self, request: Request) -> Request:
        """Sends a check when its turn comes, or waits for the answer of the call that carries it."""
        loop = self._loop()
        request.event = anyio.Event()
        loop.queue.add(request)
        self._begin(loop)
        try:
            with anyio.move_on_after(request.deadline - time.monotonic()):
                await request.event.wait()
            if request.outcome is None:
                # A busy program runs its timers late, and before it reads what has arrived. That time is added once.
                with anyio.move_on_after(min(time.monotonic() - request.deadline, self._core.timeout_s)):
                    await request.event.wait()
        finally:
            # Also if the task is cancelled: calls run in tasks of their own, so the neighbours in a batch go on.
            if request.outcome is None:
                self._abandon(loop, request)
        return request

    def _begin(self, loop: _Loop) -> None:
        while (call := loop.queue.next()) is not None:
            loop.start(self._run, loop, call)

    async def _run(self, loop: _Loop, call: Call) -> None:
        found: Reply | WeirError = interrupted()
        try:
            if all(one.abandoned for one in call.requests):
                return
            # Continues for as long again, so that a late answer does not cost the connection.
            left = call.leader.deadline - time.monotonic() + self._core.timeout_s
            with anyio.move_on_after(left) as call.scope:
                found = await self._exchange_in_scope(call.as_one(), loop.http, call)
            if call.scope.cancelled_caught:
                found = timed_out()
        except WeirError as error:
            found = error
        finally:
            self._core.settle(loop.queue, call, found)
            for request in call.requests:
                if request.outcome is not None:
                    request.event.set()
            self._begin(loop)

    def _abandon(self, loop: _Loop, request: Request) -> None:
        loop.queue.abandon(request)
        call = request.call
        if call is None or any(not one.abandoned for one in call.requests):
            return
        if not call.written and call.scope is not None:
            # It must not take units later.
            call.scope.cancel()
        elif time.monotonic() >= call.leader.deadline:
            loop.queue.end(call)
            self._begin(loop)

    async def _exchange(self, request: Request) -> Reply:
        try:
            with anyio.fail_after(request.deadline - time.monotonic()):
                return await self._exchange_in_scope(request, self._loop().http)
        except TimeoutError as error:
            raise timed_out() from error

    async def _exchange_in_scope(self, request: Request, http: httpx.AsyncClient, call: Call | None = None) -> Reply:
        """Sends a request; once more if the connection failed and it can be sent twice."""
        try:
            return await self._exchange_once(request, http, call)
        except WeirError as error:
            if not self._core.repeats(error, request.repeatable, request.deadline):
                raise
        return await self._exchange_once(request, http, call)

    async def _exchange_once(self, request: Request, http: httpx.AsyncClient, call: Call | None) -> Reply:
        async def trace(event: str, _: object) -> None:
            if call is not None and event.endswith("receive_response_headers.started"):
                call.written = True

        try:
            async with http.stream(
                request.method,
                self._core.url + request.path,
                content=request.content,
                headers=request.headers,
                extensions={"trace": trace},
            ) as response:
                if response.is_stream_consumed:
                    # A transport for tests has read it already.
                    return reply_of(response, response.content)
                answer = bytearray()
                async for chunk in response.aiter_raw():
                    answer += chunk
                    if len(answer) > BODY_MAX:
                        raise too_long(response.status_code)
                return reply_of(response, bytes(answer))
        except WeirError:
            raise
        except Exception as error:
            raise failure(error) from error


class _Loop:
    """The connections and the queue of one event loop. A connection cannot be used in another one: Django and Flask run asynchronous views
    each in a loop of its own unless the server is asynchronous."""

    def __init__(self, core: Core, transport: httpx.AsyncBaseTransport | None, spawn: Callable[..., object]) -> None:
        self.queue = core.queue()
        # Without TLS there is nothing to verify, and to load the authorities takes longer than a call.
        self.http = httpx.AsyncClient(
            headers=core.request_headers, trust_env=False, timeout=None, verify=core.tls, transport=transport
        )
        self.start = spawn


def _running_loop() -> tuple[object, Callable[..., object]]:
    """The event loop of this task, and what starts a task in it that ends with the loop only."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio

        return trio.lowlevel.current_trio_token(), trio.lowlevel.spawn_system_task
    return loop, _spawn_in_asyncio


def start_task(run: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
    """Starts a task that ends with the event loop only."""
    _running_loop()[1](run, *arguments)


_TASKS: set[asyncio.Task[None]] = set()
"""A loop has no strong reference to its tasks."""


def _spawn_in_asyncio(run: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
    task = asyncio.get_running_loop().create_task(run(*arguments))
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
