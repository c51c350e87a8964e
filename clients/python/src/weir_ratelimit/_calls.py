"""The order of a client's checks: how many calls are in flight, what waits, and which checks travel together."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from .answer import GateAnswer, Reply
from .errors import WeirError

BATCH_MAX = 100
BATCH_BYTES_MAX = 60_000
"""Below the 64 KiB that a gate reads of a body."""


@dataclass(slots=True, eq=False)
class Request:
    """One request, and its outcome when it has one."""

    method: str
    path: str
    content: bytes | None
    repeatable: bool
    """Whether it is sent once more after a failed connection."""
    deadline: float
    """Of `time.monotonic`. It covers the wait and the call."""
    headers: dict[str, str]
    keyed: bool = False
    """Whether a second one takes nothing (peeks, checks with an idempotency key). A gate can refuse a batch for a reused key after it charged a
    part of it, so checks without a key do not travel with these."""
    alone: bool = False
    event: Any = None
    call: Call | None = None
    """The call that carries it; None while it waits."""
    outcome: Reply | GateAnswer | WeirError | None = None
    abandoned: bool = False
    """Whether nobody waits for the outcome any more."""


@dataclass(slots=True, eq=False)
class Call:
    """One HTTP request that carries one check, or a batch of them."""

    requests: list[Request]
    ended: bool = field(default=False, init=False)
    """Whether it has given its place to the next call."""
    written: bool = field(default=False, init=False)
    """Whether only the answer is missing."""
    scope: Any = field(default=None, init=False)
    """In which the asynchronous client runs it."""

    @property
    def leader(self) -> Request:
        """The last to arrive, whose deadline is the latest, so the call ends no earlier than the time of each of its checks."""
        return self.requests[-1]

    def as_one(self) -> Request:
        """The request to send."""
        if len(self.requests) == 1:
            return self.requests[0]
        content = b'{"checks":[' + b",".join(one.content or b"" for one in self.requests) + b"]}"
        repeatable = any(one.repeatable for one in self.requests)
        return Request("POST", "/check/batch", content, repeatable, self.leader.deadline, self.requests[0].headers)


class CallQueue:
    """At most `max_in_flight` calls at a time; the checks that arrive meanwhile wait in order. Its callers hold a lock, or share a thread."""

    def __init__(self, max_in_flight: int, max_waiting: int) -> None:
        self._max_in_flight = max_in_flight
        self._max_waiting = max_waiting
        self._in_flight = 0
        self._waiting: deque[Request] = deque()
        self._abandoned = 0
        """How many of them nobody waits for."""

    def add(self, request: Request) -> None:
        if self._in_flight >= self._max_in_flight and len(self._waiting) - self._abandoned >= self._max_waiting:
            raise WeirError("overload", f"{self._max_waiting} checks wait already")
        self._waiting.append(request)

    def next(self) -> Call | None:
        """The next call, if one can begin: as many of the waiting checks as travel together."""
        if self._in_flight >= self._max_in_flight:
            return None
        requests: list[Request] = []
        size = 0
        while self._waiting and len(requests) < BATCH_MAX:
            request = self._waiting[0]
            if request.abandoned:
                self._abandoned -= 1
                self._waiting.popleft()
                continue
            size += len(request.content or b"") + 1
            first = requests[0] if requests else request
            if requests and (request.keyed != first.keyed or request.alone or first.alone or size > BATCH_BYTES_MAX):
                break
            requests.append(self._waiting.popleft())
        if not requests:
            return None
        self._in_flight += 1
        call = Call(requests)
        for request in requests:
            request.call = call
        return call

    def end(self, call: Call) -> None:
        """Gives the place of a call to the next one."""
        if not call.ended:
            call.ended = True
            self._in_flight -= 1

    def abandon(self, request: Request) -> None:
        """Nobody waits for this request any more."""
        if not request.abandoned:
            request.abandoned = True
            self._abandoned += request.call is None

    def send_again(self, call: Call, error: WeirError) -> None:
        """A gate refused a batch and took nothing, or each check has a key. Those that it names are sent alone, so that each gets its own error,
        and the others together; all alone if it names none."""
        places = (re.match(r"checks\[(\d+)\]", name) for name, _ in error.fields)
        named = {int(place[1]) for place in places if place}
        for position, request in enumerate(call.requests):
            request.call = None
            request.alone = not named or position in named
        self._waiting.extendleft(request for request in reversed(call.requests) if not request.abandoned)


def timed_out() -> WeirError:
    return WeirError("timeout", "the gate did not answer in time")


def interrupted() -> WeirError:
    return WeirError("connection", "the call was interrupted")
