"""A decorator of Flask, and limits for all views of an application."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar

from flask import Flask, Request, Response, after_this_request, current_app, g, request, request_tearing_down
from werkzeug.exceptions import HTTPException, ServiceUnavailable, TooManyRequests

from ._admission import Admission, Options, admit, ignore, missing_headers, settle
from ._core import Attributes
from ._sync import Weir
from .address import client_address
from .answer import Answer
from .errors import WeirError
from .middleware import UNMATCHED, Cost, OnDecision, RefundWhen

View = Callable[..., Any]
AnyView = TypeVar("AnyView", bound=View)
_EXEMPT = "_weir_exempt"


class LimitReached(TooManyRequests):
    """A denial. Without an `errorhandler(429)`, its response is a problem document."""

    answer: Answer


class Undecided(ServiceUnavailable):
    """`on_error` denied."""

    answer: Answer


class WeirLimits:
    """Limits for all views of an application: `limits = WeirLimits(weir, …)`, `limits.init_app(app)`, and `@limits.exempt` at views that have
    none. The options are described at `Options`. The answer is `g.weir`."""

    def __init__(
        self,
        client: Weir,
        *,
        namespace: str,
        attributes: Callable[[Request], Attributes | None],
        cost: Cost = 1,
        refund_when: RefundWhen | None = None,
        on_refund_error: Callable[[WeirError], None] = ignore,
        on_refused: Callable[[Request, Answer], Any] | None = None,
        headers: bool = True,
        skip: Callable[[Request], bool] | None = None,
        on_decision: OnDecision | None = None,
    ) -> None:
        self._options = Options(
            client, namespace, attributes, cost, refund_when, on_refund_error, on_refused, headers, skip, on_decision
        ).of(Weir)

    def init_app(self, app: Flask) -> None:
        app.before_request(self._before)

    def exempt(self, view: AnyView) -> AnyView:
        setattr(view, _EXEMPT, True)
        return view

    def _before(self) -> Any:
        view = current_app.view_functions.get(request.endpoint or "")
        return None if getattr(view, _EXEMPT, False) else self.refused()

    def refused(self) -> Any:
        """The response to a refused request, or None. Raises an `HTTPException` if Flask makes the response."""
        # The proxy stands for another request in another context.
        asked = request._get_current_object()  # type: ignore[attr-defined]
        admission = admit(self._options, asked)
        if admission is None:
            return None
        _of_request().append(admission)
        g.weir = admission.answer
        refused = admission.refusal()
        if refused is None:
            time.sleep(admission.answer.delay_ms / 1000)
            return None
        if self._options.on_refused is not None:
            return self._options.on_refused(asked, admission.answer)
        kind = LimitReached if refused.status == TooManyRequests.code else Undecided
        error = kind(response=Response(refused.content(), refused.status, refused.headers))
        error.answer = admission.answer
        raise error


def limited(
    client: Weir,
    *,
    namespace: str,
    attributes: Callable[[Request], Attributes | None],
    cost: Cost = 1,
    refund_when: RefundWhen | None = None,
    on_refund_error: Callable[[WeirError], None] = ignore,
    on_refused: Callable[[Request, Answer], Any] | None = None,
    headers: bool = True,
    skip: Callable[[Request], bool] | None = None,
    on_decision: OnDecision | None = None,
) -> Callable[[View], View]:
    """A decorator of a view, synchronous or asynchronous: `@app.get("/")` above, `@limited(weir, …)` below. The options are described at
    `Options`. The answer is `g.weir`."""
    limits = WeirLimits(
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
        @functools.wraps(view)
        def checked(*args: Any, **kwargs: Any) -> Any:
            refused = limits.refused()
            return current_app.ensure_sync(view)(*args, **kwargs) if refused is None else refused

        return checked

    return decorate


def _of_request() -> list[Admission[Weir]]:
    """The admissions of this request, the outermost first. The response gets their headers after the error handlers of the application."""
    if "_weir_admissions" not in g:
        g._weir_admissions = []
        after_this_request(_finish)
    found: list[Admission[Weir]] = g._weir_admissions
    return found


def _finish(response: Any) -> Any:
    admissions = g.pop("_weir_admissions")
    response.headers.update(missing_headers(admissions, response.headers))

    def end() -> None:
        for admission in admissions:
            settle(admission, response.status_code)

    response.call_on_close(end)
    return response


def _tear_down(_: Flask, exc: BaseException | None = None, **__: Any) -> None:
    """Settles what had no response, because the application passes its exceptions on."""
    status = 500 if exc is None or not isinstance(exc, HTTPException) else exc.code or 500
    for admission in g.pop("_weir_admissions", ()):
        settle(admission, status)


request_tearing_down.connect(_tear_down)


def ip(request: Request, *, trusted_hops: int = 0, ipv6_prefix: int = 64) -> str:
    """The address of the client. `X-Forwarded-For` is read only with `trusted_hops`."""
    forwarded = request.headers.getlist("X-Forwarded-For")
    return client_address(request.remote_addr, forwarded, trusted_hops=trusted_hops, ipv6_prefix=ipv6_prefix)


def route(request: Request) -> str:
    """The pattern of the route, such as `/users/<int:id>`; `unmatched` if there is none."""
    return UNMATCHED if request.url_rule is None else request.url_rule.rule
