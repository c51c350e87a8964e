"""Deferred jobs: work that Weir delivers to a webhook when the limits permit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .answer import Answer, read_answer, read_fields

DeferredState = Literal["waiting", "delivered", "failed"]
"""`waiting`: for the limits, for its receiver, or for the end of a delivery. `failed`: a dead letter."""


@dataclass(frozen=True, slots=True)
class DeferredJob:
    """A job that a gate has stored."""

    id: str
    """By which `deferred` and `cancel_deferred` find it. Its messages have it as `webhook-id`."""
    state: DeferredState
    position: int
    """The place among the waiting jobs of the same subjects, from 1; 0 if it does not wait."""
    expires_at_ms: int | None
    """The end of its wait, in milliseconds since 1970, by the clock of the gates; None if `defer` delivered it."""
    charged: bool
    """Whether the limits admitted the job, which then is not charged again."""
    attempts: int
    """The number of failed deliveries."""
    error: str | None
    """The reason of the last failure; None if there was none."""


@dataclass(frozen=True, slots=True)
class Deferral:
    """The result of `defer`."""

    job: DeferredJob | None
    """None if nothing was stored, because the queue is full. Then repeat the call after `retry_after_ms` of the answer."""
    answer: Answer | None
    """The decision that let the job pass at once, or the refusal of a full queue (`code` is `queue_full`); None if the job waits or was
    known."""


def read_deferral(status: int, value: Any, request_id: str | None) -> Deferral | None:
    """None if the answer to a defer does not fit its status."""
    if status == 202:
        return Deferral(read_deferred_job(value), None)
    answer = read_answer(value, request_id).answer
    if answer.allowed != (status == 200):
        return None
    if not answer.allowed:
        return Deferral(None, answer)
    job_id = read_fields(value, "the answer").text("deferred")
    return Deferral(DeferredJob(job_id, "delivered", 0, None, True, 0, None), answer)


def read_deferred_job(value: Any) -> DeferredJob:
    body = read_fields(value, "the job")
    return DeferredJob(
        id=body.text("deferred"),
        state=body.one_of("state", ("waiting", "delivered", "failed")),
        position=body.count("position"),
        expires_at_ms=body.count("expires_at_ms"),
        charged=body.flag("charged"),
        attempts=body.count("attempts"),
        error=body.text_or_none("error"),
    )
