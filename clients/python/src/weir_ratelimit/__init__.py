"""The Python client of Weir, rate limiting as a service."""

from ._async import AsyncWeir
from ._core import Attributes, CheckRequest, Choice, OnError
from ._sync import Weir
from .address import client_address
from .answer import Answer, Degraded, Lease, LimitAnswer
from .errors import FailureKind, WeirError
from .lease import Released, Renewed
from .middleware import safe_attributes
from .reservation import AsyncReservation, Committed, Reservation

__all__ = [
    "Answer",
    "AsyncReservation",
    "AsyncWeir",
    "Attributes",
    "CheckRequest",
    "Choice",
    "Committed",
    "Degraded",
    "FailureKind",
    "Lease",
    "LimitAnswer",
    "OnError",
    "Released",
    "Renewed",
    "Reservation",
    "Weir",
    "WeirError",
    "client_address",
    "safe_attributes",
]
