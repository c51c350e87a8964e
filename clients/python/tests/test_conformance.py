"""The rows of conformance.json, by the synchronous and by the asynchronous client."""

import asyncio
import inspect
import json
import threading
import time
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from support import CASES, CONCURRENT, GENEROUS_MS, RUN, WEBHOOK, stub_of, target
from weir_ratelimit import AsyncWeir, CheckRequest, Weir, WeirError


class Conformance(unittest.TestCase):
    def test_rows_by_the_synchronous_client(self) -> None:
        for row in CASES:
            with self.subTest(row["name"]):
                asyncio.run(self.run_row(Weir, row))

    def test_rows_by_the_asynchronous_client(self) -> None:
        for row in CASES:
            with self.subTest(row["name"]):
                asyncio.run(self.run_row(AsyncWeir, row))

    def test_concurrent_rows_by_the_synchronous_client(self) -> None:
        for row in CONCURRENT:
            run = f"{RUN}-sync"
            with self.subTest(row["name"]), client(Weir, row, run) as weir, ThreadPoolExecutor(300) as threads:
                send, all_begun = weir._send_call, threading.Event()
                weir._send_call = lambda call: (all_begun.wait(GENEROUS_MS / 1000), send(call))
                outcomes = []
                for step in row["calls"] * row.get("times", 1):
                    before = held(weir)
                    outcomes.append(threads.submit(call, weir, step, run))
                    while held(weir) == before and not outcomes[-1].done():
                        time.sleep(0)
                all_begun.set()
                self.compare_concurrent(row, [outcome_of(one.result) for one in outcomes], run)

    def test_concurrent_rows_by_the_asynchronous_client(self) -> None:
        async def run_all(row: dict, run: str) -> list:
            async with client(AsyncWeir, row, run) as weir:
                calls = [call(weir, step, run) for step in row["calls"] * row.get("times", 1)]
                return await asyncio.gather(*calls, return_exceptions=True)

        for row in CONCURRENT:
            with self.subTest(row["name"]):
                self.compare_concurrent(row, asyncio.run(run_all(row, f"{RUN}-async")), f"{RUN}-async")

    def compare_concurrent(self, row: dict, outcomes: list, run: str) -> None:
        if "times" in row:
            return self.assertEqual(sum(one.allowed for one in outcomes), row["allowed"])
        for nth, (outcome, step) in enumerate(zip(outcomes, row["calls"], strict=True)):
            if "error" in step:
                self.compare_error(outcome, step["error"], f"call {nth}")
            else:
                self.compare(outcome, step["expect"], f"call {nth}")
        if "paths" in row:
            with urllib.request.urlopen(f"{stub_of(row, run)}/requests") as response:
                self.assertEqual([request["path"] for request in json.load(response)], row["paths"])

    async def run_row(self, kind: type, row: dict) -> None:
        run, slept = f"{RUN}-{kind.__name__}", []
        url, options = target(row, run)
        options["random"] = lambda: row.get("random", 0)
        if row["server"] == "stub":
            options["sleep"] = recorder(kind, slept)
        if all(step["call"] != "wait" for step in row["steps"]):
            # A busy machine must not outlast a cached denial.
            options["now_ms"] = lambda: 0
        weir = kind(**options)
        self.reservation, self.lease, self.job, self.charge = None, "lease_x", "deferred_x", None
        for nth, step in enumerate(row["steps"]):
            where = f"step {nth}"
            await (self.until if "until" in step else self.take)(weir, step, run, where)
        await done(weir.close() if kind is Weir else weir.aclose())
        if "sleeps" in row:
            self.assertEqual([round(seconds * 1000) for seconds in slept], row["sleeps"])
        if row["server"] == "stub":
            self.compare_requests(row, f"{url}/requests")

    async def until(self, weir, step: dict, run: str, where: str) -> None:
        """Repeats the call until its result is as expected."""
        deadline = time.monotonic() + GENEROUS_MS / 1000
        while True:
            try:
                return await self.take(weir, step, run, where)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.005)

    async def take(self, weir, step: dict, run: str, where: str) -> None:
        try:
            outcome = await self.outcome(weir, step, run)
        except WeirError as error:
            self.assertIn("error", step, f"{where}: {error}")
            return self.compare_error(error, step["error"], where)
        self.assertNotIn("error", step, where)
        answers = outcome if isinstance(outcome, list) else [outcome]
        expected = step.get("results", [step.get("expect")])
        self.assertEqual(len(answers), len(expected), where)
        for answer, wanted in zip(answers, expected):
            self.compare(answer, wanted, where)

    async def outcome(self, weir, step: dict, run: str):
        """The answers of the call. A commit or cancel is of the last reservation, a renewal or release of the last lease, and so on for jobs."""
        if step["call"] == "commit":
            return await done(self.reservation.commit(step["cost"]))
        if step["call"] == "cancel":
            return await done(self.reservation.cancel())
        if step["call"] in ("renew", "release"):
            return await done(getattr(weir, step["call"])(step.get("lease", self.lease)))
        if step["call"] == "deferred":
            return {"job": await done(weir.deferred(step.get("job", self.job)))}
        if step["call"] == "cancel_deferred":
            return {"removed": await done(weir.cancel_deferred(step.get("job", self.job)))}
        if step.get("charge") == "$CHARGE":
            step = {**step, "charge": self.charge}
        outcome = await done(call(weir, step, run))
        if step["call"] == "check" and outcome.charge:
            self.charge = outcome.charge
        if step["call"] == "defer":
            self.job = outcome.job.id if outcome.job else self.job
            return {"job": outcome.job, "answer": outcome.answer}
        if step["call"] == "check" and outcome.leases:
            self.lease = outcome.leases[0].id
        if step["call"] != "reserve":
            return outcome
        self.reservation = outcome
        return outcome.answer

    def compare_error(self, error: WeirError, wanted: dict, where: str) -> None:
        found = {"kind": error.kind, "status": error.status, "fields": [field for field, _ in error.fields]}
        for name, value in wanted.items():
            self.assertEqual(found[name], value, f"{where}: {name}")

    def compare(self, answer, wanted: dict, where: str) -> None:
        for name, value in wanted.items():
            place = f"{where}: {name} of {answer}"
            if name == "headers":
                found = {header: answer.headers().get(header) for header in value}
            elif isinstance(answer, dict):
                self.compare_job(answer, name, value, place)
                continue
            elif name in ("limits", "leases"):
                found = len(getattr(answer, name))
            elif name in ("denied_by", "over"):
                found = list(getattr(answer, name))
            elif name == "reserved":
                found = self.reservation.reserved
            elif name == "error":
                found = answer.error and answer.error.kind
            else:
                found = getattr(answer, name)
            if isinstance(value, dict) and "min" in value:
                self.assertTrue(value["min"] <= found <= value["max"], place)
            else:
                self.assertEqual(found, value, place)

    def compare_job(self, outcome: dict, name: str, value, place: str) -> None:
        if name == "answer" and value is not None:
            self.compare(outcome["answer"], value, place)
        elif name in ("answer", "removed"):
            self.assertEqual(outcome[name], value, place)
        else:
            self.assertEqual(outcome["job"] and getattr(outcome["job"], name), value, place)

    def compare_requests(self, row: dict, url: str) -> None:
        with urllib.request.urlopen(url) as response:
            requests = json.load(response)
        if "requests" in row:
            self.assertEqual(len(requests), row["requests"], "requests")
        if row.get("same_key"):
            keys = {request["body"].get("idempotency_key") for request in requests}
            self.assertEqual(len(keys), 1)
            self.assertGreaterEqual(len(keys.pop()), 16)


def client(kind: type, row: dict, run: str):
    return kind(**target(row, run)[1])


def held(weir: Weir) -> int:
    """Checks that are sent or wait."""
    return weir._queue._in_flight + len(weir._queue._waiting)


def outcome_of(result):
    try:
        return result()
    except WeirError as error:
        return error


def call(weir, step: dict, run: str):
    def options(names: tuple[str, ...], step: dict) -> dict:
        found = {name: step[name] for name in names if name in step}
        return {name: of_run(value) if isinstance(value, str) else value for name, value in found.items()}

    def of_run(text: str) -> str:
        return text.replace("$RUN", run)

    def attributes(step: dict) -> dict:
        return {name: of_run(value) for name, value in step.get("attributes", {}).items()}

    namespace = step.get("namespace", "conformance")
    known = ("cost", "charge", "idempotency_key", "max_ms", "ttl_ms", "at_most", "for_ms", "not_after_ms", "timeout_ms")
    match step["call"]:
        case "batch":
            checks = [
                CheckRequest(namespace, attributes(one), one.get("cost"), one.get("peek", False)) for one in step["checks"]
            ]
            return weir.batch(checks)
        case "defer":
            job = {"target": step.get("target", WEBHOOK), "payload": step["payload"]}
            return weir.defer(namespace, attributes(step), **job, **options(known, step))
        case name:
            return getattr(weir, name)(namespace, attributes(step), **options(known, step))


def recorder(kind: type, slept: list):
    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    return slept.append if kind is Weir else sleep


async def done(value):
    return await value if inspect.isawaitable(value) else value


if __name__ == "__main__":
    unittest.main()
