"""The gate, the stub and the cases of this run. `cargo xtask clients` starts them and sets the variables."""

import json
import os
import pathlib
import socket
import time

GATE, KEY, STUB = (os.environ[name] for name in ("WEIR_GATE_URL", "WEIR_KEY", "WEIR_STUB"))
WEBHOOK, WEBHOOK_SECRET = (os.environ[name] for name in ("WEIR_WEBHOOK", "WEIR_WEBHOOK_SECRET"))
"""The webhook that delivers jobs to the stub."""
GATE_PID = int(os.environ["WEIR_PID"])
"""The process of the gate, which tests of a frozen gate stop and continue."""
RUN = f"py-{os.getpid()}-{time.time_ns()}"
"""New in each run, so that counters of earlier runs do not count."""
GENEROUS_MS = 20_000
"""More than a busy machine needs."""
CONFORMANCE = json.loads((pathlib.Path(__file__).parents[2] / "conformance.json").read_text("utf-8"))
CASES, CONCURRENT, MIDDLEWARE = CONFORMANCE["cases"], CONFORMANCE["concurrent"]["cases"], CONFORMANCE["middleware"]["cases"]


def stub_of(row: dict, run: str) -> str:
    """The address at which the stub answers as this case says."""
    position = next(nth for nth, one in enumerate([*CASES, *CONCURRENT, *MIDDLEWARE]) if one is row)
    return f"{STUB}/{position}/{run}"


def closed_port() -> str:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def target(row: dict, run: str) -> tuple[str, dict]:
    """The address of a case's server, and the options of its client."""
    url = stub_of(row, run) if row["server"] == "stub" else {"gate": GATE, "closed": closed_port()}[row["server"]]
    return url, {"url": url, "key": KEY, "on_error": "deny", "timeout_ms": GENEROUS_MS, **row.get("options", {})}
