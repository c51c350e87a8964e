"""Runs the tests of the clients against a gate and a stub, which it starts: run.py WEIR TOOLS [LANGUAGE ...]

WEIR is the server's program, TOOLS the virtual environment of setup/clients.txt. A language is a name in packages.LANGUAGES.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import packages

ROOT = pathlib.Path(__file__).resolve().parents[4]
CLIENTS = ROOT / "clients"
DEADLINE_S = 120
ATTEMPTS = 3
COMMAND_S = 900
"""The longest time of one command, on a busy machine."""


def main() -> int:
    weir, tools, *languages = sys.argv[1:]
    names = languages or list(packages.LANGUAGES)
    if unknown := set(names) - set(packages.LANGUAGES):
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(packages.LANGUAGES)}")
    with contextlib.ExitStack() as stack:
        scratch = scratch_folder(stack, "weir-clients-")
        stub_process = start(stack, [sys.executable, "-B", CLIENTS / "stub.py"], stdin=subprocess.PIPE)
        stub = f"http://127.0.0.1:{stub_process.stdout.readline().strip()}"
        installation = start_weir(stack, weir, scratch, stub)
        environment = {
            **os.environ,
            "WEIR_GATE_URL": address(installation["gates"][0]),
            "WEIR_KEY": installation["api_key"],
            "WEIR_STUB": stub,
            "WEIR_WEBHOOK": installation["webhook"],
            "WEIR_WEBHOOK_SECRET": installation["webhook_secret"],
            "WEIR_PID": str(installation["pid"]),
            "WEIR_URL": address(installation["control"]),
            "WEIR_TENANT": installation["tenant"],
            "WEIR_WRITE_KEY": installation["write_key"],
            "WEIR_REDIS_URL": installation["redis_url"],
            "WEIR_RLS_TARGET": start_rate_limit_service(stack, weir, installation) if "go" in names else "",
            "WEIR_BIN": weir,
            "PATH": f"{pathlib.Path(tools) / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        failed = [] if succeed("prepare", packages.prepare(names), environment) else ["prepare"]
        if not failed:
            with concurrent.futures.ThreadPoolExecutor() as threads:
                groups = [[name for name in names if name in group] for group in (packages.FREEZING, packages.OTHERS)]
                failed = sum(threads.map(lambda group: run_all(group, environment, scratch), groups), [])
    if failed:
        print("failed:", ", ".join(failed))
    return 1 if failed else 0


def run_all(languages: list[str], environment: dict[str, str], scratch: pathlib.Path) -> list[str]:
    """The languages that failed."""
    return [name for name in languages if not succeed(name, packages.LANGUAGES[name](scratch), environment)]


def succeed(name: str, commands: packages.Commands, environment: dict[str, str]) -> bool:
    """Runs the commands, each in its folder, until one fails. Their output is printed when they have ended, because others run meanwhile."""
    begun = time.monotonic()
    for folder, command in commands:
        words = [str(word) for word in command]
        ended = subprocess.run(
            words, cwd=folder, env=environment, timeout=COMMAND_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        print(ended.stdout, end="", flush=True)
        if ended.returncode != 0:
            print(f"   {name}: {' '.join(words)} ended with {ended.returncode}")
            return False
    print(f"   {name}: {time.monotonic() - begun:.1f} s", flush=True)
    return True


def scratch_folder(stack: contextlib.ExitStack, prefix: str) -> pathlib.Path:
    """A folder that is removed at the end, with the data of the servers in it: their account can pass through it."""
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
    folder.chmod(0o711)
    return folder


def start_weir(stack: contextlib.ExitStack, weir: str, scratch: pathlib.Path, stub: str, more_rules: list[dict] = ()) -> dict:
    """Starts an installation with the rules of the conformance cases and more, and a webhook to the stub. Returns its addresses and credentials."""
    # `weir dev` gives up if a port was taken meanwhile, or the machine is too busy for its own deadlines.
    for attempt in range(ATTEMPTS):
        ports = ["--base-port", str(free_ports(3)), "--gates", "1", "--redis-budget-ms", "10000"]
        process = start(stack, [weir, "dev", "--json", "--data-dir", scratch / f"weir-{attempt}", *ports])
        line = process.stdout.readline()
        if line:
            break
    else:
        raise SystemExit("weir dev did not start")
    installation = {**json.loads(line), "pid": process.pid}
    api = f"{address(installation['control'])}/api/v1"
    login = {"email": installation["email"], "password": installation["password"]}
    token = post(f"{api}/auth/login", login)["access_token"]
    rules = json.loads((CLIENTS / "conformance.json").read_text("utf-8"))["rules"]
    made = [
        post(f"{api}/tenants/{installation['tenant']}/rules", {"namespace": "conformance", **rule}, token)
        for rule in [*rules, *more_rules]
    ]
    webhook = post(f"{api}/tenants/{installation['tenant']}/webhooks", {"name": "stub", "url": f"{stub}/webhook"}, token)
    installation |= {"webhook": webhook["webhook"]["id"], "webhook_secret": webhook["secret"]}
    # The key of `weir dev` cannot exhaust.
    key = post(f"{api}/tenants/{installation['tenant']}/keys", {"name": "clients", "scopes": ["check", "exhaust"]}, token)
    installation |= {"api_key": key["secret"], "write_key": installation["api_key"]}
    version = max(one["rulebook_version"] for one in [*made, key])
    until(lambda: get(f"{address(installation['gates'][0])}/readyz")["rulebook_version"] >= version)
    return installation


def start_rate_limit_service(stack: contextlib.ExitStack, weir: str, installation: dict) -> str:
    """Starts another gate, because that of `weir dev` does not serve it. Returns the address; the gate can still be starting."""
    owner = urllib.parse.urlsplit(installation["database_url"])
    # As `weir migrate` creates logins of gates. The installation is new, so there is none of this name.
    subprocess.run(["psql", "-qc", "CREATE ROLE rls_gate LOGIN PASSWORD 'rls' IN ROLE weir_gate", owner.geturl()], check=True)
    port = free_ports(2)
    settings = {
        "WEIR_ROLES": "gate",
        "WEIR_DATABASE_URL": owner._replace(netloc=f"rls_gate:rls@{owner.hostname}:{owner.port}").geturl(),
        "WEIR_REDIS_URL": installation["redis_url"],
        "WEIR_REDIS_BUDGET_MS": "10000",
        "WEIR_GATE_ADDR": f"127.0.0.1:{port}",
        "WEIR_RLS_ADDR": f"127.0.0.1:{port + 1}",
        "WEIR_DRAIN_MS": "0",
        "WEIR_LOG": "warn",
    }
    start(stack, [weir, "serve"], env={**os.environ, **settings})
    return settings["WEIR_RLS_ADDR"]


def start(stack: contextlib.ExitStack, command: list, **options) -> subprocess.Popen:
    words = [str(word) for word in command]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)

    def stop() -> None:
        # A test that failed can have left it frozen.
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(DEADLINE_S)

    stack.callback(stop)
    return process


def free_ports(count: int) -> int:
    """The first of neighbouring ports that are free now."""
    for base in range(20_000 + os.getpid() % 5_000, 32_000, count):
        with contextlib.ExitStack() as held:
            try:
                for port in range(base, base + count):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return base
    raise SystemExit("no free ports")


def address(url: str) -> str:
    # The tests of addresses expect IPv4.
    return url.replace("localhost", "127.0.0.1")


def post(url: str, body: dict, token: str | None = None) -> dict:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    return get(urllib.request.Request(url, json.dumps(body).encode(), headers))


def get(request: urllib.request.Request | str) -> dict:
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{error}: {error.read().decode()}") from error


def until(condition) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("the gate never served the rules")
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
