"""A worker under a concurrency limit: takes a place, works, renews while the work is long, and releases. Its arguments are the
address of a gate, a key, the lease in ms, and a seed. It prints each span of work in ns since 1970: "from" when the place was
taken, "until" when the work ended or the lease, whichever came first. It works until it is killed."""

import http.client
import json
import random
import sys
import time

host, key, lease_ms, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
random.seed(seed)
gate = http.client.HTTPConnection(host, timeout=30)


def ask(path, body):
    gate.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
    response = gate.getresponse()
    return response.status, json.loads(response.read())


def work(lease):
    """Returns the time at which the work ended."""
    taken = time.time_ns()
    ends = lease["asked"] + lease_ms * 1_000_000
    for _ in range(random.choice([1, 1, 1, 8])):
        time.sleep(random.uniform(0.01, lease_ms / 8000))
        asked = time.time_ns()
        if asked >= ends or ask("/renew", {"lease": lease["id"]})[0] != 200:
            return max(taken, min(asked, ends))
        ends = asked + lease_ms * 1_000_000
    return max(taken, min(time.time_ns(), ends))


while True:
    asked = time.time_ns()
    status, answer = ask("/check", {"attributes": {"user": "u"}})
    if status != 200 or answer["degraded"]:
        time.sleep(random.uniform(0.01, 0.1))
        continue
    lease = {"id": answer["leases"][0]["id"], "asked": asked}
    print("from", time.time_ns(), flush=True)
    print("until", work(lease), flush=True)
    ask("/release", {"lease": lease["id"]})
