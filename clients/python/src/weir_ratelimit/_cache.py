"""Denials that the gate permits the client to repeat."""

from __future__ import annotations

import threading
from dataclasses import replace

from .answer import Answer, GateAnswer

MAX_MS = 1_000
"""The longest time for which a denial is repeated, whatever the gate permits."""


class DenialCache:
    """Bounded; the oldest entry leaves first. For any number of threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: dict[object, tuple[Answer, float, float]] = {}
        self._lock = threading.Lock()
        self.generation = 0
        """Changes with each `clear`: a denial of a request that was sent before is not inserted after it."""

    def get(self, key: object, now_ms: float) -> Answer | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            answer, since, until = entry
            if now_ms >= until:
                del self._entries[key]
                return None
        return _later(answer, int(now_ms - since))

    def insert(self, key: object, gate: GateAnswer, since_ms: float, generation: int) -> None:
        """`since_ms` is the time before the request was sent, so that the entry ends before the gate's decision does."""
        answer = gate.answer
        retry_ms = MAX_MS if answer.retry_after_ms is None else answer.retry_after_ms
        valid_ms = min(gate.cache_for_ms, retry_ms, MAX_MS)
        if answer.allowed or answer.degraded is not None or valid_ms <= 0 or self._size <= 0:
            return
        with self._lock:
            if generation != self.generation:
                return
            self._entries.pop(key, None)
            if len(self._entries) >= self._size:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = (answer, since_ms, since_ms + valid_ms)

    def clear(self) -> None:
        with self._lock:
            self.generation += 1
            self._entries = {}


def _later(answer: Answer, passed_ms: int) -> Answer:
    """The same denial after this time."""

    def left(ms: int | None) -> int | None:
        return None if ms is None else max(ms - passed_ms, 0)

    limits = tuple(
        replace(limit, reset_after_ms=left(limit.reset_after_ms), retry_after_ms=left(limit.retry_after_ms))
        for limit in answer.limits
    )
    return replace(
        answer,
        retry_after_ms=left(answer.retry_after_ms),
        reset_after_ms=left(answer.reset_after_ms),
        limits=limits,
        cached=True,
    )
