"""A gate in memory for tests of applications: `Weir("http://gate", "key", on_error="deny", transport=MemoryGate(deny={"login"}).transport)`.

It decides nothing by itself: it admits everything but what a test tells it to deny, and remembers what it was asked. The client is the real
one, so `on_error`, headers and middleware behave as they do with a gate.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx

Decide = Callable[[dict[str, Any]], "bool | Mapping[str, Any]"]


class MemoryGate:
    """`deny` are the namespaces whose checks are denied. `decide` gets the body of each check, and returns whether it passes, or fields of the
    answer: `{"allowed": False, "retry_after_ms": 5000}`. Both can be changed while the test runs."""

    def __init__(self, *, deny: Iterable[str] = (), decide: Decide | None = None) -> None:
        self.deny = set(deny)
        self.decide = decide
        self.away = False
        """Whether the gate is away, so that `on_error` decides."""
        self.received: list[tuple[str, dict[str, Any]]] = []
        """The path and the body of each request; a batch is its checks, with the path `/check`."""
        self.transport = httpx.MockTransport(self._answer)
        """For `Weir` and for `AsyncWeir`."""
        self._lock = threading.Lock()

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            raise httpx.ConnectError("the gate is away", request=request)
        path = request.url.path
        body = json.loads(request.content) if request.content else {}
        with self._lock:
            if path == "/check/batch":
                return httpx.Response(200, json={"results": [self._decided("/check", check) for check in body["checks"]]})
            answer = self._decided(path, body)
        simple: dict[str, dict[str, Any]] = {
            "/renew": {"expires_at_ms": 2**52, "degraded": None},
            "/release": {"released": True, "degraded": None},
            "/commit": {"charged": body.get("cost", 1), "released": 0, "late": False, "degraded": None},
        }
        if path in simple:
            return httpx.Response(200, json=simple[path])
        if path not in ("/check", "/record", "/refund", "/reserve", "/exhaust"):
            return httpx.Response(501)
        denied = path in ("/check", "/reserve") and not answer["allowed"]
        return httpx.Response(429 if denied else 200, json=answer)

    def _decided(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.received.append((path, body))
        found = self.decide(body) if self.decide else body.get("namespace") not in self.deny
        fields = {"allowed": found} if isinstance(found, bool) else dict(found)
        allowed = bool(fields.get("allowed", True))
        answer: dict[str, Any] = {
            "allowed": allowed,
            "denied_by": [] if allowed else ["test"],
            "retry_after_ms": 0 if allowed else 1_000,
            "cache_for_ms": 0,
            "delay_ms": 0,
            "limit": None,
            "remaining": None,
            "reset_after_ms": None,
            "limits": [],
            "degraded": None,
            "rulebook_version": 1,
        }
        if path == "/record":
            answer["charged"] = body.get("cost", 1)
        if path == "/reserve":
            units = body.get("cost", 1) if allowed else 0
            answer |= {"reservation": "test" if allowed else None, "reserved": units, "expires_at_ms": 2**52 if allowed else None}
        return answer | fields
