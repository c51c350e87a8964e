"""Measures a check by the Python client beside the same request by httpx: latency.py ROUNDS CALLS [async]. Prints the latencies in nanoseconds
as a JSON object for each round."""

import asyncio
import json
import os
import sys
import time

import httpx
from weir_ratelimit import AsyncWeir, Weir

ROUNDS, CALLS = int(sys.argv[1]), int(sys.argv[2])
URL, KEY = os.environ["WEIR_GATE_URL"], os.environ["WEIR_KEY"]
ATTRIBUTES = {"suite": "latency", "user": "python"}
BODY = {"namespace": "conformance", "attributes": ATTRIBUTES}
HEADERS = {"authorization": f"Bearer {KEY}"}
OPTIONS = {"on_error": "deny", "timeout_ms": 20_000, "cache_size": 0}


def measure() -> None:
    with Weir(URL, KEY, **OPTIONS) as weir, httpx.Client(headers=HEADERS, trust_env=False) as http:

        def bare() -> int:
            begun = time.perf_counter_ns()
            answer = http.post(f"{URL}/check", json=BODY).json()
            return decided(begun, answer["allowed"], answer["degraded"])

        def client() -> int:
            begun = time.perf_counter_ns()
            answer = weir.check("conformance", ATTRIBUTES)
            return decided(begun, answer.allowed, answer.degraded)

        for number in range(ROUNDS + 1):
            found = {"bare": [], "client": []}
            for call in range(CALLS):
                for one in in_turn(call, bare, client):
                    found[one.__name__].append(one())
            report(number, found)


async def measure_async() -> None:
    async with AsyncWeir(URL, KEY, **OPTIONS) as weir, httpx.AsyncClient(headers=HEADERS, trust_env=False) as http:

        async def bare() -> int:
            begun = time.perf_counter_ns()
            answer = (await http.post(f"{URL}/check", json=BODY)).json()
            return decided(begun, answer["allowed"], answer["degraded"])

        async def client() -> int:
            begun = time.perf_counter_ns()
            answer = await weir.check("conformance", ATTRIBUTES)
            return decided(begun, answer.allowed, answer.degraded)

        for number in range(ROUNDS + 1):
            found = {"bare": [], "client": []}
            for call in range(CALLS):
                for one in in_turn(call, bare, client):
                    found[one.__name__].append(await one())
            report(number, found)


def decided(begun: int, allowed: bool, degraded: str | None) -> int:
    taken = time.perf_counter_ns() - begun
    assert allowed and degraded is None
    return taken


def in_turn(call: int, bare, client):
    """Each as often first, so that what else the machine does meets both alike."""
    return (bare, client) if call % 2 == 0 else (client, bare)


def report(number: int, found: dict) -> None:
    # The first round warms up.
    if number > 0:
        print(json.dumps(found), flush=True)


if sys.argv[3:] == ["async"]:
    asyncio.run(measure_async())
else:
    measure()
