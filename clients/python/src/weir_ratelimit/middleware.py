"""What the middleware of all frameworks share."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ._core import Attributes
from .answer import Answer

UNMATCHED = "unmatched"
"""The value of `route` for a request that no route matches. Its path would be a new subject each time."""

Cost = int | Callable[[Any], int]
"""The number of units, or how to find it from a request."""
RefundWhen = Callable[[int], bool]
"""Whether an answer with this status returns the units: `lambda status: status < 300` counts failed sign-ins only. Units whose
window is over by then do not return."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response in place of the handler's."""

    status: int
    headers: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)

    def content(self) -> bytes:
        return json.dumps(self.body).encode()


def refusal(answer: Answer) -> Refusal | None:
    """None if the answer allows. 429 for a denial; 503 if `on_error` denied, because the request is not at fault."""
    if answer.allowed:
        return None
    by_client = answer.degraded == "client"
    status = 503 if by_client else 429
    title = "Service Unavailable" if by_client else "Too Many Requests"
    code = "rate_limit_unavailable" if by_client else "rate_limited"
    headers = {**answer.headers(), "content-type": "application/problem+json", "cache-control": "no-store"}
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "retry_after_ms": answer.retry_after_ms}
    return Refusal(status, headers, body)


def refunds(answer: Answer, refund_when: RefundWhen | None, status: int) -> bool:
    """Whether the units of this admission are to be returned. A degraded answer charged nothing."""
    return refund_when is not None and answer.allowed and answer.degraded is None and refund_when(status)


def cost_of(cost: Cost, request: Any) -> int:
    return cost(request) if callable(cost) else cost


def safe_attributes(attributes: Attributes) -> Attributes:
    """The attributes with values that every gate accepts, so that no client can cause an error by what it sends: those longer than
    512 bytes or with control characters become their SHA-256."""
    return {name: _safe(value) for name, value in attributes.items()}


def _safe(value: str | int | float | bool | None) -> str | int | float | bool | None:
    if not isinstance(value, str):
        return value
    content = value.encode("utf-8", "replace")
    if len(content) <= 512 and not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", value):
        return value
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
