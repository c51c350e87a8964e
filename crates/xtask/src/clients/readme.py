"""The programs of a client's README, and what they print with the rules of `weir dev`."""

import pathlib
import re
import subprocess
import sys


def programs(folder: pathlib.Path, kind: str) -> list[tuple[str, str]]:
    """The first blocks of this language, each with the block of text that it must print."""
    page = (folder / "README.md").read_text("utf-8")
    codes, texts = (re.findall(f"```{language}\n(.*?)```\n", page, re.DOTALL) for language in (kind, "text"))
    return list(zip(codes, texts))


def compare(expected: str, command: list[str], project: pathlib.Path) -> None:
    """Fails unless the command, which runs a program in a project of its own, prints what the README promises."""
    output = subprocess.run(command, cwd=project, check=True, stdout=subprocess.PIPE, text=True).stdout
    if output != expected:
        sys.exit(f"README.md promises\n{expected}but its code printed\n{output}")
