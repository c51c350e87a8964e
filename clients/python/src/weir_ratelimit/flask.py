"""A decorator of Flask."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flask import Request, Response, make_response, request
from werkzeug.exceptions import HTTPException

from ._admission import Limits, ignore
from ._core import Attributes
from ._sync import Weir
from .address import client_address
from .errors import WeirError
from .middleware import UNMATCHED, Cost, RefundWhen

View = Callable[..., Any]


def limited(
    client: Weir,
    *,
    namespace: str,
    attributes: Callable[[Request], Attributes | None],
    cost: Cost = 1,
    refund_when: RefundWhen | None = None,
    on_refund_error: Callable[[WeirError], None] = ignore,
) -> Callable[[View], View]:
    """A decorator of a view: `@app.get("/")` above, `@limited(weir, …)` below.

    attributes: what rules test and count by; None passes the request unlimited.
    """

    limits = Limits(client, namespace, attributes, cost, refund_when, on_refund_error)

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def checked(*args: Any, **kwargs: Any) -> Any:
            admission = limits.admit(request)
            if admission.refused is not None:
                refused = admission.refused
                return Response(refused.content(), refused.status, refused.headers)
            try:
                response = make_response(view(*args, **kwargs))
            except HTTPException as error:
                response = make_response(error)
            response.headers.update(admission.headers)
            admission.settle(response.status_code)
            return response

        return checked

    return decorate


def ip(request: Request, *, trusted_hops: int = 0, ipv6_prefix: int = 64) -> str:
    """The address of the client. `X-Forwarded-For` is read only with `trusted_hops`."""
    forwarded = request.headers.getlist("X-Forwarded-For")
    return client_address(request.remote_addr, forwarded, trusted_hops=trusted_hops, ipv6_prefix=ipv6_prefix)


def route(request: Request) -> str:
    """The pattern of the route, such as `/users/<int:id>`; `unmatched` if there is none."""
    return UNMATCHED if request.url_rule is None else request.url_rule.rule
