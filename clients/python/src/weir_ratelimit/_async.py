"""The asynchronous client, for asyncio and trio."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import httpx

from ._core import (
    BODY_MAX, DEFER_TIMEOUT_MS, FAILURES, Attributes, CheckRequest, Core, failure, job_path, timeout_of, to_json, too_long, too_many,
)
from .answer import Answer, GateAnswer
from .deferral import Deferral, DeferredJob
from .errors import WeirError
from .lease import Released, Renewed
from .reservation import NOTHING, AsyncReservation, Committed


class AsyncWeir:
    """A client of Weir's gates. The calls are those of `Weir`."""

    def __init__(
        self, url: str, key: str, *, sleep: Callable[[float], Awaitable[Any]] = anyio.sleep, **options: Any
    ) -> None:
        """The options are those of `Core`: `on_error` (needed), `timeout_ms`, `retry`, `cache_size`, `on_degraded`."""
        self._core = Core(url, key, **options)
        self._sleep = sleep
        # Without TLS there is nothing to verify, and to load the authorities takes longer than a call.
        verify = self._core.tls
        self._http = httpx.AsyncClient(
            headers=self._core.request_headers, trust_env=False, timeout=None, verify=verify
        )

    async def __aenter__(self) -> AsyncWeir:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

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
            gate = await self._decide("/check", request)
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
            answer, text, units, expires_at_ms = core.reserved(*sent)
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
            return self._core.committed(*sent)
        finally:
            # Any cached denial may have ended.
            self._core.cache.clear()

    async def renew(self, lease: str) -> Renewed:
        """See `Weir.renew`."""
        # Repeatable: a gate gives a repeat the first answer.
        return self._core.renewed(*await self._send("/renew", {"lease": lease}, True))

    async def release(self, lease: str) -> Released:
        """See `Weir.release`."""
        return self._core.released(*await self._send("/release", {"lease": lease}, True))

    async def exhaust(self, namespace: str, attributes: Attributes, *, for_ms: int) -> Answer:
        """See `Weir.exhaust`."""
        # Repeatable: a second time is no longer than the first one.
        body = {**CheckRequest(namespace, attributes).body(), "for_ms": for_ms}
        return self._core.exhausted(*await self._send("/exhaust", body, True))

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
        return core.deferral(*await self._send("/defer", body, True, timeout_of(timeout_ms)))

    async def deferred(self, job_id: str) -> DeferredJob | None:
        """See `Weir.deferred`."""
        return self._core.deferred_job(*await self._exchange("GET", job_path(job_id), None, True))

    async def cancel_deferred(self, job_id: str) -> bool:
        """See `Weir.cancel_deferred`."""
        # Not repeatable: the second answer would not tell what the first call did.
        return self._core.cancelled(*await self._exchange("DELETE", job_path(job_id), None, False))

    async def batch(self, checks: Sequence[CheckRequest]) -> list[Answer]:
        """See `Weir.batch`."""
        if not checks or too_many(len(checks)):
            return []
        core = self._core
        bodies = [core.with_retry_key(check).body() for check in checks]
        try:
            status, content = await self._send("/check/batch", {"checks": bodies}, core.retry)
            return core.decisions(status, content, len(checks))
        except WeirError as error:
            return [core.degraded(error, check) for check in checks]

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
            ms = answer.delay_ms if answer.allowed else answer.retry_after_ms
            if ms is None or (not answer.allowed and self._core.now_ms() + ms > until):
                return answer
            if ms > 0:
                await self._sleep(ms / 1000)
            if answer.allowed:
                return answer

    async def _decide(self, path: str, request: CheckRequest) -> GateAnswer:
        body = self._core.with_retry_key(request).body()
        return self._core.decision(path, *await self._send(path, body, self._core.retry or request.peek))

    async def _send(self, path: str, body: object, repeatable: bool, timeout_s: float | None = None) -> tuple[int, bytes]:
        return await self._exchange("POST", path, to_json(body), repeatable, timeout_s)

    async def _exchange(
        self, method: str, path: str, content: bytes | None, repeatable: bool, timeout_s: float | None = None
    ) -> tuple[int, bytes]:
        deadline = time.monotonic() + (timeout_s or self._core.timeout_s)
        try:
            return await self._exchange_once(method, path, content, deadline)
        except WeirError as error:
            if not self._core.repeats(error, repeatable, deadline):
                raise
        return await self._exchange_once(method, path, content, deadline)

    async def _exchange_once(self, method: str, path: str, content: bytes | None, deadline: float) -> tuple[int, bytes]:
        try:
            with anyio.fail_after(max(deadline - time.monotonic(), 0)):
                async with self._http.stream(method, self._core.url + path, content=content) as response:
                    answer = bytearray()
                    async for chunk in response.aiter_raw():
                        answer += chunk
                        if len(answer) > BODY_MAX:
                            raise too_long(response.status_code)
                    return response.status_code, bytes(answer)
        except FAILURES as error:
            raise failure(error) from error
