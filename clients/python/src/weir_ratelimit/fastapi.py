"""A dependency of FastAPI: `install(app)`, then `Depends(limit(weir, …))`, for synchronous and asynchronous endpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from fastapi import FastAPI, HTTPException, Request, Response

from . import asgi
from ._admission import Admission, Options, admit_async, ignore
from ._async import AsyncWeir
from ._core import Attributes
from .answer import Answer
from .errors import WeirError
from .middleware import Cost, OnDecision, RefundWhen, Refusal

_ADMISSIONS = "weir.admissions"


class Refused(HTTPException):
    """A request that a limit refused. Handlers of its status, 429 or 503, are asked before the one that `install` adds."""

    def __init__(self, admission: Admission[AsyncWeir], refused: Refusal) -> None:
        super().__init__(refused.status, refused.body)
        self.answer = admission.answer
        self._on_refused = admission.options.on_refused
        self._refused = refused

    def response(self, request: Request) -> Response:
        if self._on_refused is not None:
            found: Response = self._on_refused(request, self.answer)
            return found
        return Response(self._refused.content(), self._refused.status, self._refused.headers)


def install(app: FastAPI) -> None:
    """Lets `limit` see the responses of an application: their headers, and their end. Needed once, before the application starts."""

    def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return error.response(request)

    app.add_exception_handler(Refused, refuse)
    app.add_middleware(_Responses)


class _Responses:
    def __init__(self, app: asgi.App) -> None:
        self.app = app

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        scope[_ADMISSIONS] = []
        await asgi.run_limited(self.app, scope, receive, send, scope[_ADMISSIONS])


def limit(
    client: AsyncWeir,
    *,
    namespace: str,
    attributes: Callable[[Request], Attributes | None],
    cost: Cost = 1,
    refund_when: RefundWhen | None = None,
    on_refund_error: Callable[[WeirError], None] = ignore,
    on_refused: Callable[[Request, Answer], Response] | None = None,
    headers: bool = True,
    skip: Callable[[Request], bool] | None = None,
    on_decision: OnDecision | None = None,
) -> Callable[[Request], Awaitable[Answer | None]]:
    """A dependency whose value is the answer; None if the request passes unlimited. The options are described at `Options`. The answer is
    `request.state.weir` too."""
    options = Options(
        client, namespace, attributes, cost, refund_when, on_refund_error, on_refused, headers, skip, on_decision
    ).of(AsyncWeir)

    async def check(request: Request) -> Answer | None:
        admissions = request.scope.get(_ADMISSIONS)
        if admissions is None:
            raise RuntimeError("call weir_ratelimit.fastapi.install(app) before the application starts")
        admission = await admit_async(options, request)
        if admission is None:
            return None
        admissions.append(admission)
        asgi.keep(request.scope, admission)
        refused = admission.refusal()
        if refused is not None:
            raise Refused(admission, refused)
        await anyio.sleep(admission.answer.delay_ms / 1000)
        return admission.answer

    return check


def ip(request: Request, *, trusted_hops: int = 0, ipv6_prefix: int = 64) -> str:
    """The address of the client; see `asgi.ip`."""
    return asgi.ip(request.scope, trusted_hops=trusted_hops, ipv6_prefix=ipv6_prefix)


def route(request: Request) -> str:
    """The pattern of the route, such as `/users/{id}`."""
    path: str = request.scope["route"].path
    return path
