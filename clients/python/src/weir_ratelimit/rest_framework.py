"""A throttle of Django REST Framework."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, ClassVar

from django.http import HttpResponseBase
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from . import django
from ._admission import Admission, Options, admit, ignore, settle
from ._core import Attributes
from ._sync import Weir
from .answer import Answer
from .errors import WeirError
from .middleware import Cost, OnDecision, RefundWhen


class Refused(Throttled):  # type: ignore[misc]
    """A request that a limit refused, for the exception handler of the project. Its `detail` is a problem document."""

    def __init__(self, admission: Admission[Weir]) -> None:
        answer, refused = admission.answer, admission.refusal()
        assert refused is not None
        super().__init__(None if answer.retry_after_ms is None else max(math.ceil(answer.retry_after_ms / 1000), 1))
        self.answer = answer
        self.on_refused = admission.options.on_refused
        self.status_code = refused.status
        self.detail = refused.body


class WeirThrottle(BaseThrottle):  # type: ignore[misc]
    """The throttle of a view: a subclass with the options as attributes, which are described at `Options`.

    ```
    class ApiLimits(WeirThrottle):
        client = weir
        namespace = "api"
        attributes = staticmethod(lambda request: {"user": str(request.user.pk)})
    ```
    The answer is `request.weir`.
    """

    client: ClassVar[Weir]
    namespace: ClassVar[str]
    attributes: ClassVar[Callable[[Request], Attributes | None]]
    cost: ClassVar[Cost] = 1
    refund_when: ClassVar[RefundWhen | None] = None
    on_refund_error: ClassVar[Callable[[WeirError], None]] = staticmethod(ignore)
    on_refused: ClassVar[Callable[[Request, Answer], HttpResponseBase] | None] = None
    headers: ClassVar[bool] = True
    skip: ClassVar[Callable[[Request], bool] | None] = None
    on_decision: ClassVar[OnDecision | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("client", "namespace", "attributes"):
            if not hasattr(cls, name):
                raise TypeError(f"{cls.__name__}: {name} is needed")
        cls._options()

    @classmethod
    def _options(cls) -> Options[Weir]:
        return Options(
            cls.client,
            cls.namespace,
            cls.attributes,
            cls.cost,
            cls.refund_when,
            cls.on_refund_error,
            cls.on_refused,
            cls.headers,
            cls.skip,
            cls.on_decision,
        ).of(Weir)

    def allow_request(self, request: Request, view: Any) -> bool:
        admission = admit(self._options(), request)
        if admission is None:
            return True
        _follow(request, view, admission)
        django.keep(request._request, admission)
        if admission.refusal() is not None:
            raise Refused(admission)
        time.sleep(admission.answer.delay_ms / 1000)
        return True


def _follow(request: Request, view: Any, admission: Admission[Weir]) -> None:
    """Lets the view of this request, which serves no other one, add the headers and settle. The view makes its response, and passes on an
    exception that it does not handle, in one place each."""
    if hasattr(view, "weir_admissions"):
        view.weir_admissions.append(admission)
        return
    admissions = view.weir_admissions = [admission]
    finalize, passes_on, handles = view.finalize_response, view.raise_uncaught_exception, view.handle_exception

    def finalize_response(*args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = finalize(*args, **kwargs)
        django.add_headers(request._request, response)
        for admission in admissions:
            django.settle_when_closed(response, admission)
        return response

    def raise_uncaught_exception(error: Exception) -> None:
        for admission in admissions:
            settle(admission, 500)
        passes_on(error)

    def handle_exception(error: Exception) -> HttpResponseBase:
        own = isinstance(error, Refused) and error.on_refused is not None
        found: HttpResponseBase = error.on_refused(request, error.answer) if own else handles(error)  # type: ignore[attr-defined]
        return found

    view.finalize_response = finalize_response
    view.raise_uncaught_exception = raise_uncaught_exception
    view.handle_exception = handle_exception
