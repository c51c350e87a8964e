"""The gate in memory that applications test with."""

import asyncio
import unittest

from weir_ratelimit import AsyncWeir, Weir
from weir_ratelimit.testing import MemoryGate


class Testing(unittest.TestCase):
    def test_gate_in_memory_decides_as_the_test_says(self) -> None:
        gate = MemoryGate(deny={"login"})
        with Weir("http://gate", "key", on_error="allow", transport=gate.transport) as weir:
            self.assertTrue(weir.check("api", {"user": "a"}).allowed)
            denied = weir.check("login", {"user": "a"})
            self.assertEqual((denied.allowed, denied.denied_by, denied.cached), (False, ("test",), False))
            gate.decide = lambda check: {"allowed": False, "limit": 5, "remaining": 0, "reset_after_ms": 7_000, "retry_after_ms": 7_000}
            self.assertEqual(weir.check("api", {}).headers()["retry-after"], "7")
            gate.decide = None
            self.assertEqual(weir.record("api", {}, cost=3).charged, 3)
            self.assertEqual(weir.reserve("api", {}, cost=4).commit(2).charged, 2)
            self.assertTrue(weir.release("lease").released)
            gate.away = True
            self.assertEqual(weir.check("login", {}).degraded, "client")
        self.assertEqual(gate.received[0], ("/check", {"namespace": "api", "attributes": {"user": "a"}}))

    def test_asynchronous_client(self) -> None:
        gate = MemoryGate(decide=lambda check: check["attributes"]["n"] != "7")

        async def run() -> list:
            async with AsyncWeir("http://gate", "key", on_error="allow", transport=gate.transport) as weir:
                return await asyncio.gather(*(weir.check("api", {"n": n}) for n in range(20)))

        self.assertEqual([answer.allowed for answer in asyncio.run(run())], [n != 7 for n in range(20)])


if __name__ == "__main__":
    unittest.main()
