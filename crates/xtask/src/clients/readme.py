"""The first blocks of a client's README: a program, and what it prints with the rules of `weir dev`."""

import pathlib
import re
import subprocess
import sys


def block(folder: pathlib.Path, kind: str) -> str:
    """The first block of this language."""
    page = (folder / "README.md").read_text("utf-8")
    return re.search(f"```{kind}\n(.*?)```\n", page, re.DOTALL)[1]


def compare(folder: pathlib.Path, command: list[str], project: pathlib.Path) -> None:
    """Fails unless the command, which runs the program in a project of its own, prints what the README promises."""
    expected = block(folder, "text")
    output = subprocess.run(command, cwd=project, check=True, stdout=subprocess.PIPE, text=True).stdout
    if output != expected:
        sys.exit(f"README.md promises\n{expected}but its code printed\n{output}")

