"""What the middleware of all frameworks share: one request from its attributes to the refund and the release of its leases."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import anyio

from ._async import AsyncWeir, start_task
from ._core import Attributes
from ._renewals import RENEWALS
from ._sync import Weir
from .answer import Answer
from .errors import WeirError
from .middleware import Cost, OnDecision, Refusal, RefundWhen, cost_of, headers_of_all, refunds, refusal, renewal_times, safe_attributes

Client = TypeVar("Client", Weir, AsyncWeir)


def ignore(error: WeirError) -> None:
    """A refund or a release that failed changes no response."""


@dataclass(frozen=True, slots=True)
class Options(Generic[Client]):
    """How the requests of a framework are limited.

    attributes: what rules test and count by; None passes the request unlimited, as `skip` does if it returns True.
    refund_when: whether a response with this status returns the units. The status is 500 if the handler raised. It is not asked if the client
        went away before the response began.
    on_refund_error: called if a refund, or the release of a lease, failed.
    on_refused: makes the response to a refused request in place of the problem document.
    headers: whether responses have the headers of the limit; a refusal has `Retry-After` either way.
    on_decision: called with each answer and the milliseconds that it took.
    """

    client: Client
    namespace: str
    attributes: Callable[[Any], Attributes | None]
    cost: Cost = 1
    refund_when: RefundWhen | None = None
    on_refund_error: Callable[[WeirError], None] = ignore
    on_refused: Callable[[Any, Answer], Any] | None = None
    headers: bool = True
    skip: Callable[[Any], bool] | None = None
    on_decision: OnDecision | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.namespace, str):
            raise TypeError("namespace: a text is needed")
        if not callable(self.cost) and (type(self.cost) is not int or self.cost < 0):
            raise TypeError("cost: a whole number or a function of the request is needed")
        if not callable(self.attributes):
            raise TypeError("attributes: a function of the request is needed")
        if type(self.headers) is not bool:
            raise TypeError("headers: True or False is needed")
        for name in ("refund_when", "on_refund_error", "on_refused", "skip", "on_decision"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise TypeError(f"{name}: a function is needed")

    def of(self, kind: type[Client]) -> Options[Client]:
        if not isinstance(self.client, kind):
            raise TypeError(f"client: a {kind.__name__} is needed here, not a {type(self.client).__name__}")
        return self

    def question(self, request: Any) -> tuple[Attributes, int] | None:
        """What to ask about a request; None if it passes unlimited."""
        if self.skip is not None and self.skip(request):
            return None
        attributes = self.attributes(request)
        return None if attributes is None else (safe_attributes(attributes), cost_of(self.cost, request))

    def report(self, answer: Answer, since: float) -> None:
        if self.on_decision is not None:
            self.on_decision(answer, (time.perf_counter() - since) * 1000)


@dataclass(slots=True)
class Admission(Generic[Client]):
    """The decision about a request, until its response has ended."""

    options: Options[Client]
    answer: Answer
    attributes: Attributes
    cost: int
    renewals: list[Any] = field(default_factory=list)
    """Events that end the renewals of its leases."""
    ended: bool = False

    def refusal(self) -> Refusal | None:
        return refusal(self.answer)

    def end(self) -> bool:
        """Ends the renewals. Returns False if the response had ended before."""
        ended, self.ended = self.ended, True
        for renewal in self.renewals:
            renewal.set()
        return not ended

    def refunds(self, status: int | None) -> bool:
        return refunds(self.answer, self.options.refund_when, status)


def missing_headers(decided: Sequence[Admission[Any]], existing: Container[str]) -> dict[str, str]:
    """The headers of a response that it lacks. `decided` are all admissions of its request, the outermost first, so that each limit finds the
    same headers; `existing` are the names of those of the handler and of the limits within."""
    found = headers_of_all([admission.answer for admission in decided if admission.options.headers])
    for admission in decided:
        # A refusal has it without the other headers too.
        found |= {name: value for name, value in admission.answer.headers().items() if name == "retry-after"}
    return {name: value for name, value in found.items() if name not in existing}


def admit(options: Options[Weir], request: Any) -> Admission[Weir] | None:
    """Decides about a request; None if it passes unlimited. The caller waits for `delay_ms` of the answer."""
    question, since = options.question(request), time.perf_counter()
    if question is None:
        return None
    answer = options.client.check(options.namespace, question[0], cost=question[1])
    options.report(answer, since)
    admission = Admission(options, answer, *question)
    for lease, every_s in renewal_times(answer):
        admission.renewals.append(RENEWALS.add(every_s, partial(_renewed, options.client, lease)))
    return admission


def settle(admission: Admission[Weir], status: int | None) -> None:
    """To be called when the response has ended, with its status: 500 if the handler raised, None if the client went away before it began."""
    if not admission.end():
        return
    options, client = admission.options, admission.options.client
    steps: list[Callable[[], object]] = [partial(client.release, lease.id) for lease in admission.answer.leases]
    if admission.refunds(status):
        charge = admission.answer.charge
        steps.append(partial(client.refund, options.namespace, admission.attributes, cost=admission.cost, charge=charge))
    for step in steps:
        try:
            step()
        except WeirError as error:
            options.on_refund_error(error)


async def admit_async(options: Options[AsyncWeir], request: Any) -> Admission[AsyncWeir] | None:
    """See `admit`."""
    question, since = options.question(request), time.perf_counter()
    if question is None:
        return None
    answer = await options.client.check(options.namespace, question[0], cost=question[1])
    options.report(answer, since)
    admission = Admission(options, answer, *question)
    for lease, every_s in renewal_times(answer):
        ended = anyio.Event()
        admission.renewals.append(ended)
        start_task(_renew, options.client, lease, every_s, ended)
    return admission


async def settle_async(admission: Admission[AsyncWeir], status: int | None) -> None:
    """See `settle`."""
    if not admission.end():
        return
    options, client = admission.options, admission.options.client
    steps: list[Callable[[], Awaitable[object]]] = [partial(client.release, lease.id) for lease in admission.answer.leases]
    if admission.refunds(status):
        charge = admission.answer.charge
        steps.append(partial(client.refund, options.namespace, admission.attributes, cost=admission.cost, charge=charge))
    if not steps:
        return
    # A task of its own: servers cancel that of a request when the client goes away, and some also when the response has ended.
    ended = anyio.Event()
    start_task(_settle, steps, options.on_refund_error, ended)
    with anyio.CancelScope(shield=True):
        await ended.wait()


async def _settle(steps: list[Callable[[], Awaitable[object]]], failed: Callable[[WeirError], None], ended: anyio.Event) -> None:
    try:
        for step in steps:
            try:
                await step()
            except WeirError as error:
                failed(error)
    finally:
        ended.set()


def _renewed(client: Weir, lease: str) -> bool:
    """Whether the lease is to be renewed again."""
    try:
        return client.renew(lease).held
    except WeirError:
        return True


async def _renew(client: AsyncWeir, lease: str, every_s: float, ended: anyio.Event) -> None:
    held = True
    while held:
        with anyio.move_on_after(every_s):
            await ended.wait()
        if ended.is_set():
            return
        try:
            held = (await client.renew(lease)).held
        except WeirError:
            continue
