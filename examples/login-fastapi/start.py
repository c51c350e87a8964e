"""Starts Weir and the application: start.py [PORT]."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import installation  # noqa: E402

port = sys.argv[1] if len(sys.argv) > 1 else "8000"
# Without --no-proxy-headers, uvicorn replaces the address of the peer by a header that clients can send.
server = [sys.executable, "-m", "uvicorn", "app:app", "--port", port, "--no-proxy-headers", "--log-level", "warning"]
with installation.weir(HERE / "rules.json") as environment:
    sys.exit(installation.run([server], f"http://127.0.0.1:{port}/", cwd=HERE, env=environment))
