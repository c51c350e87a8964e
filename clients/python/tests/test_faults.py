"""Gates that are frozen or gone, with the real program."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from support import CASES, GATE, GATE_PID, GENEROUS_MS, KEY, RUN, STUB, closed_port
from weir_ratelimit import Answer, AsyncWeir, Weir, WeirError, client_address, safe_attributes

SUBJECT = {"suite": "bucket", "user": f"faults-{RUN}"}


def freeze(pid: int) -> None:
    """Stops a process, and waits until none of its threads can answer any more."""
    os.kill(pid, signal.SIGSTOP)
    ends = time.monotonic() + 10
    while not all(is_stopped(task) for task in Path(f"/proc/{pid}/task").iterdir()):
        if time.monotonic() > ends:
            raise AssertionError("the process does not stop")


def is_stopped(task: Path) -> bool:
    return (task / "stat").read_text().rpartition(")")[2].split()[0] == "T"


class Faults(unittest.TestCase):
    def test_frozen_gate_leaves_the_decision_to_on_error_and_is_used_again_when_it_continues(self) -> None:
        degraded: list[str] = []
        options = {"timeout_ms": 100, "on_degraded": lambda error: degraded.append(error.kind)}
        patient = Weir(GATE, KEY, on_error="deny", timeout_ms=GENEROUS_MS)
        self.addCleanup(patient.close)
        self.assertIsNone(patient.peek("conformance", SUBJECT).degraded)
        freeze(GATE_PID)
        try:
            for choice in ("deny", "allow"):
                with Weir(GATE, KEY, on_error=choice, **options) as weir, ThreadPoolExecutor(20) as threads:
                    answers = list(threads.map(lambda _: weir.check("conformance", SUBJECT), range(20)))
                    answers += asyncio.run(self.check_async(choice, options))
                    for answer in answers:
                        self.assertEqual((answer.allowed, answer.degraded), (choice == "allow", "client"))
                        self.assertEqual(answer.error.kind, "timeout")
                    with self.assertRaises(WeirError) as raised:
                        weir.refund("conformance", SUBJECT)
                    self.assertEqual(raised.exception.kind, "timeout")
            self.assertEqual(degraded, ["timeout"] * 80)
        finally:
            os.kill(GATE_PID, signal.SIGCONT)
        self.assertIsNone(patient.peek("conformance", SUBJECT).degraded)

    async def check_async(self, choice: str, options: dict) -> list:
        async with AsyncWeir(GATE, KEY, on_error=choice, **options) as weir:
            return await asyncio.gather(*(weir.check("conformance", SUBJECT) for _ in range(20)))

    def test_on_error_can_be_a_function_of_the_error_and_the_request(self) -> None:
        def choose(error, request):
            return "allow" if error.kind == "connection" and request.cost == 2 else "deny"

        weir = Weir(closed_port(), KEY, on_error=choose)
        self.assertTrue(weir.check("a", {}, cost=2).allowed)
        self.assertFalse(weir.check("a", {}, cost=1).allowed)
        wrong = Weir(closed_port(), KEY, on_error=lambda error, request: True)
        self.assertFalse(wrong.check("a", {}).allowed, "a choice that is none does not admit")

    def test_error_of_a_transport_that_is_none_of_the_http_library_is_named(self) -> None:
        def fail(request: httpx.Request) -> httpx.Response:
            raise LookupError("no such certificate")

        async def ask() -> Answer:
            async with AsyncWeir("http://a", KEY, on_error="allow", transport=httpx.MockTransport(fail)) as weir:
                return await weir.check("a", {})

        with Weir("http://a", KEY, on_error="allow", transport=httpx.MockTransport(fail)) as weir:
            for answer in (weir.check("a", {}), asyncio.run(ask())):
                self.assertTrue(answer.allowed)
                self.assertEqual(answer.error.kind, "connection")
                self.assertIn("LookupError('no such certificate')", str(answer.error))

    @unittest.skipUnless(sys.platform == "linux", "reads /proc")
    def test_10_000_calls_leave_no_socket_open_beyond_those_in_use_at_once(self) -> None:
        before = sockets()
        for url in (GATE, closed_port()):
            with Weir(url, KEY, on_error="deny", timeout_ms=GENEROUS_MS) as weir, ThreadPoolExecutor(8) as threads:
                list(threads.map(lambda _: weir.peek("conformance", SUBJECT), range(2_500)))
                self.assertLessEqual(sockets() - before, 8)
            asyncio.run(self.call_async(url, before))
        self.assertLessEqual(sockets() - before, 0)

    async def call_async(self, url: str, before: int) -> None:
        async with AsyncWeir(url, KEY, on_error="deny", timeout_ms=GENEROUS_MS) as weir:
            for _ in range(250):
                await asyncio.gather(*(weir.peek("conformance", SUBJECT) for _ in range(10)))
            # The event loop has a pair of its own.
            self.assertLessEqual(sockets() - before, 12)


def sockets() -> int:
    count = 0
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            count += os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
    return count


class Units(unittest.TestCase):
    def test_options_that_matter_must_be_given(self) -> None:
        right = {"url": "http://localhost:1", "key": "k", "on_error": "deny"}
        Weir(**right).close()
        wrong = [
            {"on_error": None}, {"on_error": "open"}, {"on_error": True}, {"url": "localhost:1"}, {"url": "ftp://a"}, {"url": ""},
            {"url": "http://a/?token=b"}, {"url": "http://user:password@a"}, {"key": ""}, {"key": "a\nb"}, {"timeout_ms": 0},
            {"timeout_ms": 1.5}, {"timeout_ms": True}, {"timeout_ms": 60_001}, {"cache_size": -1},
            {"retry": "yes"}, {"on_degraded": 1}, {"traceparent": "00-"}, {"now_ms": 1}, {"random": 0.5},
        ]
        for one in wrong:
            with self.subTest(one), self.assertRaisesRegex((TypeError, ValueError), next(iter(one)) + ": "):
                Weir(**{**right, **one})
        with self.assertRaises(TypeError):
            Weir("http://localhost:1", "k")

    def test_cached_denial_counts_down_and_ends_when_the_permission_does(self) -> None:
        position = [row["name"] for row in CASES].index("a denial is repeated as the gate permits")
        now = 0
        url, options = f"{STUB}/{position}/{RUN}-clock", {"timeout_ms": GENEROUS_MS, "now_ms": lambda: now}
        weir = Weir(url, KEY, on_error="deny", **options)
        self.addCleanup(weir.close)
        rows = [(0, (False, False, 60_000)), (999, (False, True, 59_001)), (1_000, (True, False, 0))]
        for now, expected in rows:
            answer = weir.check("a", {})
            self.assertEqual((answer.allowed, answer.cached, answer.retry_after_ms), expected)

    def test_threads_share_a_client(self) -> None:
        weir = Weir(GATE, KEY, on_error="deny", timeout_ms=GENEROUS_MS)
        self.addCleanup(weir.close)
        answers, attributes = [], {"suite": "window", "user": f"threads-{RUN}"}
        threads = [threading.Thread(target=lambda: answers.append(weir.check("conformance", attributes))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(answer.allowed for answer in answers), 2)

    def test_forwarded_address_counts_only_behind_the_stated_number_of_proxies(self) -> None:
        peer = "203.0.113.9"
        rows = [
            (peer, ["1.1.1.1, 198.51.100.7"], {"trusted_hops": 1}, "198.51.100.7"),
            (peer, ["1.1.1.1", "198.51.100.7"], {"trusted_hops": 1}, "198.51.100.7"),
            (peer, ["1.1.1.1, 198.51.100.7, 10.0.0.1"], {"trusted_hops": 2}, "198.51.100.7"),
            (peer, ["198.51.100.7"], {"trusted_hops": 3}, "198.51.100.7"),
            (peer, ["garbage"], {"trusted_hops": 1}, peer),
            (peer, ["01.1.1.1"], {"trusted_hops": 1}, peer),
            (peer, [], {"trusted_hops": 1}, peer),
            ("10.0.0.1", ["198.51.100.7:4711"], {"trusted_hops": 1}, "198.51.100.7"),
            ("10.0.0.1", ["[2001:db8:1:2:3::9]:443"], {"trusted_hops": 1}, "2001:db8:1:2::/64"),
            ("::ffff:203.0.113.9", [], {}, peer),
            ("2001:DB8:0:0:1:0:0:1", [], {"ipv6_prefix": 128}, "2001:db8::1:0:0:1"),
            ("2001:db8:1234:5678::1", [], {"ipv6_prefix": 56}, "2001:db8:1234:5600::/56"),
            ("fe80::1%eth0", [], {}, "fe80::/64"),
            ("::1", [], {}, "::/64"),
        ]
        for address, forwarded, options, expected in rows:
            with self.subTest(forwarded), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.assertEqual(client_address(address, forwarded, **options), expected)
        misuses = [
            (["1.1.1.1"], 0, "X-Forwarded-For is ignored", "set trusted_hops"),
            ([], 1, "X-Forwarded-For has fewer", "than trusted_hops"),
            (["1.1.1.1, 172.16.0.3"], 1, "X-Forwarded-For counts a", "proxy; trusted_hops"),
        ]
        for forwarded, hops, begin, text in misuses:
            with self.assertWarnsRegex(RuntimeWarning, f'{text}.*filterwarnings."ignore", "{begin}". silences this'):
                client_address(peer, forwarded, trusted_hops=hops)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                warnings.filterwarnings("ignore", begin)
                client_address(peer, forwarded, trusted_hops=hops)
            self.assertEqual(caught, [])
        with self.assertRaisesRegex(ValueError, "trusted_hops"):
            client_address(None, [])

    def test_values_that_a_gate_refuses_become_their_digest(self) -> None:
        safe = safe_attributes({"a": "plain", "b": "ü" * 257, "c": "nul\0", "d": "\ud800", "e": 7, "f": None, "g": "ü" * 256})
        self.assertEqual([safe["a"], safe["e"], safe["f"], safe["g"]], ["plain", 7, None, "ü" * 256])
        for name in "bcd":
            self.assertRegex(safe[name], "^sha256:[0-9a-f]{64}$")


if __name__ == "__main__":
    unittest.main()
