"""The programs of a client's README, and what they print with the rules of `weir dev`."""

import pathlib
import re
import subprocess
import sys


def programs(folder: pathlib.Path, kind: str) -> list[tuple[str, str]]:
    """The blocks of this language that a block of text follows, which is what they must print."""
    found = blocks(folder / "README.md")
    return [(code, text) for (language, code), (next_one, text) in zip(found, found[1:]) if (language, next_one) == (kind, "text")]


def blocks(page: pathlib.Path) -> list[tuple[str, str]]:
    """All blocks of a page, each with its language."""
    return re.findall("^```(\\w*)\n(.*?)^```\n", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def compare(expected: str, command: list[str], project: pathlib.Path) -> None:
    """Fails unless the command, which runs a program in a project of its own, prints what the README promises."""
    output = subprocess.run(command, cwd=project, check=True, stdout=subprocess.PIPE, text=True).stdout
    if output != expected:
        sys.exit(f"README.md promises\n{expected}but its code printed\n{output}")
