"""Compares the public signatures of the Java packages with clients/java/signatures.txt: java_signatures.py FOLDER [--write]. The archives in
FOLDER were built before. A difference fails, so that nobody changes by accident what programs of others use."""

import difflib
import pathlib
import re
import subprocess
import sys
import zipfile

MODULES = ("weir-client", "weir-client-kotlin", "weir-spring-boot-starter")


def main() -> None:
    folder, write = pathlib.Path(sys.argv[1]), "--write" in sys.argv[2:]
    page = folder / "signatures.txt"
    found = "\n".join(f"# {module}\n{signatures(jar(folder, module))}" for module in MODULES)
    if write:
        page.write_text(found, "utf-8")
        return
    changes = list(difflib.unified_diff(page.read_text("utf-8").splitlines(), found.splitlines(), "signatures.txt", "the archives", "", "", 2, ""))
    if changes:
        text = "\n".join(changes)
        sys.exit(f"{text}\nthe public signatures have changed; if that is wanted: mvn package, java_signatures.py clients/java --write, and the changelog")


def jar(folder: pathlib.Path, module: str) -> pathlib.Path:
    (found,) = (one for one in (folder / module / "target").glob("*.jar") if not re.search("-(tests|sources|javadoc)$", one.stem))
    return found


def signatures(archive: pathlib.Path) -> str:
    """The public classes with their public and protected members, as `javap` writes them, in the order of their names."""
    with zipfile.ZipFile(archive) as opened:
        names = sorted(name[: -len(".class")].replace("/", ".") for name in opened.namelist() if name.endswith(".class"))
    names = [name for name in names if not name.endswith(("-info", "$Companion"))]
    command = ["javap", "-protected", "-constants", "-cp", str(archive), *names]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    classes = re.findall(r"^(?!Compiled from)\S.*? \{\n.*?^\}\n", printed, re.MULTILINE | re.DOTALL)
    shown: list[str] = []
    hidden: list[str] = []
    for name, text in zip(names, classes, strict=True):
        # What is in a class that nobody else sees is not seen either.
        if not text.startswith("public ") or any(name.startswith(f"{outer}$") for outer in hidden):
            hidden.append(name)
        else:
            shown.append(members_in_order(text))
    return "".join(shown)


def members_in_order(text: str) -> str:
    """The members without the packages of their types, which would make long lines."""
    first, *members, last = text.splitlines()
    short = [re.sub(r"\b(?:[a-z]\w*\.)+(?=[A-Z])", "", member) for member in members]
    return "\n".join([first, *sorted(short), last, ""])


main()
