"""What the synchronous and the asynchronous client share: options, requests, and the meaning of answers."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import random as uniform
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import httpcore
import httpx

from ._cache import DenialCache
from ._calls import BATCH_MAX, Call, CallQueue, Request, timed_out
from .answer import Answer, GateAnswer, Reply, parse_json, read_answer, read_batch
from .deferral import Deferral, DeferredJob, read_deferral, read_deferred_job
from .errors import WeirError
from .lease import ENDED, NOT_RELEASED, Released, Renewed, read_released, read_renewed
from .reservation import Committed, read_committed, read_reservation

Attributes = Mapping[str, "str | int | float | bool | None"]
"""Names and values that describe an action. Entries without a value are not sent."""
Choice = Literal["allow", "deny"]

BODY_MAX = 8 * 1024 * 1024
"""The longest answer that is read: more than a batch of 100 checks with the most limits."""
DEFER_TIMEOUT_MS = 5_000
"""A gate waits up to 2,000 ms for the first delivery of a job."""
RETRY_AFTER_MS = 1_000
"""When to try again after a denial by `on_error`; a gate without Redis answers the same."""
REFUSED = (400, 413, 415, 422)
"""The gate refuses such a request because of what it says."""
RETRY_SPREAD_MS = 1_000


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A check, as `batch` takes it and `on_error` gets it."""

    namespace: str
    attributes: Attributes
    cost: int | None = None
    peek: bool = False
    idempotency_key: str | None = None
    charge: str | None = None
    """The charge that a refund names."""

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"namespace": self.namespace, "attributes": dict(self.entries())}
        if self.cost is not None:
            body["cost"] = self.cost
        if self.peek:
            body["mode"] = "peek"
        if self.idempotency_key is not None:
            body["idempotency_key"] = self.idempotency_key
        if self.charge is not None:
            body["charge"] = self.charge
        return body

    def entries(self) -> list[tuple[str, str]]:
        return sorted((name, _text(name, value)) for name, value in self.attributes.items() if value is not None)

    def cache_key(self) -> object | None:
        """Equal for requests that every rulebook decides alike; None for those that must be sent. A smaller cost may pass."""
        if self.peek or self.idempotency_key is not None:
            return None
        return (self.namespace, 1 if self.cost is None else self.cost, tuple(self.entries()))


OnError = Choice | Callable[[WeirError, CheckRequest], Choice]


class Core:
    """Everything but sending."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        on_error: OnError,
        timeout_ms: int = 100,
        retry: bool = False,
        cache_size: int = 10_000,
        max_in_flight: int = 4,
        max_waiting: int = 10_000,
        retry_spread_ms: int = RETRY_SPREAD_MS,
        on_degraded: Callable[[WeirError], None] | None = None,
        traceparent: Callable[[], str | None] | None = None,
        now_ms: Callable[[], float] | None = None,
        random: Callable[[], float] | None = None,
    ) -> None:
        """Checks the options.

        on_error: the decision if no gate decides. There is no default, because either choice hurts somebody.
        timeout_ms: the time for one call with its wait and its repeat.
        retry: repeats a call once if its connection fails. Each check then carries an idempotency key, which costs Redis a key for a
        minute and excludes the gate's shortcuts. Peeks are always repeated.
        cache_size: how many denials are repeated without asking while the gate permits it.
        max_in_flight: calls of checks at a time. Checks that arrive meanwhile wait, and travel together in batches of up to 100.
        max_waiting: how many checks wait; `on_error` answers a further one, with the kind `overload`.
        retry_spread_ms: `wait` adds a random time of up to this much, so that those who were refused together do not return together.
        on_degraded: called for every decision that was left to `on_error`: count it, so that an open gate is noticed.
        traceparent: the header `traceparent` of a call, or None; by default that of OpenTelemetry's current span, if OpenTelemetry is
        installed. A batch has that of its first check.
        now_ms: monotonic milliseconds, by which cached denials end. For tests.
        random: from 0 to 1, for `retry_spread_ms`. For tests.
        """
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("url: an http or https address is needed")
        if address.username or address.query or address.fragment:
            raise ValueError("url: an address without user, query and fragment is needed")
        if not isinstance(key, str) or not key or not all("!" <= char <= "~" for char in key):
            raise ValueError("key: an API key is needed")
        if on_error not in ("allow", "deny") and not callable(on_error):
            raise ValueError('on_error: choose "allow", "deny" or a function')
        if type(retry) is not bool:
            raise ValueError("retry: True or False is needed")
        functions = {"on_degraded": on_degraded, "traceparent": traceparent, "now_ms": now_ms, "random": random}
        for name, value in functions.items():
            if value is not None and not callable(value):
                raise TypeError(f"{name}: a function is needed")
        self.url = url.rstrip("/")
        self.tls = address.scheme == "https"
        self.request_headers = {
            "authorization": f"Bearer {key}",
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
        }
        self.on_error = on_error
        self.timeout_s = timeout_of(timeout_ms)
        self.retry = retry
        self.cache = DenialCache(_in_range("cache_size", cache_size, 0, 1_000_000))
        self.max_in_flight = _in_range("max_in_flight", max_in_flight, 1, 64)
        self.max_waiting = _in_range("max_waiting", max_waiting, 0, 1_000_000)
        self.retry_spread_ms = _in_range("retry_spread_ms", retry_spread_ms, 0, 60_000)
        self.random = random or uniform
        self.on_degraded = on_degraded or (lambda error: None)
        self.traceparent = traceparent or current_traceparent()
        self.now_ms = now_ms or (lambda: time.monotonic() * 1000)

    def queue(self) -> CallQueue:
        return CallQueue(self.max_in_flight, self.max_waiting)

    def request(
        self, method: str, path: str, body: object, repeatable: bool, timeout_s: float | None = None, keyed: bool = False
    ) -> Request:
        deadline = time.monotonic() + (timeout_s or self.timeout_s)
        traceparent = self.traceparent()
        headers = {"traceparent": traceparent} if traceparent else {}
        return Request(method, path, None if body is None else to_json(body), repeatable, deadline, headers, keyed)

    def check_request(self, request: CheckRequest) -> Request:
        request = self.with_retry_key(request)
        keyed = request.peek or request.idempotency_key is not None
        return self.request("POST", "/check", request.body(), self.retry or request.peek, keyed=keyed)

    def settle(self, queue: CallQueue, call: Call, found: Reply | WeirError) -> None:
        """Ends a call: each of its checks has an outcome, or waits to be sent again."""
        queue.end(call)
        try:
            if isinstance(found, WeirError):
                raise found
            if len(call.requests) == 1:
                call.leader.outcome = found
                return
            answers = self.decisions(found, len(call.requests))
            for request, answer in zip(call.requests, answers, strict=True):
                request.outcome = answer
        except WeirError as error:
            if error.kind == "refused" and len(call.requests) > 1:
                return queue.send_again(call, error)
            for request in call.requests:
                request.outcome = error

    def checked(self, request: Request) -> GateAnswer:
        """The answer to a check that was carried."""
        match request.outcome:
            case None:
                raise timed_out()
            case WeirError() as error:
                raise error
            case GateAnswer() as gate:
                return gate
            case reply:
                return self.decision("/check", reply)

    def spread(self, promised_ms: int, left_ms: float) -> float:
        """The time to wait after a denial: never less than was promised, and not beyond the end of the wait."""
        more = math.floor(self.random() * min(self.retry_spread_ms, promised_ms))
        return promised_ms + max(min(more, left_ms - promised_ms), 0)

    def with_retry_key(self, request: CheckRequest) -> CheckRequest:
        """The request with an idempotency key, if it can be sent twice and would take or return units."""
        if not self.retry or request.peek or request.idempotency_key is not None:
            return request
        return replace(request, idempotency_key=str(uuid.uuid4()))

    def repeats(self, error: WeirError, repeatable: bool, deadline: float) -> bool:
        return repeatable and error.kind == "connection" and time.monotonic() < deadline

    def decision(self, path: str, reply: Reply) -> GateAnswer:
        gate = read_answer(self.json(reply), reply.request_id)
        decided = reply.status == (200 if gate.answer.allowed else 429)
        # A report is no admission, so it is 200 either way. A record names the units that it took.
        reported = path != "/check" and reply.status == 200
        confirmed = path != "/record" or reply.status != 200 or gate.answer.charged is not None
        if not (decided or reported) or not confirmed:
            raise _not_an_answer(reply.status)
        return gate

    def reserve_body(self, request: CheckRequest, ttl_ms: int | None, at_most: bool) -> dict[str, Any]:
        body = self.with_retry_key(request).body()
        if ttl_ms is not None:
            body["ttl_ms"] = ttl_ms
        if at_most:
            body["at_most"] = True
        return body

    def reserved(self, reply: Reply) -> tuple[Answer, str | None, int, int | None]:
        """The answer to a reserve, the text of the reservation, its units and its end."""
        body = self.json(reply)
        answer = read_answer(body, reply.request_id).answer
        text, units, expires_at_ms = read_reservation(body)
        if reply.status != (200 if answer.allowed else 429) or answer.allowed != (text is not None):
            raise _not_an_answer(reply.status)
        return answer, text, units, expires_at_ms

    def commit_body(self, request: CheckRequest, text: str, cost: int) -> dict[str, Any]:
        late = CheckRequest(request.namespace, request.attributes, cost).body()
        return {**late, "reservation": text}

    def committed(self, reply: Reply) -> Committed:
        body = self.json(reply)
        if reply.status != 200:
            raise _not_an_answer(reply.status)
        return read_committed(body)

    def exhausted(self, reply: Reply) -> Answer:
        body = self.json(reply)
        if reply.status != 200:
            raise _not_an_answer(reply.status)
        return read_answer(body, reply.request_id).answer

    def renewed(self, reply: Reply) -> Renewed:
        if reply.status == 200:
            return read_renewed(parse_json(reply.content))
        _require_not_found(reply)
        return ENDED

    def released(self, reply: Reply) -> Released:
        if reply.status == 200:
            return read_released(parse_json(reply.content))
        _require_not_found(reply)
        return NOT_RELEASED

    def defer_body(self, request: CheckRequest, target: str, payload: Any, not_after_ms: int | None) -> dict[str, Any]:
        body = {**request.body(), "target": target, "payload": payload}
        if not_after_ms is not None:
            body["not_after_ms"] = not_after_ms
        return body

    def deferral(self, reply: Reply) -> Deferral:
        found = read_deferral(reply.status, self.json(reply, (200, 202, 429)), reply.request_id)
        if found is None:
            raise _not_an_answer(reply.status)
        return found

    def deferred_job(self, reply: Reply) -> DeferredJob | None:
        """The state of a job; None if no gate knows it."""
        if reply.status == 200:
            return read_deferred_job(parse_json(reply.content))
        _require_not_found(reply)
        return None

    def cancelled(self, reply: Reply) -> bool:
        """Whether a job was removed; False if there was none."""
        if reply.status == 204:
            return True
        _require_not_found(reply)
        return False

    def decisions(self, reply: Reply, count: int) -> list[GateAnswer | WeirError]:
        body = self.json(reply)
        if reply.status != 200:
            raise _not_an_answer(reply.status)
        return read_batch(body, reply.request_id, count)

    def json(self, reply: Reply, accepted: tuple[int, ...] = (200, 429)) -> Any:
        if reply.status not in accepted:
            raise _problem(reply.status, reply.content)
        return parse_json(reply.content)

    def degraded(self, error: WeirError, request: CheckRequest) -> Answer:
        """The answer of `on_error`. Raises the error of a wrong request."""
        if error.kind == "refused":
            raise error
        self.on_degraded(error)
        choice = self.on_error(error, request) if callable(self.on_error) else self.on_error
        allowed = choice == "allow"
        return Answer(allowed, retry_after_ms=0 if allowed else RETRY_AFTER_MS, degraded="client", error=error)


def current_traceparent() -> Callable[[], str | None]:
    """Finds the header of the current span, if OpenTelemetry is installed."""
    try:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
    except ImportError:
        return lambda: None
    propagator = TraceContextTextMapPropagator()

    def traceparent() -> str | None:
        carrier: dict[str, str] = {}
        propagator.inject(carrier)
        return carrier.get("traceparent")

    return traceparent


def job_path(job_id: str) -> str:
    return f"/deferred/{quote(job_id, safe='')}"


def timeout_of(timeout_ms: int) -> float:
    return _in_range("timeout_ms", timeout_ms, 1, 60_000) / 1000


def to_json(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()


def too_many(checks: int) -> bool:
    if checks > BATCH_MAX:
        raise ValueError(f"checks: at most {BATCH_MAX}")
    return False


def failure(error: Exception) -> WeirError:
    """The failure that an error of the HTTP library means. One that is not about a connection is named: nothing else says what happened."""
    if isinstance(error, (httpx.TimeoutException, httpcore.TimeoutException, TimeoutError)):
        return WeirError("timeout", "the gate did not answer in time")
    protocol = (httpx.RemoteProtocolError, httpcore.RemoteProtocolError)
    if isinstance(error, protocol) and "disconnected" not in str(error) and "closed connection" not in str(error):
        return WeirError("answer", f"the gate's answer is not HTTP: {error}")
    known = isinstance(error, (httpx.TransportError, httpcore.NetworkError, httpcore.ProtocolError, OSError))
    return WeirError("connection", f"the connection to the gate failed: {error if known else repr(error)}")


def reply_of(response: httpx.Response, content: bytes) -> Reply:
    return Reply(response.status_code, content, response.headers.get("x-request-id"))


def too_long(status: int) -> WeirError:
    return WeirError("answer", "the gate's answer is too long", status=status)


def _problem(status: int, content: bytes) -> WeirError:
    """The error of a problem document, or of any other text with this status."""
    try:
        document = parse_json(content)
    except WeirError:
        # Something between the client and the gate answered.
        document = None
    document = document if isinstance(document, dict) else {}

    def text_of(name: str) -> str | None:
        value = document.get(name)
        return value if isinstance(value, str) else None

    listed = document.get("fields")
    problems = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    pairs = [(one.get("field"), one.get("reason")) for one in problems]
    fields = tuple((field, why) for field, why in pairs if isinstance(field, str) and isinstance(why, str))
    reasons = [f"{field}: {why}" for field, why in fields]
    request_id = text_of("request_id")
    request = f"request {request_id}" if request_id else None
    parts = [f"the gate answered {status}", text_of("detail"), *reasons, request]
    return WeirError(
        "refused" if status in REFUSED else "status",
        "; ".join(part for part in parts if part),
        status=status,
        code=text_of("code"),
        request_id=request_id,
        fields=fields,
    )


def _require_not_found(reply: Reply) -> None:
    """Raises unless a gate, and not something before it, answered that there is no such lease or job."""
    error = _problem(reply.status, reply.content)
    if reply.status != 404 or error.code != "not_found":
        raise error


def _not_an_answer(status: int) -> WeirError:
    return WeirError("answer", f"the gate's answer does not fit its status {status}", status=status)


def _text(name: object, value: object) -> str:
    if not isinstance(name, str) or not isinstance(value, (str, int, float)):
        raise TypeError(f"attributes: {name!r} is a {type(value).__name__}; a name and a text, a number or a bool are needed")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_range(name: str, value: int, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name}: a whole number from {least} to {most} is needed")
    return value
