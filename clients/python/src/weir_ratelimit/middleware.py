"""What the middleware of all frameworks share."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ._core import Attributes
from .answer import Answer, over_of

UNMATCHED = "unmatched"
"""The value of `route` for a request that no route matches. Its path would be a new subject each time."""

Cost = int | Callable[[Any], int]
"""The number of units, or how to find it from a request."""
OnDecision = Callable[[Answer, float], None]
"""Called with each answer and the milliseconds that it took."""
RefundWhen = Callable[[int], bool]
"""Whether an answer with this status returns the units: `lambda status: status < 300` counts failed sign-ins only. Units whose
window is over by then do not return."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response in place of the handler's."""

    status: int
    headers: dict[str, str]
    """Without those of the limit."""
    body: dict[str, Any] = field(default_factory=dict)

    def content(self) -> bytes:
        return json.dumps(self.body).encode()


def headers_of_all(answers: list[Answer]) -> dict[str, str]:
    """The headers of a response to which these answers belong, the outermost limit's first. `RateLimit` and `RateLimit-Policy` are lists,
    and `X-RateLimit-Over` names the rules of all. The others are those of the refusal, or of the answer with the least left, the first one of equals."""
    if not answers:
        return {}
    refusals = [answer for answer in answers if not answer.allowed]
    least = min(answers, key=lambda answer: math.inf if answer.remaining is None else answer.remaining)
    found = (refusals or [least])[0].headers()
    for name in ("ratelimit-policy", "ratelimit"):
        items = [own[name] for answer in answers if name in (own := answer.headers())]
        if items:
            found[name] = ", ".join(items)
    if over := over_of(answers):
        found["x-ratelimit-over"] = over
    return found


def refusal(answer: Answer) -> Refusal | None:
    """None if the answer allows. 429 for a denial; 503 if `on_error` denied, because the request is not at fault."""
    if answer.allowed:
        return None
    by_client = answer.degraded == "client"
    status = 503 if by_client else 429
    title = "Service Unavailable" if by_client else "Too Many Requests"
    code = "rate_limit_unavailable" if by_client else "rate_limited"
    headers = {"content-type": "application/problem+json", "cache-control": "no-store"}
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "retry_after_ms": answer.retry_after_ms}
    return Refusal(status, headers, body)


def refunds(answer: Answer, refund_when: RefundWhen | None, status: int | None) -> bool:
    """Whether the units of this admission are to be returned. A degraded answer charged nothing. The status is None if the client went away
    before the response began: it could otherwise have the work for nothing."""
    return refund_when is not None and status is not None and answer.allowed and answer.degraded is None and refund_when(status)


def renewal_times(answer: Answer) -> list[tuple[str, float]]:
    """Each lease of the answer, and the seconds after which it is renewed: a third of its time."""
    times = {limit.rule_id: limit.window_ms for limit in answer.limits if limit.algorithm == "concurrency"}
    return [(lease.id, max(times.get(lease.rule_id, 60_000), 3) / 3000) for lease in answer.leases]


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
