"""Starts Weir, with a webhook to the application, and the application: start.py [PORT]."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import installation  # noqa: E402

port = sys.argv[1] if len(sys.argv) > 1 else "8000"
server = [sys.executable, "-m", "uvicorn", "queue_app:app", "--port", port, "--log-level", "warning"]
with installation.weir(HERE / "rules.json", webhook=f"http://127.0.0.1:{port}/work") as environment:
    sys.exit(installation.run([server], f"http://127.0.0.1:{port}/", cwd=HERE, env=environment))
