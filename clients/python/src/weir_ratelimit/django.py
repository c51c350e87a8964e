"""Middleware and a decorator of Django."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import Resolver404, resolve

from ._admission import Limits, ignore
from ._core import Attributes
from ._sync import Weir
from .address import client_address
from .errors import WeirError
from .middleware import UNMATCHED, Cost, RefundWhen

View = Callable[..., HttpResponseBase]


def weir_middleware(
    client: Weir,
    *,
    namespace: str,
    attributes: Callable[[HttpRequest], Attributes | None],
    cost: Cost = 1,
    refund_when: RefundWhen | None = None,
    on_refund_error: Callable[[WeirError], None] = ignore,
) -> Callable[[View], View]:
    """Middleware for all requests. Assign it to a name of a module, and list that name in `MIDDLEWARE`.

    attributes: what rules test and count by; None passes the request unlimited.
    """

    limits = Limits(client, namespace, attributes, cost, refund_when, on_refund_error)

    def middleware(get_response: View) -> View:
        def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            admission = limits.admit(request)
            if admission.refused is not None:
                refused = admission.refused
                return HttpResponse(refused.content(), status=refused.status, headers=refused.headers)
            response = get_response(request, *args, **kwargs)
            for name, value in admission.headers.items():
                response[name] = value
            admission.settle(response.status_code)
            return response

        return limited

    return middleware


def limited(client: Weir, **options: Any) -> Callable[[View], View]:
    """A decorator of a synchronous view, with the options of `weir_middleware`."""
    middleware = weir_middleware(client, **options)

    def decorate(view: View) -> View:
        return functools.wraps(view)(middleware(view))

    return decorate


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
