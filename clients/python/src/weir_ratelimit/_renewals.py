"""Renews leases while synchronous handlers work, in one thread."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Renewals:
    """The thread begins with the first lease, and ends with the program."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, float, Callable[[], bool], threading.Event]] = []
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def add(self, every_s: float, renew: Callable[[], bool]) -> threading.Event:
        """Calls `renew` again and again until it returns False, or the event is set."""
        ended = threading.Event()
        with self._changed:
            self._push(every_s, renew, ended)
            # A thread does not survive a fork.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="weir-renewals", daemon=True)
                self._thread.start()
            self._changed.notify()
        return ended

    def _push(self, every_s: float, renew: Callable[[], bool], ended: threading.Event) -> None:
        heapq.heappush(self._due, (time.monotonic() + every_s, next(self._numbers), every_s, renew, ended))

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    self._changed.wait(max(self._due[0][0] - time.monotonic(), 0) if self._due else None)
                _, _, every_s, renew, ended = heapq.heappop(self._due)
            if not ended.is_set() and renew() and not ended.is_set():
                with self._changed:
                    self._push(every_s, renew, ended)


RENEWALS = Renewals()
