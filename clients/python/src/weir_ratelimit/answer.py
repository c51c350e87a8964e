"""Answers, and how they are read. Anything that is not exactly an answer is an error, so it cannot admit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from .errors import WeirError

T = TypeVar("T")

Degraded = Literal["allow", "deny", "local", "client"]
"""The source of an answer that Redis did not decide: a rule, the gate's own counters, or this client's `on_error`."""


@dataclass(frozen=True, slots=True)
class LimitAnswer:
    """The decision of one limit of one matching rule."""

    rule: str
    rule_id: str
    algorithm: str
    mode: str
    """`enforce`; `shadow`: listed without an effect on the answer; or `report`: denies nothing, and `over` names the rule when it is exceeded."""
    allowed: bool
    limit: int
    remaining: int | None
    window_ms: int
    reset_after_ms: int | None
    retry_after_ms: int | None
    delay_ms: int
    refunded: bool | None
    """In the answer to a refund: whether units were returned to this limit."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A place in a concurrency limit."""

    id: str
    """By which the lease is renewed and released."""
    rule_id: str
    expires_at_ms: int
    """The time at which the lease ends by itself, in milliseconds since 1970, by the clock of the gates."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a check."""

    allowed: bool
    denied_by: tuple[str, ...] = ()
    """The names of the rules that denied the check."""
    retry_after_ms: int | None = 0
    """0 when allowed; on denial the time after which the same check could pass; None if it never can."""
    delay_ms: int = 0
    """The time to wait before acting (leaky buckets). `wait` has waited for it."""
    limit: int | None = None
    """`limit`, `remaining` and `reset_after_ms` of the limit that decides; None when none does."""
    remaining: int | None = None
    reset_after_ms: int | None = None
    limits: tuple[LimitAnswer, ...] = ()
    leases: tuple[Lease, ...] = ()
    """The leases of concurrency limits that the check took. Release each of them when the work is done."""
    charge: str | None = None
    """Names what the check charged, for `refund`; None if it charged no enforced limit."""
    degraded: Degraded | None = None
    charged: int | None = None
    """In the answer to a record: the number of units that each matching limit took."""
    buffered: bool = False
    """In the answer to a record: whether the gate holds it, because Redis was away, and sends it when Redis returns."""
    code: str | None = None
    """`tenant_rate` or `enforcement_off` when no rule decided."""
    rulebook_version: int | None = None
    """The version of the rulebook that decided; None if `degraded` is `client`."""
    cached: bool = False
    """Whether this is a denial that the client repeated without asking the gate."""
    error: WeirError | None = None
    """Why no gate decided; None unless `degraded` is `client`."""
    over: tuple[str, ...] = ()
    """The names of the rules in the mode `report` of which a limit is exceeded. They deny nothing: the caller can do less."""
    request_id: str | None = None
    """The gate's `X-Request-Id`, which names the request in the log of denials; None if no gate answered. Of a cached denial, that of the first
    one."""

    def headers(self) -> dict[str, str]:
        """The headers, by lower-case name, that a gate sends with this answer. None of them if no limit decided or is exceeded."""
        found: dict[str, str] = {}
        if self.limit is not None and self.remaining is not None:
            # A quota that never renews has no reset and no window.
            reset_s = None if self.reset_after_ms is None else math.ceil(self.reset_after_ms / 1000)
            found["x-ratelimit-limit"] = str(self.limit)
            found["x-ratelimit-remaining"] = str(self.remaining)
            if reset_s is not None:
                found["x-ratelimit-reset"] = str(reset_s)
            deciding = None if self.code else next((limit for limit in self.limits if self._decides(limit)), None)
            name = self.code or (deciding.rule if deciding else None)
            if name is not None and _quotable(name):
                window_s = math.ceil((deciding.window_ms if deciding else 1000) / 1000)
                found["ratelimit-policy"] = f'"{name}";q={self.limit}' + (f";w={window_s}" if window_s else "")
                found["ratelimit"] = f'"{name}";r={self.remaining}' + ("" if reset_s is None else f";t={reset_s}")
        if not self.allowed and self.retry_after_ms is not None:
            retry_s = str(max(math.ceil(self.retry_after_ms / 1000), 1))
            found["x-ratelimit-retry-after"] = found["retry-after"] = retry_s
        if over := over_of([self]):
            found["x-ratelimit-over"] = over
        return found

    def _decides(self, limit: LimitAnswer) -> bool:
        return (
            limit.mode == "enforce"
            and (limit.limit, limit.remaining, limit.reset_after_ms) == (self.limit, self.remaining, self.reset_after_ms)
            and (self.allowed or limit.retry_after_ms == self.retry_after_ms)
        )


def over_of(answers: Iterable[Answer]) -> str:
    """The exceeded rules in the mode `report`, each once, as a header lists them."""
    return ", ".join(dict.fromkeys(name for answer in answers for name in answer.over if _quotable(name)))


def _quotable(name: str) -> bool:
    """A header carries Latin-1 text alone, and a name is quoted."""
    return all(" " <= char <= "~" and char not in '"\\' for char in name)


class Reply(NamedTuple):
    """The answer of a gate, or of something in its place."""

    status: int
    content: bytes
    request_id: str | None
    """The header `X-Request-Id`."""


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """An answer as a gate sent it, and for how long a denial can be repeated."""

    answer: Answer
    cache_for_ms: int


def parse_json(content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise WeirError("answer", "the gate's answer is not JSON") from error


def read_answer(value: Any, request_id: str | None) -> GateAnswer:
    body = _Fields(value, "the answer")
    answer = Answer(
        allowed=body.flag("allowed"),
        denied_by=body.list("denied_by", _text),
        retry_after_ms=body.count_or_none("retry_after_ms"),
        delay_ms=body.count("delay_ms"),
        limit=body.count_or_none("limit"),
        remaining=body.count_or_none("remaining"),
        reset_after_ms=body.count_or_none("reset_after_ms"),
        limits=body.list("limits", _read_limit),
        leases=body.list("leases", _read_lease) if "leases" in body.values else (),
        # Older gates do not send it.
        charge=_text(body.values["charge"], "charge") if "charge" in body.values else None,
        degraded=body.one_of("degraded", (None, "allow", "deny", "local")),
        charged=body.count("charged") if "charged" in body.values else None,
        buffered=body.buffered(),
        code=_text(body.values["code"], "code") if "code" in body.values else None,
        rulebook_version=body.count("rulebook_version"),
        # Older gates do not send it.
        over=body.list("over", _text) if "over" in body.values else (),
        request_id=request_id,
    )
    # Older gates do not send it.
    return GateAnswer(answer, body.count("cache_for_ms") if "cache_for_ms" in body.values else 0)


def read_batch(value: Any, request_id: str | None, count: int) -> list[GateAnswer | WeirError]:
    """The answer to each check, or why it is none."""

    def read(one: Any, _: str) -> GateAnswer | WeirError:
        try:
            return read_answer(one, request_id)
        except WeirError as error:
            return error

    results = _Fields(value, "the batch").list("results", read)
    if len(results) != count:
        raise _invalid("results", f"{count} entries")
    return list(results)


def _read_limit(value: Any, _: str) -> LimitAnswer:
    limit = _Fields(value, "a limit")
    return LimitAnswer(
        rule=limit.text("rule"),
        rule_id=limit.text("rule_id"),
        algorithm=limit.text("algorithm"),
        mode=limit.one_of("mode", ("enforce", "shadow", "report")),
        allowed=limit.flag("allowed"),
        limit=limit.count("limit"),
        remaining=limit.count_or_none("remaining"),
        window_ms=limit.count("window_ms"),
        reset_after_ms=limit.count_or_none("reset_after_ms"),
        retry_after_ms=limit.count_or_none("retry_after_ms"),
        delay_ms=limit.count("delay_ms"),
        refunded=limit.flag("refunded") if "refunded" in limit.values else None,
    )


def _read_lease(value: Any, _: str) -> Lease:
    lease = _Fields(value, "a lease")
    return Lease(lease.text("id"), lease.text("rule_id"), lease.count("expires_at_ms"))


def read_fields(value: Any, what: str) -> _Fields:
    return _Fields(value, what)


class _Fields:
    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, dict):
            raise _invalid(what, "an object")
        self.values = value

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        if not isinstance(value, bool):
            raise _invalid(name, "true or false")
        return value

    def buffered(self) -> bool:
        """Whether the gate holds the call until Redis returns. Older gates do not send it."""
        return "buffered" in self.values and self.flag("buffered")

    def text(self, name: str) -> str:
        return _text(self.values.get(name), name)

    def text_or_none(self, name: str) -> str | None:
        return None if name in self.values and self.values[name] is None else self.text(name)

    def count(self, name: str) -> int:
        value = self.values.get(name)
        if type(value) is not int or not 0 <= value < 2**53:
            raise _invalid(name, "a whole number")
        return value

    def count_or_none(self, name: str) -> int | None:
        return None if name in self.values and self.values[name] is None else self.count(name)

    def list(self, name: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
        value = self.values.get(name)
        if not isinstance(value, list):
            raise _invalid(name, "a list")
        return tuple(read(one, name) for one in value)

    def one_of(self, name: str, values: tuple[Any, ...]) -> Any:
        if name not in self.values or self.values[name] not in values:
            raise _invalid(name, f"one of {values}")
        return self.values[name]


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _invalid(name, "a string")
    return value


def _invalid(name: str, expected: str) -> WeirError:
    return WeirError("answer", f"the gate's answer is not valid: {name} is not {expected}")


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
