"""Starts Weir, the application, and nginx in front of it: start.py [PORT]."""

import pathlib
import shutil
import string
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import installation  # noqa: E402

port = sys.argv[1] if len(sys.argv) > 1 else "8000"
nginx = shutil.which("nginx") or "/usr/sbin/nginx"
with installation.weir(HERE / "rules.json") as environment, tempfile.TemporaryDirectory(prefix="weir-nginx-") as folder:
    upstream = str(installation.free_port())
    template = string.Template((HERE / "nginx.conf.template").read_text("utf-8"))
    configuration = pathlib.Path(folder) / "nginx.conf"
    configuration.write_text(template.safe_substitute(PORT=port, UPSTREAM=upstream, FOLDER=folder))
    commands = [["node", "server.mjs"], [nginx, "-p", folder, "-e", "stderr", "-c", configuration]]
    environment["PORT"] = upstream
    sys.exit(installation.run(commands, f"http://127.0.0.1:{port}/", cwd=HERE, env=environment))
