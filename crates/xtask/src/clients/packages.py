"""The commands that check, test, build and install each client, as (folder, command)."""

import pathlib
import shutil
import sys
import sysconfig
from collections.abc import Iterator

XTASK = pathlib.Path(__file__).resolve().parent
CLIENTS = XTASK.parents[3] / "clients"

# The report of the tests, and warnings.
# The Kotlin compiler would stay behind as a daemon.
QUIET = ["--batch-mode", "--no-transfer-progress", "-Dkotlin.compiler.daemon=false"]

Commands = Iterator[tuple[pathlib.Path, list]]


def prepare(languages: list[str]) -> Commands:
    """What comes before all languages, because several of them use it."""
    if {"typescript", "examples"} & set(languages):
        yield CLIENTS / "typescript", ["npm", "run", "--silent", "build"]


def typescript(scratch: pathlib.Path) -> Commands:
    folder, checkout, project = CLIENTS / "typescript", scratch / "npm-checkout", scratch / "npm-project"
    yield folder, ["npm", "run", "--silent", "check"]
    yield folder, ["npm", "run", "--silent", "test"]
    # The file that a fresh checkout packs, in a project that has nothing else.
    shutil.copytree(folder, checkout, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (checkout / "node_modules").symlink_to(folder / "node_modules")
    project.mkdir()
    (project / "package.json").write_text('{ "private": true, "type": "module" }\n')
    yield checkout, ["npm", "pack", "--silent", "--pack-destination", scratch]
    (packed,) = scratch.glob("weir-ratelimit-client-*.tgz")
    yield project, ["npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", packed]
    yield project, ["node", folder / "test" / "readme.mjs", project]
    yield project, ["node", folder / "test" / "consumers.mjs", project]


def python(scratch: pathlib.Path) -> Commands:
    folder, built, project = CLIENTS / "python", scratch / "wheels", scratch / "python-project"
    # The wheel is tested, so that a file which is missing from it is noticed.
    yield folder, ["python", "-m", "mypy", "--cache-dir", scratch / "mypy"]
    yield folder, ["python", "-m", "build", "--no-isolation", "--outdir", built]
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    yield folder, ["python", "-m", "twine", "check", "--strict", wheel, source]
    yield scratch, ["python", "-m", "venv", "--without-pip", project]
    # The dependencies are those of the tools, which are pinned.
    dependencies = pathlib.Path(sysconfig.get_paths()["purelib"])
    (project / dependencies.relative_to(sys.prefix) / "dependencies.pth").write_text(f"{dependencies}\n")
    install = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--prefix", project, wheel]
    yield scratch, ["python", "-m", "pip", "install", *install]
    installed = [project / "bin" / "python"]
    for test in ("readme", "test_conformance", "test_signature", "test_faults", "test_middleware", "test_contract", "test_idiom", "test_testing", "test_bench"):
        yield scratch, [*installed, folder / "tests" / f"{test}.py"]


def go(scratch: pathlib.Path) -> Commands:
    folder = CLIENTS / "go"
    # Nothing is downloaded: the client has no dependencies.
    offline = ["env", "GOPROXY=off", "GOFLAGS=-mod=mod", "go"]
    yield folder, ["sh", "-c", 'unformatted=$(gofmt -l .); echo "$unformatted"; test -z "$unformatted"']
    yield folder, [*offline, "vet", "./..."]
    yield folder, [*offline, "test", "-count=1", "./..."]
    yield folder, ["python", XTASK / "go_module.py", folder, scratch]
    # These have dependencies, which go.sum pins.
    for nested in ("weirgrpc", "frameworks", "ratelimitservice"):
        yield folder / nested, ["go", "vet", "./..."]
        yield folder / nested, ["go", "test", "-count=1", "./..."]


def rust(scratch: pathlib.Path) -> Commands:
    folder = CLIENTS / "rust"
    cargo = ["cargo", "--locked"]
    yield folder, ["cargo", "fmt", "--check"]
    yield folder, [*cargo, "clippy", "--quiet", "--all-targets", "--features", "axum", "--", "-Dwarnings"]
    # One after the other: a test counts the sockets of the process.
    yield folder, [*cargo, "test", "--quiet", "--features", "axum", "--", "--test-threads=1"]
    yield folder, ["python", XTASK / "rust_package.py", folder, scratch]


def java(scratch: pathlib.Path) -> Commands:
    folder = CLIENTS / "java"
    # A copy, so that a checkout stays as it is. Dependencies come from the local repository, or else from Maven Central; so does what installs,
    # although nothing is installed there.
    built = scratch / "java"
    shutil.copytree(folder, built / "clients" / "java", ignore=shutil.ignore_patterns("target"))
    shutil.copy(CLIENTS / "conformance.json", built / "clients")
    yield built / "clients" / "java", ["mvn", *QUIET, "-Dmaven.install.skip=true", "install"]
    yield built / "clients" / "java", ["python", XTASK / "java_signatures.py", built / "clients" / "java"]
    yield built / "clients" / "java", ["python", XTASK / "java_package.py", built / "clients" / "java", scratch]
    yield built / "clients" / "java", ["python", XTASK / "java_guide.py", built / "clients" / "java", scratch]
    repository = f"MAVEN_OPTS=-Dmaven.repo.local={scratch / 'm2'}"
    yield CLIENTS.parent / "examples", ["env", repository, "python", "-m", "unittest", "test_examples.SpringExample"]


def generated(scratch: pathlib.Path) -> Commands:
    """Clients that other tools generate from the API documents."""
    tests, project = CLIENTS.parent / "tests" / "openapi", scratch / "generated"
    project.mkdir()
    for name in ("gate", "control"):
        document = CLIENTS.parent / "openapi" / f"{name}.json"
        yield project, ["openapi-python-client", "generate", "--path", document, "--output-path", name, "--meta", "none"]
        yield tests, ["npx", "--no-install", "openapi-typescript", document, "-o", project / f"{name}.ts"]
    for check in ("check.py", "check.ts"):
        shutil.copy(tests / check, project)
    yield project, ["python", "check.py"]
    (project / "package.json").write_text('{ "type": "module" }\n')
    types = ["--types", "node", "--typeRoots", tests / "node_modules" / "@types"]
    compiled = ["--strict", "--module", "nodenext", "--target", "es2023", *types, project / "check.ts"]
    yield tests, ["npx", "--no-install", "tsc", *compiled]
    yield project, ["node", "check.js"]


def examples(scratch: pathlib.Path) -> Commands:
    folder = CLIENTS.parent / "examples"
    yield folder, ["env", f"PYTHONPATH={CLIENTS / 'python' / 'src'}", "python", "-m", "unittest", "test_examples.Examples"]


# The tests of these freeze the gate, so they run one after the other.
FREEZING = {"typescript": typescript, "python": python, "go": go, "rust": rust, "java": java}
# These run beside them.
OTHERS = {"generated": generated, "examples": examples}
LANGUAGES = {**FREEZING, **OTHERS}
