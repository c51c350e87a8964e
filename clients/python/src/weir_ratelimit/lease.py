"""Leases of concurrency limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .answer import Degraded, read_fields


@dataclass(frozen=True, slots=True)
class Renewed:
    """The effect of a renewal."""

    held: bool
    """Whether the lease is held; False if it had ended, so that someone else can have the place."""
    expires_at_ms: int | None
    """The time at which it ends by itself, in milliseconds since 1970, by the clock of the gates; None if it was not renewed."""
    degraded: Degraded | None
    """Why nothing was renewed although it is held; None usually."""


@dataclass(frozen=True, slots=True)
class Released:
    """The effect of a release."""

    released: bool
    """Whether the place is free; False if the lease had ended before."""
    degraded: Degraded | None
    """Why nothing was released; None usually."""


ENDED = Renewed(False, None, None)
NOT_RELEASED = Released(False, None)


def read_renewed(value: Any) -> Renewed:
    body = read_fields(value, "the renewal")
    return Renewed(True, body.count_or_none("expires_at_ms"), body.one_of("degraded", (None, "allow", "deny", "local")))


def read_released(value: Any) -> Released:
    body = read_fields(value, "the release")
    return Released(body.flag("released"), body.one_of("degraded", (None, "allow", "deny", "local")))
