"""The Python client of Weir, rate limiting as a service."""

from ._async import AsyncWeir
from ._core import Attributes, CheckRequest, Choice, OnError
from ._sync import Weir
from .address import client_address
from .answer import Answer, Degraded, LimitAnswer
from .errors import FailureKind, WeirError
from .middleware import safe_attributes

__all__ = [
    "Answer",
    "AsyncWeir",
    "Attributes",
    "CheckRequest",
    "Choice",
    "Degraded",
    "FailureKind",
    "LimitAnswer",
    "OnError",
    "Weir",
    "WeirError",
    "client_address",
    "safe_attributes",
]
