"""Runs the programs of README.md, and compares what each prints with the block of text below it. Runs that of the repository's README.md too."""

import pathlib
import re
import subprocess
import sys

page, root = ((pathlib.Path(__file__).parents[up] / "README.md").read_text("utf-8") for up in (1, 3))
codes, texts = (re.findall(f"```{kind}\n(.*?)```\n", page, re.DOTALL) for kind in ("python", "text"))
for code, expected in zip(codes, texts, strict=True):
    output = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout
    if output != expected:
        sys.exit(f"README.md promises\n{expected}but its code printed\n{output}")
(code,) = re.findall("```python\n(.*?)```\n", root, re.DOTALL)
# On a busy machine the reader waits longer.
code = code.replace('on_error="deny"', 'on_error="deny", timeout_ms=20_000')
output = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout
if not re.fullmatch(r"allowed, \d left\n", output):
    sys.exit(f"the code of the repository's README.md printed\n{output}")
