"""Builds the application, and starts it with Weir: start.py [PORT]."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import installation  # noqa: E402

port = sys.argv[1] if len(sys.argv) > 1 else "8000"
subprocess.run(["mvn", "-B", "-q", "package"], cwd=HERE, check=True, stdout=sys.stderr)
server = ["java", "-jar", HERE / "target" / "api-spring.jar", f"--server.port={port}", "--logging.level.root=warn", "--spring.main.banner-mode=off"]
with installation.weir(HERE / "rules.json") as environment:
    sys.exit(installation.run([server], f"http://127.0.0.1:{port}/", cwd=HERE, env=environment))
