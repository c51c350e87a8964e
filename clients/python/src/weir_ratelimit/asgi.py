"""Middleware for any ASGI application (Starlette, FastAPI, Litestar, Quart …), without their libraries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio

from ._admission import Admission, Options, admit_async, ignore, missing_headers, settle_async
from ._async import AsyncWeir
from ._core import Attributes
from .address import client_address
from .answer import Answer
from .errors import WeirError
from .middleware import Cost, OnDecision, RefundWhen, Refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class WeirMiddleware:
    """Limits the requests and the WebSockets of an application."""

    def __init__(
        self,
        app: App,
        client: AsyncWeir,
        *,
        namespace: str,
        attributes: Callable[[Scope], Attributes | None],
        cost: Cost = 1,
        refund_when: RefundWhen | None = None,
        on_refund_error: Callable[[WeirError], None] = ignore,
        on_refused: Callable[[Scope, Answer], App] | None = None,
        headers: bool = True,
        skip: Callable[[Scope], bool] | None = None,
        on_decision: OnDecision | None = None,
    ) -> None:
        """The options are described at `Options`; the request is the scope. The answer is `request.state.weir` of Starlette, and
        `scope["state"]["weir"]`."""
        self.app = app
        self._options = Options(
            client, namespace, attributes, cost, refund_when, on_refund_error, on_refused, headers, skip, on_decision
        ).of(AsyncWeir)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission = await admit_async(self._options, scope) if scope["type"] in ("http", "websocket") else None
        if admission is None:
            return await self.app(scope, receive, send)
        await run_limited(self._limited(admission), scope, receive, send, [admission])

    def _limited(self, admission: Admission[AsyncWeir]) -> App:
        async def limited(scope: Scope, receive: Receive, send: Send) -> None:
            refused, on_refused = admission.refusal(), self._options.on_refused
            keep(scope, admission)
            if refused is None:
                await anyio.sleep(admission.answer.delay_ms / 1000)
                await self.app(scope, receive, send)
            elif on_refused is None or scope["type"] == "websocket":
                await _refuse(scope, send, refused)
            else:
                await on_refused(scope, admission.answer)(scope, receive, send)

        return limited


_DECIDED = "weir.decided"
"""All admissions of a request, the outermost first."""


def keep(scope: Scope, admission: Admission[AsyncWeir]) -> None:
    scope.setdefault("state", {})["weir"] = admission.answer
    scope.setdefault(_DECIDED, []).append(admission)


async def run_limited(app: App, scope: Scope, receive: Receive, send: Send, admissions: list[Admission[AsyncWeir]]) -> None:
    """Runs an application whose response gets the headers of all admissions of its request, and settles these when the response has ended,
    failed, or its client went away."""
    status: int | None = None
    decided: list[Admission[AsyncWeir]] = scope.setdefault(_DECIDED, [])

    async def settle() -> None:
        for admission in admissions:
            await settle_async(admission, status)

    async def send_with_headers(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = list(message.get("headers", ()))
            added = missing_headers(decided, {name.decode("latin-1").lower() for name, _ in headers})
            message = {**message, "headers": [*headers, *((name.encode(), value.encode()) for name, value in added.items())]}
        elif message["type"] in ("websocket.accept", "websocket.close"):
            # One that is closed before it was accepted has the status 403.
            status = status or (101 if message["type"] == "websocket.accept" else 403)
        await send(message)
        # Before tasks that the application runs after its response.
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            await settle()

    try:
        await app(scope, receive, send_with_headers)
    except Exception:
        # Another exception ends the task, because the client went away.
        status = status or 500
        raise
    finally:
        await settle()


def ip(scope: Scope, *, trusted_hops: int = 0, ipv6_prefix: int = 64) -> str:
    """The address of the client. `X-Forwarded-For` is read only with `trusted_hops`.

    Run uvicorn with `--no-proxy-headers`: by default it replaces the peer by that header if the peer is on the same machine.
    """
    forwarded = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    peer = scope.get("client")
    return client_address(peer and peer[0], forwarded, trusted_hops=trusted_hops, ipv6_prefix=ipv6_prefix)


async def _refuse(scope: Scope, send: Send, refused: Refusal) -> None:
    if scope["type"] == "websocket":
        # 1013: try again later.
        return await send({"type": "websocket.close", "code": 1013})
    content = refused.content()
    headers = [(name.encode(), value.encode()) for name, value in refused.headers.items()]
    headers.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
