"""What the examples share: starts `weir dev` with the rules of an example, and the example's processes until the first one ends."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

DEADLINE_S = 120
ATTEMPTS = 3


@contextlib.contextmanager
def weir(rules: pathlib.Path, webhook: str | None = None, customers: pathlib.Path | None = None, origins: list[str] | None = None):
    """Starts Weir with these rules, with a webhook to this URL, and with the plans of these customers, whose usage pages of these origins
    show. The value is the environment of programs that ask it: WEIR_URL, WEIR_TENANT_URL, WEIR_GATE_URL and WEIR_KEY; WEBHOOK_ID and
    WEBHOOK_SECRET."""
    program = os.environ.get("WEIR_BIN") or shutil.which("weir") or sys.exit("weir is not on the path, and WEIR_BIN is not set")
    # As after Ctrl-C, everything that was started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-example-")))
        # The account of the servers can pass through it, so their data is removed with it.
        folder.chmod(0o711)
        # `weir dev` gives up if a port was taken meanwhile, or the machine is too busy for its deadlines.
        for attempt in range(ATTEMPTS):
            # A busy machine must not degrade an answer of the gate.
            options = ["--base-port", free_port(2), "--gates", 1, "--redis-budget-ms", 10_000, "--log", "error"]
            command = [program, "dev", "--json", "--data-dir", folder / str(attempt), *options]
            line = stack.enter_context(process(command, stdout=subprocess.PIPE, text=True)).stdout.readline()
            if line:
                break
        else:
            sys.exit("weir dev did not start")
        installation = json.loads(line)
        tenant, token = sign_in(installation)
        version = create_rules(json.loads(rules.read_text("utf-8")), tenant, token)
        if customers is not None:
            version = create_customers(json.loads(customers.read_text("utf-8")), origins or [], tenant, token)
        until(lambda: request(f"{installation['gates'][0]}/readyz")["rulebook_version"] >= version)
        # The servers listen at IPv4 alone.
        urls = {"WEIR_URL": installation["control"], "WEIR_TENANT_URL": tenant, "WEIR_GATE_URL": installation["gates"][0]}
        urls = {name: url.replace("localhost", "127.0.0.1") for name, url in urls.items()}
        environment = {**os.environ, **urls, "WEIR_KEY": installation["api_key"]}
        if webhook is not None:
            made = request(f"{tenant}/webhooks", {"name": "example", "url": webhook}, token)
            environment |= {"WEBHOOK_ID": made["webhook"]["id"], "WEBHOOK_SECRET": made["secret"]}
        yield environment


def sign_in(installation: dict) -> tuple[str, str]:
    """The address of the tenant in the admin API, and an access token."""
    api = f"{installation['control']}/api/v1"
    login = {"email": installation["email"], "password": installation["password"]}
    return f"{api}/tenants/{installation['tenant']}", request(f"{api}/auth/login", login)["access_token"]


def create_rules(rules: list[dict], tenant: str, token: str) -> int:
    """The version of the rulebook with the rules."""
    made = [request(f"{tenant}/rules", rule, token) for rule in rules]
    return max(rule["rulebook_version"] for rule in made)


def create_customers(customers: dict, origins: list[str], tenant: str, token: str) -> int:
    """The version of the rulebook with the plans and assignments of customers."""
    request(tenant, {"customer_attribute": customers["customer_attribute"]}, token, "PATCH")
    request(f"{tenant}/customer-view", {"origins": origins}, token, "PUT")
    plans = {plan["name"]: request(f"{tenant}/plans", plan, token)["id"] for plan in customers["plans"]}
    assignments = [{"customer": customer, "plan": plans[plan]} for customer, plan in customers["assignments"].items()]
    return request(f"{tenant}/assignments/bulk", {"assignments": assignments}, token)["rulebook_version"]


def run(processes: list[list], ready: str | None = None, behind: tuple[str, ...] = (), **options) -> int:
    """Runs the processes until the first one ends or this one is interrupted. Prints the address `ready` when it and those behind it can be
    reached."""
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(process(command, **options)) for command in processes]
        if ready is not None:
            until(lambda: all(reachable(address) for address in (*behind, ready)))
            print(f"ready: {ready}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while all(one.poll() is None for one in started):
                time.sleep(0.05)
        return max(one.poll() or 0 for one in started)


@contextlib.contextmanager
def process(command: list, **options):
    """A process that is stopped at the end."""
    with subprocess.Popen([str(word) for word in command], **options) as started:
        try:
            yield started
        finally:
            started.terminate()


def free_port(neighbours: int = 1) -> int:
    """The first of this number of ports that are free now."""
    for base in range(20_000 + os.getpid() % 9_000, 32_000, neighbours):
        with contextlib.ExitStack() as held:
            try:
                for port in range(base, base + neighbours):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return base
    sys.exit("no free ports")


def request(url: str, body: dict | None = None, token: str | None = None, method: str | None = None) -> dict:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    content = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, content, headers, method=method)
    with urllib.request.urlopen(asked, timeout=DEADLINE_S) as response:
        return json.load(response)


def reachable(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=DEADLINE_S):
        return True
    return False


def until(condition) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("it did not start in time")
        time.sleep(0.05)
