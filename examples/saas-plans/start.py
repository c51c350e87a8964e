"""Starts Weir and the application: start.py [PORT]."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import installation  # noqa: E402

port = sys.argv[1] if len(sys.argv) > 1 else "8000"
server = [sys.executable, "-m", "uvicorn", "app:app", "--port", port, "--log-level", "warning"]
# The origins of the page, which reads the usage at the gate.
origins = [f"http://{host}:{port}" for host in ("127.0.0.1", "localhost")]
with installation.weir(HERE / "rules.json", customers=HERE / "customers.json", origins=origins) as environment:
    sys.exit(installation.run([server], f"http://127.0.0.1:{port}/", cwd=HERE, env=environment))
