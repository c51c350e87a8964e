"""Measures a check by the Python client beside the same request by httpx: latency.py ROUNDS CALLS [async] [concurrent [SIZE ...]]. Prints the
latencies in nanoseconds as a JSON object for each round; with `concurrent`, those of bursts, and the errors of those that httpx did not finish."""

import asyncio
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

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


HURRIED = {"on_error": "deny", "cache_size": 0}
"""With the deadline that a client has by default."""
PATIENT = {"timeout": httpx.Timeout(600, pool=None), "limits": httpx.Limits(max_connections=100)}
"""A call of the bare client waits for a connection until it has one, and all connections are kept."""
SIZES = [int(word) for word in sys.argv[3:] if word.isdigit()] or [1, 64, 300, 1_000]


def measure_bursts() -> None:
    for size in SIZES:
        with (
            Weir(URL, KEY, **HURRIED) as weir,
            httpx.Client(headers=HEADERS, trust_env=False, **PATIENT) as http,
            ThreadPoolExecutor(size) as threads,
        ):

            def burst(one) -> tuple[int, list]:
                begun = time.perf_counter_ns()
                answers = list(threads.map(lambda _: one(), range(size)))
                return time.perf_counter_ns() - begun, answers

            def bare():
                try:
                    return http.post(f"{URL}/check", json=BODY).json()
                except httpx.HTTPError as error:
                    return error

            report_bursts(size, [(burst(bare), burst(lambda: weir.check("conformance", ATTRIBUTES))) for _ in range(ROUNDS + 1)])


async def measure_bursts_async() -> None:
    for size in SIZES:
        async with AsyncWeir(URL, KEY, **HURRIED) as weir, httpx.AsyncClient(headers=HEADERS, trust_env=False, **PATIENT) as http:

            async def burst(one) -> tuple[int, list]:
                begun = time.perf_counter_ns()
                answers = await asyncio.gather(*(one() for _ in range(size)))
                return time.perf_counter_ns() - begun, answers

            async def bare():
                try:
                    return (await http.post(f"{URL}/check", json=BODY)).json()
                except httpx.HTTPError as error:
                    return error

            rounds = []
            for _ in range(ROUNDS + 1):
                rounds.append((await burst(bare), await burst(lambda: weir.check("conformance", ATTRIBUTES))))
            report_bursts(size, rounds)


def report_bursts(size: int, rounds: list) -> None:
    # The first round warms up.
    found = {"at_once": size, "bare": [], "bare_failed": [], "client": [], "late": []}
    for (bare_ns, others), (client_ns, answers) in rounds[1:]:
        failed = [type(other).__name__ for other in others if isinstance(other, Exception)]
        if failed:
            found["bare_failed"].append(failed[0])
        else:
            found["bare"].append(bare_ns)
        found["client"].append(client_ns)
        found["late"].append(sum(answer.degraded is not None for answer in answers))
    print(json.dumps(found), flush=True)


match sys.argv[3:]:
    case ["async", "concurrent", *_]:
        asyncio.run(measure_bursts_async())
    case ["concurrent", *_]:
        measure_bursts()
    case ["async"]:
        asyncio.run(measure_async())
    case _:
        measure()
