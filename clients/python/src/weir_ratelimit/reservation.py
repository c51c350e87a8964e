"""Reservations: units that are held until a commit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .answer import Answer, Degraded, read_fields


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of a reservation."""

    charged: int
    """The number of units that each matching limit took."""
    released: int
    """The reserved units that were not used."""
    late: bool
    """Whether the reservation was no longer open, so that the cost was recorded."""
    degraded: Degraded | None
    """Why nothing was held, or nothing was charged; None usually."""
    buffered: bool = False
    """Whether the gate holds the commit, because Redis was away, and sends it when Redis returns."""


NOTHING = Committed(0, 0, False, None)


class Reservation:
    """Units that are held until `commit` or `cancel`, or until `expires_at_ms`."""

    def __init__(
        self, answer: Answer, reserved: int, expires_at_ms: int | None, commit: Callable[[int], Committed]
    ) -> None:
        self.answer = answer
        """The answer to the reserve. Begin the work only if it is `allowed`."""
        self.reserved = reserved
        """The units that are held; 0 if the reserve was denied or `degraded` is `client`."""
        self.expires_at_ms = expires_at_ms
        """In milliseconds since 1970, by the clock of the gates; None if nothing is held."""
        self._commit = commit

    def commit(self, cost: int) -> Committed:
        """Charges the units that were used, fewer or more than reserved, and releases the reservation. A further commit or cancel changes
        nothing and gets the first answer. If the reservation is no longer open, the cost is recorded. Raises a `WeirError` if no gate
        confirms it."""
        return self._commit(cost)

    def cancel(self) -> Committed:
        """Releases the units: a commit of 0. Returns also if the reservation is no longer open."""
        return self._commit(0)


class AsyncReservation:
    """As `Reservation`, for the asynchronous client."""

    def __init__(
        self,
        answer: Answer,
        reserved: int,
        expires_at_ms: int | None,
        commit: Callable[[int], Awaitable[Committed]],
    ) -> None:
        self.answer = answer
        self.reserved = reserved
        self.expires_at_ms = expires_at_ms
        self._commit = commit

    async def commit(self, cost: int) -> Committed:
        """See `Reservation.commit`."""
        return await self._commit(cost)

    async def cancel(self) -> Committed:
        """See `Reservation.cancel`."""
        return await self._commit(0)


def read_reservation(value: Any) -> tuple[str | None, int, int | None]:
    """The text of a reservation (None if it was denied), its units and its end."""
    body = read_fields(value, "the reservation")
    return body.text_or_none("reservation"), body.count("reserved"), body.count_or_none("expires_at_ms")


def read_committed(value: Any) -> Committed:
    body = read_fields(value, "the commit")
    return Committed(
        charged=body.count("charged"),
        released=body.count("released"),
        late=body.flag("late"),
        degraded=body.one_of("degraded", (None, "allow", "deny", "local")),
        buffered=body.buffered(),
    )
