"""From a new account to the first answered check, over HTTP: first_check.py CONTROL GATE EMAIL PASSWORD

Prints the API key. Every wait has a deadline.
"""

import itertools
import json
import sys
import time
import urllib.error
import urllib.request

DEADLINE = time.monotonic() + 60
RULE = {
    "namespace": "default",
    "name": "first-check",
    "count_by": ["user"],
    "limits": [{"algorithm": "fixed_window", "limit": 2, "window_ms": 3600000}],
}


def main(control, gate, email, password):
    until(f"{control}/readyz", lambda: ask(control, "/readyz")[0] == 200)
    until(f"{gate}/readyz", lambda: ask(gate, "/readyz")[0] == 200)
    # The image has no other copy of these pages than the one in the binary.
    for page in ("/", "/guide/"):
        expect(200, ask(control, page))
    token = expect(200, ask(control, "/api/v1/auth/login", {"email": email, "password": password}))["access_token"]
    tenant = expect(201, ask(control, "/api/v1/tenants", {"name": email}, token))["id"]
    expect(201, ask(control, f"/api/v1/tenants/{tenant}/rules", RULE, token))
    key = expect(201, ask(control, f"/api/v1/tenants/{tenant}/keys", {"name": "first-check", "scopes": ["check"]}, token))["secret"]
    users = itertools.count(1)
    # The gate loads the key and the rule within a moment.
    until("the key", lambda: ask(gate, "/check", check("ann", "peek"), key)[0] == 200)
    until("the rule", lambda: ask(gate, "/check", check("ann", "peek"), key)[1].get("limits"))
    until("Redis decides", lambda: redis_decided(gate, key, f"user-{next(users)}"))
    print(key)


def redis_decided(gate, key, user):
    """Two checks are allowed, the third is denied. False if Redis did not answer one in the time that a check may take."""
    answers = [ask(gate, "/check", check(user, "consume"), key) for _ in range(3)]
    if any(answer.get("degraded") for _, answer in answers):
        return False
    if [status for status, _ in answers] != [200, 200, 429]:
        sys.exit(f"the checks were answered with {answers}")
    return True


def check(user, mode):
    return {"namespace": "default", "attributes": {"user": user}, "mode": mode}


def until(what, holds):
    while not holds():
        if time.monotonic() > DEADLINE:
            sys.exit(f"no answer in time: {what}")
        time.sleep(0.05)


def expect(status, answer):
    if answer[0] != status:
        sys.exit(f"expected {status}, got {answer}")
    return answer[1]


def ask(base, path, body=None, token=None):
    request = urllib.request.Request(base + path, method="GET" if body is None else "POST")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, parsed(response.read())
    except urllib.error.HTTPError as error:
        return error.code, parsed(error.read())
    except OSError:
        # It does not listen yet.
        return 0, {}


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}


main(*sys.argv[1:])
