"""Packs the Rust client and runs the programs of its README in an empty project: rust_package.py FOLDER SCRATCH. Cargo compiles the
packed files and nothing else of the folder."""

import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

import readme

NAME = "weir-ratelimit-0.1.0"


def main() -> None:
    folder, scratch = (pathlib.Path(argument) for argument in sys.argv[1:])
    metadata = ["cargo", "metadata", "--format-version=1", "--no-deps", "--offline"]
    found = json.loads(subprocess.run(metadata, cwd=folder, check=True, stdout=subprocess.PIPE).stdout)
    packed = pathlib.Path(found["target_directory"]) / "package" / f"{NAME}.crate"
    # The program of the README is what compiles the packed files.
    subprocess.run(["cargo", "package", "--quiet", "--offline", "--allow-dirty", "--no-verify"], cwd=folder, check=True)
    with tarfile.open(packed) as archive:
        archive.extractall(scratch, filter="data")
    project = scratch / "rust-project"
    (project / "src" / "bin").mkdir(parents=True)
    # The dependencies are those of the client's lock file, so nothing is resolved anew.
    shutil.copy(folder / "Cargo.lock", project)
    (project / "Cargo.toml").write_text(
        '[workspace]\n[package]\nname = "reader"\nedition = "2024"\n[dependencies]\n'
        f'weir-ratelimit = {{ path = "../{NAME}" }}\n'
        'serde_json = "1"\n'
        'tokio = { version = "1", features = ["macros", "rt-multi-thread"] }\n'
    )
    programs = readme.programs(folder, "rust")
    for number, (code, _) in enumerate(programs):
        (project / "src" / "bin" / f"program-{number}.rs").write_text(code)
    for number, (_, expected) in enumerate(programs):
        readme.compare(expected, ["cargo", "run", "--quiet", "--offline", "--bin", f"program-{number}"], project)


main()
