"""Middleware and a decorator of Django."""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncIterator, Callable
from inspect import iscoroutinefunction
from typing import Any

import anyio
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import Resolver404, resolve

from ._admission import Admission, Options, admit, admit_async, ignore, missing_headers, settle, settle_async
from ._async import AsyncWeir
from ._core import Attributes
from ._sync import Weir
from .address import client_address
from .answer import Answer
from .errors import WeirError
from .middleware import UNMATCHED, Cost, OnDecision, RefundWhen

View = Callable[..., Any]


def weir_middleware(
    client: Weir | AsyncWeir,
    *,
    namespace: str,
    attributes: Callable[[HttpRequest], Attributes | None],
    cost: Cost = 1,
    refund_when: RefundWhen | None = None,
    on_refund_error: Callable[[WeirError], None] = ignore,
    on_refused: Callable[[HttpRequest, Answer], HttpResponseBase] | None = None,
    headers: bool = True,
    skip: Callable[[HttpRequest], bool] | None = None,
    on_decision: OnDecision | None = None,
) -> Callable[[View], View]:
    """Middleware for all requests: asynchronous with an `AsyncWeir`. Assign it to a name of a module, and list that name in `MIDDLEWARE`. The
    options are described at `Options`. The answer is `request.weir`."""
    values = (namespace, attributes, cost, refund_when, on_refund_error, on_refused, headers, skip, on_decision)
    if isinstance(client, AsyncWeir):
        middleware = _asynchronous(Options(client, *values))
        middleware.sync_capable, middleware.async_capable = False, True  # type: ignore[attr-defined]
        return middleware
    return _synchronous(Options(client, *values).of(Weir))


def limited(
    client: Weir | AsyncWeir,
    *,
    namespace: str,
    attributes: Callable[[HttpRequest], Attributes | None],
    cost: Cost = 1,
    refund_when: RefundWhen | None = None,
    on_refund_error: Callable[[WeirError], None] = ignore,
    on_refused: Callable[[HttpRequest, Answer], HttpResponseBase] | None = None,
    headers: bool = True,
    skip: Callable[[HttpRequest], bool] | None = None,
    on_decision: OnDecision | None = None,
) -> Callable[[View], View]:
    """A decorator of a view, with the options of `weir_middleware`: `Weir` for a synchronous one, `AsyncWeir` for an asynchronous one."""
    middleware = weir_middleware(
        client,
        namespace=namespace,
        attributes=attributes,
        cost=cost,
        refund_when=refund_when,
        on_refund_error=on_refund_error,
        on_refused=on_refused,
        headers=headers,
        skip=skip,
        on_decision=on_decision,
    )

    def decorate(view: View) -> View:
        if iscoroutinefunction(view) != isinstance(client, AsyncWeir):
            needed = "an asynchronous view needs an AsyncWeir, and a synchronous one a Weir"
            raise TypeError(f"{getattr(view, '__name__', view)}: {needed}")
        return functools.wraps(view)(middleware(view))

    return decorate


def _synchronous(options: Options[Weir]) -> Callable[[View], View]:
    def middleware(get_response: View) -> View:
        def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            admission = admit(options, request)
            if admission is None:
                found: HttpResponseBase = get_response(request, *args, **kwargs)
                return found
            response = refusal_of(request, admission)
            if response is None:
                try:
                    time.sleep(admission.answer.delay_ms / 1000)
                    response = get_response(request, *args, **kwargs)
                except BaseException as error:
                    settle(admission, _status_of(error))
                    raise
            add_headers(request, response)
            settle_when_closed(response, admission)
            return response

        return limited

    return middleware


def _asynchronous(options: Options[AsyncWeir]) -> Callable[[View], View]:
    def middleware(get_response: View) -> View:
        async def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            admission = await admit_async(options, request)
            if admission is None:
                found: HttpResponseBase = await get_response(request, *args, **kwargs)
                return found
            response = refusal_of(request, admission)
            if response is None:
                try:
                    await anyio.sleep(admission.answer.delay_ms / 1000)
                    response = await get_response(request, *args, **kwargs)
                except BaseException as error:
                    await settle_async(admission, _status_of(error))
                    raise
            add_headers(request, response)
            if isinstance(response, StreamingHttpResponse):
                response.streaming_content = _settling(response, admission)
            else:
                await settle_async(admission, response.status_code)
            return response

        return limited

    return middleware


def refusal_of(request: HttpRequest, admission: Admission[Any]) -> HttpResponseBase | None:
    """The response to a refused request."""
    keep(request, admission)
    refused, on_refused = admission.refusal(), admission.options.on_refused
    if refused is None:
        return None
    if on_refused is not None:
        found: HttpResponseBase = on_refused(request, admission.answer)
        return found
    return HttpResponse(refused.content(), status=refused.status, headers=refused.headers)


def keep(request: HttpRequest, admission: Admission[Any]) -> None:
    """Keeps all admissions on the request, the outermost first, and the answer of the last one."""
    request.weir = admission.answer
    request._weir_decided = [*getattr(request, "_weir_decided", ()), admission]


def add_headers(request: HttpRequest, response: HttpResponseBase) -> None:
    for name, value in missing_headers(request._weir_decided, response.headers).items():
        response[name] = value


def settle_when_closed(response: HttpResponseBase, admission: Admission[Weir]) -> None:
    """Servers close a response when it has ended, or its client went away."""
    close = response.close

    def settle_and_close() -> None:
        try:
            close()
        finally:
            settle(admission, response.status_code)

    response.close = settle_and_close


async def _settling(response: StreamingHttpResponse, admission: Admission[AsyncWeir]) -> AsyncIterator[bytes]:
    try:
        async for part in response:
            yield part
    finally:
        await settle_async(admission, response.status_code)


def _status_of(error: BaseException) -> int | None:
    """The status of Django's response to an exception of a view; None if it ends the view because the client went away."""
    if not isinstance(error, Exception):
        return None
    known = ((Http404, 404), (PermissionDenied, 403), (SuspiciousOperation, 400))
    return next((status for kind, status in known if isinstance(error, kind)), 500)


def ip(request: HttpRequest, *, trusted_hops: int = 0, ipv6_prefix: int = 64) -> str:
    """The address of the client. `X-Forwarded-For` is read only with `trusted_hops`."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR")
    peer = request.META.get("REMOTE_ADDR")
    return client_address(
        peer, [forwarded] if forwarded else [], trusted_hops=trusted_hops, ipv6_prefix=ipv6_prefix
    )


def route(request: HttpRequest) -> str:
    """The pattern of the route, such as `users/<int:id>`; `unmatched` if there is none."""
    match = request.resolver_match
    try:
        found: str = (match or resolve(request.path_info, getattr(request, "urlconf", None))).route
    except Resolver404:
        return UNMATCHED
    return found
