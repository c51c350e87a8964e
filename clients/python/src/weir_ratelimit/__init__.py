"""The Python client of Weir, rate limiting as a service."""

from ._async import AsyncWeir
from ._core import Attributes, CheckRequest, Choice, OnError
from ._sync import Weir
from .address import client_address
from .answer import Answer, Degraded, Lease, LimitAnswer
from .deferral import Deferral, DeferredJob, DeferredState
from .errors import FailureKind, WeirError
from .lease import Released, Renewed
from .middleware import safe_attributes
from .reservation import AsyncReservation, Committed, Reservation
from .signature import is_from_weir

__all__ = [
    "Answer",
    "AsyncReservation",
    "AsyncWeir",
    "Attributes",
    "CheckRequest",
    "Choice",
    "Committed",
    "Deferral",
    "DeferredJob",
    "DeferredState",
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
    "is_from_weir",
    "safe_attributes",
]
