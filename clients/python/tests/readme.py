"""Runs the programs of README.md, and compares what each prints with the block of text below it."""

import pathlib
import re
import subprocess
import sys

page = (pathlib.Path(__file__).parents[1] / "README.md").read_text("utf-8")
codes, texts = (re.findall(f"```{kind}\n(.*?)```\n", page, re.DOTALL) for kind in ("python", "text"))
for code, expected in zip(codes, texts, strict=True):
    output = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout
    if output != expected:
        sys.exit(f"README.md promises\n{expected}but its code printed\n{output}")
