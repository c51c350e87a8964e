"""What the middleware of Django and Flask share: one request from its attributes to the refund."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ._core import Attributes
from ._sync import Weir
from .errors import WeirError
from .middleware import Cost, Refusal, RefundWhen, cost_of, refunds, refusal, safe_attributes


def ignore(error: WeirError) -> None:
    """A refund that failed changes no response."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision about a request."""

    refused: Refusal | None = None
    """The response in place of the handler's."""
    headers: dict[str, str] = field(default_factory=dict)
    """Those to add to the handler's response."""
    settle: Callable[[int], None] = lambda status: None
    """To be called with the status of the handler's response."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How the requests of a framework are limited."""

    client: Weir
    namespace: str
    attributes: Callable[[Any], Attributes | None]
    cost: Cost
    refund_when: RefundWhen | None
    on_refund_error: Callable[[WeirError], None]

    def admit(self, request: Any) -> Admission:
        """Decides about a request. Waits for the delay of a leaky bucket."""
        attributes = self.attributes(request)
        if attributes is None:
            return Admission()
        safe, cost = safe_attributes(attributes), cost_of(self.cost, request)
        answer = self.client.check(self.namespace, safe, cost=cost)
        refused = refusal(answer)
        if refused is not None:
            return Admission(refused)
        time.sleep(answer.delay_ms / 1000)

        def settle(status: int) -> None:
            if not refunds(answer, self.refund_when, status):
                return
            try:
                self.client.refund(self.namespace, safe, cost=cost, charge=answer.charge)
            except WeirError as error:
                self.on_refund_error(error)

        return Admission(None, answer.headers(), settle)
