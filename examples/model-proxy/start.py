"""Starts Weir, the proxy, and a provider for trying it (unless PROVIDER_URL names one): start.py [PORT]."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import installation  # noqa: E402

port = sys.argv[1] if len(sys.argv) > 1 else "8000"


def server(app: str, port: str) -> list:
    return [sys.executable, "-m", "uvicorn", app, "--port", port, "--log-level", "warning"]


with installation.weir(HERE / "rules.json") as environment:
    servers, behind = [server("proxy:app", port)], ()
    if "PROVIDER_URL" not in environment:
        own = str(installation.free_port())
        environment["PROVIDER_URL"] = f"http://127.0.0.1:{own}"
        servers.append(server("provider:app", own))
        behind = (environment["PROVIDER_URL"],)
    sys.exit(installation.run(servers, f"http://127.0.0.1:{port}/", behind, cwd=HERE, env=environment))
