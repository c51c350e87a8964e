"""Middleware for any ASGI application (Starlette, FastAPI, Litestar, Quart …), without their libraries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio

from ._async import AsyncWeir
from ._core import Attributes
from .address import client_address
from .errors import WeirError
from .middleware import Cost, RefundWhen, Refusal, cost_of, refunds, refusal, safe_attributes

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
        on_refund_error: Callable[[WeirError], None] = lambda error: None,
    ) -> None:
        """attributes: what rules test and count by, from the scope; None passes the request unlimited."""
        self.app = app
        self._client = client
        self._namespace = namespace
        self._attributes = attributes
        self._cost = cost
        self._refund_when = refund_when
        self._on_refund_error = on_refund_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        attributes = self._attributes(scope) if scope["type"] in ("http", "websocket") else None
        if attributes is None:
            return await self.app(scope, receive, send)
        safe, cost = safe_attributes(attributes), cost_of(self._cost, scope)
        answer = await self._client.check(self._namespace, safe, cost=cost)
        refused = refusal(answer)
        if refused is not None:
            return await _refuse(scope, send, refused)
        await anyio.sleep(answer.delay_ms / 1000)
        status = 500
        added = [(name.encode(), value.encode()) for name, value in answer.headers().items()]

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            if refunds(answer, self._refund_when, status):
                try:
                    await self._client.refund(self._namespace, safe, cost=cost, charge=answer.charge)
                except WeirError as error:
                    self._on_refund_error(error)


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
