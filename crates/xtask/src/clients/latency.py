"""Measures a check by each client beside the same request by the HTTP library of its language, against one gate: latency.py WEIR PAGE ROUNDS
CALLS. Writes the tables into the page, between the marks of `bench:clients` and `bench:concurrent`.

The programs in clients/bench and clients/rust/examples make both calls in turn on one connection each, so that what else the machine does
meets both alike.
"""

import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import run

BENCH = run.CLIENTS / "bench"
RULE = {
    "name": "latency", "match": [{"attribute": "suite", "op": "equals", "value": "latency"}], "count_by": ["user"],
    "limits": [{"algorithm": "token_bucket", "capacity": 1_000_000_000, "refill_tokens": 1, "refill_interval_ms": 1000}],
}


def main() -> None:
    weir, page, rounds, calls = sys.argv[1], pathlib.Path(sys.argv[2]), *sys.argv[3:]
    with contextlib.ExitStack() as stack:
        scratch = run.scratch_folder(stack, "weir-latency-")
        stub = run.start(stack, [sys.executable, "-B", run.CLIENTS / "stub.py"], stdin=subprocess.PIPE)
        address = f"http://127.0.0.1:{stub.stdout.readline().strip()}"
        gate = run.start_weir(stack, weir, scratch, address, [RULE])
        environment = {**os.environ, "WEIR_GATE_URL": run.address(gate["gates"][0]), "WEIR_KEY": gate["api_key"]}
        environment["PYTHONPATH"] = str(run.CLIENTS / "python" / "src")
        rows, bursts = [], []
        for name, folder, build, command in programs(scratch):
            if build:
                subprocess.run(build, cwd=folder, env=environment, check=True)
            words = [str(word) for word in (*command, rounds, calls)]
            if name.endswith("asynchronous"):
                words.append("async")
            found = subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            rows.append(row(name, [json.loads(line) for line in found.splitlines()]))
            print(rows[-1], flush=True)
            found = subprocess.run([*words, "concurrent"], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            bursts += [burst(name, json.loads(line)) for line in found.splitlines()]
    head = (
        f"{os.cpu_count()} processors; {rounds} rounds of {calls} calls each way after a round that warms up; median of the rounds, and in brackets the least and "
        "the most.\n\n| client | beside | p50 µs | of it bare | ratio | p99 µs | of it bare | ratio | p99 of all calls, ratio |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    write(page, "clients", [head, *rows])
    head = (
        f"{os.cpu_count()} processors; {rounds} bursts of each kind after one that warms up; median, and in brackets the least and the most.\n\n"
        "| client | beside | at once | all answered after ms | of it bare | too late, of all |\n| --- | --- | ---: | ---: | ---: | ---: |"
    )
    write(page, "concurrent", [head, *bursts])


def write(page: pathlib.Path, name: str, lines: list[str]) -> None:
    """Replaces the table of this name."""
    begin, end = f"<!-- bench:{name} -->", f"<!-- end of {name} -->"
    table = "\n".join([begin, *lines, end])
    text, count = re.subn(f"{begin}.*?{end}", lambda _: table, page.read_text("utf-8"), flags=re.DOTALL)
    if count != 1:
        sys.exit(f"{page} has no place for the table {name}")
    page.write_text(text, "utf-8")


def programs(scratch: pathlib.Path):
    """The name of a row, a folder, the command that compiles the program, and the one that measures. If its last argument is `concurrent`, it
    measures bursts: `at_once`, `bare` and `client` in nanoseconds, and `late`; `bare_failed` are the errors of bursts that the bare client did not
    finish, if it can fail."""
    offline = ["env", "GOPROXY=off", "GOFLAGS=-mod=mod", "go"]
    rust = ["cargo", "--locked"]
    classes = scratch / "latency-java"
    java = sorted(str(file) for file in (run.CLIENTS / "java" / "weir-client" / "src" / "main" / "java").rglob("*.java"))
    # The annotations are of Maven's repository, which the tests of the client fill.
    jspecify = pathlib.Path.home() / ".m2" / "repository" / "org" / "jspecify" / "jspecify" / "1.0.0" / "jspecify-1.0.0.jar"
    # Gates on loopback need no TLS.
    example = ["--quiet", "--release", "--no-default-features", "--example", "latency"]
    return [
        ("TypeScript | `fetch` of Node.js", BENCH, ["npm", "--prefix", run.CLIENTS / "typescript", "run", "--silent", "build"], ["node", "latency.mjs"]),
        ("Python | httpx, synchronous", BENCH, None, [sys.executable, "-B", "latency.py"]),
        ("Python | httpx, asynchronous", BENCH, None, [sys.executable, "-B", "latency.py"]),
        ("Go | net/http", BENCH / "go", [*offline, "build", "-o", scratch / "latency-go", "."], [scratch / "latency-go"]),
        ("Java | java.net.http", BENCH / "java", ["javac", "--release", "17", "-cp", jspecify, "-d", classes, "Latency.java", *java], ["java", "-cp", classes, "Latency"]),
        ("Rust | reqwest", run.CLIENTS / "rust", [*rust, "build", *example], [*rust, "run", *example, "--"]),
    ]


def row(name: str, rounds: list[dict]) -> str:
    cells = []
    for share in (0.5, 0.99):
        bare, client = ([quantile(one[kind], share) for one in rounds] for kind in ("bare", "client"))
        ratios = [mine / other for mine, other in zip(client, bare)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
        cells += [f"{statistics.median(client):,.0f}", f"{statistics.median(bare):,.0f}", spread]
    bare, client = (quantile([ns for one in rounds for ns in one[kind]], 0.99) for kind in ("bare", "client"))
    return f"| {' | '.join([name, *cells, f'{client / bare:.2f}'])} |"


def burst(name: str, found: dict) -> str:
    def spread(times_ns: list[int]) -> str:
        ms = [ns / 1_000_000 for ns in times_ns]
        return f"{statistics.median(ms):,.0f} ({min(ms):,.0f}–{max(ms):,.0f})"

    bare, errors = spread(found["bare"]) if found["bare"] else "", found.get("bare_failed", [])
    if errors:
        bare = f"{bare} failed in {len(errors)} of {len(errors) + len(found['bare'])} bursts: {', '.join(sorted(set(errors)))}".strip()
    late = f"{sum(found['late']):,} of {found['at_once'] * len(found['late']):,}"
    return f"| {name} | {found['at_once']:,} | {spread(found['client'])} | {bare} | {late} |"


def quantile(latencies_ns: list[int], share: float) -> float:
    """In microseconds: the least latency that this share of the calls does not exceed."""
    ordered = sorted(latencies_ns)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] / 1000


if __name__ == "__main__":
    main()
