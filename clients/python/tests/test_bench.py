"""The bench of bursts states in its table that the HTTP library failed, and goes on."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from support import closed_port

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "crates" / "xtask" / "src" / "clients"))
import latency  # isort: skip


class Bench(unittest.TestCase):
    def test_bursts_that_the_bare_client_does_not_finish_are_a_stated_cell(self) -> None:
        for kind in ("", "async"):
            words = [sys.executable, ROOT / "clients" / "bench" / "latency.py", "1", "1", *kind.split(), "concurrent", "1", "20"]
            ended = subprocess.run(words, env={**os.environ, "WEIR_GATE_URL": closed_port()}, stdout=subprocess.PIPE, text=True, check=True)
            rows = [latency.burst("httpx", json.loads(line)) for line in ended.stdout.splitlines()]
            self.assertEqual([row.split(" | ")[1] for row in rows], ["1", "20"])
            for row in rows:
                self.assertEqual(row.split(" | ")[3], "failed in 1 of 1 bursts: ConnectError")
        mixed = {"at_once": 1, "bare": [5_000_000], "bare_failed": ["ReadError"], "client": [1_000_000, 1_000_000], "late": [0, 0]}
        self.assertEqual(latency.burst("httpx", mixed), "| httpx | 1 | 1 (1–1) | 5 (5–5) failed in 1 of 2 bursts: ReadError | 0 of 2 |")


if __name__ == "__main__":
    unittest.main()
