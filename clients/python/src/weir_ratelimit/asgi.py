"""Middleware for any ASGI application (Starlette, FastAPI, Litestar, Quart …), without their libraries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio

from ._admission import Admission, Options, admit_async, ignore, settle_async
from ._async import AsyncWeir
from ._core import Attributes
from .address import client_address
from .answer import Answer
from .errors import WeirError
from .middleware import Cost, Headers, OnDecision, RefundWhen, Refusal

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
            keep_answer(scope, admission.answer)
            if refused is None:
                await anyio.sleep(admission.answer.delay_ms / 1000)
                await self.app(scope, receive, send)
            elif on_refused is None or scope["type"] == "websocket":
                await _refuse(scope, send, refused)
            else:
                await on_refused(scope, admission.answer)(scope, receive, send)

        return limited


def keep_answer(scope: Scope, answer: Answer) -> None:
    scope.setdefault("state", {})["weir"] = answer


async def run_limited(app: App, scope: Scope, receive: Receive, send: Send, admissions: list[Admission[AsyncWeir]]) -> None:
    """Runs an application whose response gets the headers of these admissions, the first one outermost, and settles them when the response has
    ended, failed, or its client went away."""
    status = 500
    written: Headers = scope.setdefault("weir.headers", Headers())

    async def settle() -> None:
        for admission in admissions:
            await settle_async(admission, status)

    async def send_with_headers(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = list(message.get("headers", ()))
            for admission in reversed(admissions):
                headers = _added(headers, admission, written)
            message = {**message, "headers": headers}
        elif message["type"] == "websocket.accept":
            status = 101
        await send(message)
        # Before tasks that the application runs after its response.
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            await settle()

    try:
        await app(scope, receive, send_with_headers)
    finally:
        await settle()


def _added(headers: list[tuple[bytes, bytes]], admission: Admission[AsyncWeir], written: Headers) -> list[tuple[bytes, bytes]]:
    def existing(name: str) -> str | None:
        values = [value.decode("latin-1") for found, value in headers if found.lower() == name.encode()]
        return ", ".join(values) if values else None

    added = admission.headers(written, existing)
    kept = [(name, value) for name, value in headers if name.lower().decode("latin-1") not in added]
    return [*kept, *((name.encode(), value.encode()) for name, value in added.items())]


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
