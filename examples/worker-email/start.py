"""Starts Weir, a mail server that discards all mail (unless SMTP_ADDRESS names one), and the worker with the addresses of the standard
input."""

import contextlib
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import installation  # noqa: E402
import mail_sink  # noqa: E402

with installation.weir(HERE / "rules.json") as environment, contextlib.ExitStack() as stack:
    if "SMTP_ADDRESS" not in os.environ:
        environment["SMTP_ADDRESS"] = stack.enter_context(mail_sink.serve())
    sys.exit(installation.run([["go", "run", "."]], cwd=HERE, env=environment))
