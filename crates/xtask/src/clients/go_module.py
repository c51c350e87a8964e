"""Runs the programs of the Go client's README, and that of the repository's, in an empty project: go_module.py FOLDER SCRATCH. The client is
installed there as from a module proxy: from an archive of the files that a release has."""

import json
import pathlib
import re
import sys
import zipfile

import readme

VERSION = "v0.1.0"

PROGRAM = """package main

import ("context"; "fmt"; "log"; "os"; "time"; weir "github.com/weir-ratelimit/weir-go")

func main() {
%s}
"""


def main() -> None:
    folder, scratch = (pathlib.Path(argument) for argument in sys.argv[1:])
    module = re.search(r"^module (\S+)$", (folder / "go.mod").read_text("utf-8"), re.MULTILINE)[1]
    publish(folder, scratch / "go-proxy" / module / "@v", f"{module}@{VERSION}")
    project = scratch / "go-project"
    project.mkdir()
    (project / "go.mod").write_text(f"module example.com/reader\n\ngo 1.19\n\nrequire {module} {VERSION}\n")
    settings = [f"GOPROXY=file://{scratch / 'go-proxy'}", "GONOSUMDB=*", "GOFLAGS=-mod=mod", f"GOMODCACHE={scratch / 'go-modules'}"]
    # The files of a module cache are read-only unless this asks for others, and the folder must be removable.
    (statements,) = (code for language, code in readme.blocks(folder.parents[1] / "README.md") if language == "go")
    for number, (code, expected) in enumerate([*readme.programs(folder, "go"), (PROGRAM % patient(statements), "allowed: true\n")]):
        (project / f"program-{number}").mkdir()
        (project / f"program-{number}" / "main.go").write_text(code)
        readme.compare(expected, ["env", *settings, "go", "run", "-modcacherw", f"./program-{number}"], project)


def patient(statements: str) -> str:
    """On a busy machine the reader waits longer."""
    return statements.replace("OnError: weir.Deny", "OnError: weir.Deny, Timeout: 20 * time.Second")


def publish(folder: pathlib.Path, versions: pathlib.Path, prefix: str) -> None:
    """Lays the module out as a proxy does: https://go.dev/ref/mod#goproxy-protocol."""
    versions.mkdir(parents=True)
    (versions / "list").write_text(f"{VERSION}\n")
    (versions / f"{VERSION}.info").write_text(json.dumps({"Version": VERSION}))
    (versions / f"{VERSION}.mod").write_bytes((folder / "go.mod").read_bytes())
    with zipfile.ZipFile(versions / f"{VERSION}.zip", "w") as archive:
        for file in files(folder):
            archive.write(file, f"{prefix}/{file.relative_to(folder)}")


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Those of the module: a folder with a go.mod of its own is another one."""
    nested = [other.parent for other in folder.glob("*/**/go.mod")]
    return sorted(file for file in folder.rglob("*") if file.is_file() and not set(nested) & set(file.parents))


main()
