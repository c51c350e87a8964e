"""Failures of calls."""

from __future__ import annotations

from typing import Literal

FailureKind = Literal["timeout", "connection", "status", "answer", "refused", "overload"]
"""Why a call got no valid answer.

timeout: no complete answer arrived before the time-out. connection: the connection was refused, reset or closed before the answer was
complete. status: 401, 403, 404, 5xx, or a redirect, which is never followed. answer: it is not the answer of a gate. refused: the gate
refused the request itself (400, 413, 415, 422); the program must send another one. overload: more requests waited than `max_waiting`.
"""


class WeirError(Exception):
    """A call of a gate that produced no decision."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        fields: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.status = status
        """The HTTP status, if there was one."""
        self.code = code
        """`code` of the gate's problem document."""
        self.request_id = request_id
        self.fields = fields
        """Each field that the gate refused, with the reason."""
