"""Starts each example by its command, and uses it. `cargo xtask clients examples` runs this."""

import concurrent.futures
import contextlib
import pathlib
import random
import re
import subprocess
import sys
import time
import unittest

import httpx
import installation

HERE = pathlib.Path(__file__).resolve().parent


@contextlib.contextmanager
def started(example: str):
    """The value is a client of the example's server."""
    port = str(installation.free_port())
    command = [sys.executable, HERE / example / "start.py", port]
    with installation.process(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        if line != f"ready: http://127.0.0.1:{port}/\n":
            raise AssertionError(f"{example} did not start: {line}")
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=installation.DEADLINE_S, trust_env=False) as http:
            yield http


class SpringExample(unittest.TestCase):
    """`cargo xtask clients java` runs this, because it needs the packages that it installs."""

    def test_service_counts_addresses_and_four_limits_of_each_user(self) -> None:
        with started("api-spring") as http:
            movies = [http.get("/v4/movies", headers={"x-forwarded-for": f"198.51.100.{n}"}) for n in range(6)]
            self.assertEqual([one.status_code for one in movies], [200] * 5 + [429])
            self.assertEqual(movies[-1].json()["code"], "rate_limited")
            self.assertEqual(movies[0].headers["x-ratelimit-remaining"], "4")
            load = [sys.executable, HERE / "api-spring" / "load.py", str(http.base_url).rstrip("/")]
            found = subprocess.run(load, stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertRegex(found, r"202: [2-4]\D")
            self.assertRegex(found, r"429: 1[678]\D")
            # Nothing that could be counted by, so the mail is not sent.
            self.assertEqual(http.post("/api/send-email").status_code, 500)


class Examples(unittest.TestCase):
    def test_login_counts_failures_of_an_account_and_requests_of_an_address(self) -> None:
        with started("login-fastapi") as http:

            def statuses(account: str, password: str, times: int) -> list[int]:
                body = {"account": account, "password": password}
                # Nobody escapes by a header.
                headers = {"x-forwarded-for": f"198.51.100.{times}"}
                return [http.post("/login", json=body, headers=headers).status_code for _ in range(times)]

            # Successes return their units, so they never end.
            self.assertEqual(statuses("ada", "password of ada", 6), [200] * 6)
            self.assertEqual(statuses("ada", "guess", 6), [401] * 5 + [429])
            # The right password does not help now, and another way to write the account neither.
            self.assertEqual(statuses("ADA ", "password of ada", 1), [429])
            self.assertEqual(statuses("bob", "password of bob", 1), [200])
            # 20 requests of this address, and those that were refilled meanwhile.
            found = statuses("bob", "password of bob", 40)
            self.assertIn(429, found)
            denied = http.post("/login", json={"account": "c" * 600, "password": "\0"})
            self.assertIn(denied.status_code, (401, 429))

    def test_api_counts_keys_and_the_addresses_that_nginx_saw(self) -> None:
        with started("api-express") as http:

            def statuses(path: str, times: int, **headers: str) -> list[int]:
                return [http.get(path, headers=headers).status_code for _ in range(times)]

            # The client writes another address each time, to the left of the one that nginx appends.
            spoofed = [statuses(f"/quotes/{n}", 1, **{"x-forwarded-for": f"198.51.100.{n}"})[0] for n in range(4)]
            self.assertEqual(spoofed, [200] * 3 + [429])
            self.assertEqual(statuses("/authors/1", 4), [200] * 3 + [429])
            ada = {"x-api-key": "key-of-ada"}
            self.assertEqual(statuses("/quotes/1", 6, **ada) + statuses("/authors/1", 5, **ada), [200] * 10 + [429])
            denied = http.get("/quotes/1", headers=ada)
            self.assertEqual(denied.json()["code"], "rate_limited")
            self.assertEqual(denied.headers["ratelimit-policy"], '"requests-of-a-key";q=10;w=3600')
            # A key that nobody has is no key.
            self.assertEqual(statuses("/quotes/1", 1, **{"x-api-key": "another"}), [429])

    def test_worker_waits_and_sends_every_message(self) -> None:
        recipients = [f"reader-{n}@example.com" for n in range(6)]
        begun = time.monotonic()
        command = [sys.executable, HERE / "worker-email" / "start.py"]
        ended = subprocess.run(command, input="\n".join(recipients), stdout=subprocess.PIPE, text=True, timeout=900)
        self.assertEqual(ended.returncode, 0)
        self.assertEqual(ended.stdout.splitlines(), [f"sent to {one}" for one in recipients])
        # Two at once and four that each wait for a refill. Less would mean that it did not wait.
        self.assertGreaterEqual(time.monotonic() - begun, 4 * 0.2)

    def test_model_calls_never_exceed_the_budget_of_tokens_together(self) -> None:
        with started("model-proxy") as http:

            def call(user: str, actual: int) -> tuple[int, int]:
                # 20 of the prompt and 480 of the answer: each call is estimated at 500 tokens.
                prompt = f"use {actual}".rjust(60)
                body = {"messages": [{"role": "user", "content": prompt}], "max_completion_tokens": 480}
                answer = http.post("/v1/chat/completions", json=body, headers={"x-user": user})
                self.assertIn(answer.status_code, (200, 429), answer.text)
                return answer.status_code, answer.json()["usage"]["total_tokens"] if answer.status_code == 200 else 0

            # The estimates of bob's calls are upper bounds, and those of ada's are not.
            for user, most in [("ada", 900), ("bob", 500)]:
                chosen = random.Random(user)
                calls = [chosen.randint(20, most) for _ in range(100)]
                with concurrent.futures.ThreadPoolExecutor(len(calls)) as threads:
                    answers = list(threads.map(call, [user] * len(calls), calls))
                self.assertEqual({status for status, _ in answers}, {200, 429})
                admitted = [used for status, used in answers if status == 200]
                self.assertLessEqual(sum(admitted), 10_000 + sum(max(used - 500, 0) for used in admitted))
                # Everything that was held and not used is left for further calls.
                while (status := call(user, 500)[0]) == 200:
                    admitted.append(500)
                self.assertEqual(status, 429)
                self.assertGreater(sum(admitted), 10_000 - 500)

    def test_customer_upgrades_in_the_middle_of_a_month_and_keeps_its_used_units(self) -> None:
        with started("saas-plans") as http:
            acme = ("key-of-acme", "")

            def calls(times: int) -> list[int]:
                return [http.get("/quotes", auth=acme).status_code for _ in range(times)]

            self.assertEqual(calls(6), [200] * 5 + [429])
            upgraded = http.post("/upgrade", auth=acme, json={"plan": "pro"})
            self.assertEqual(upgraded.json()["plan"], "pro")
            # The gate learns of it a moment later. Denied calls take nothing.
            installation.until(lambda: calls(1) == [200])
            answer = http.get("/quotes", auth=acme)
            self.assertEqual(answer.headers["x-ratelimit-remaining"], str(50 - 7))
            # The customer of another key, and no customer.
            globex = [http.get("/quotes", auth=("key-of-globex", "")).status_code for _ in range(60)]
            self.assertEqual(globex, [200] * 60)
            self.assertEqual(http.get("/quotes", auth=("key-of-nobody", "")).status_code, 401)

            page = http.get("/usage", auth=acme).text
            self.assertIn("/weir-usage.js", page)
            gate = re.search(r'gate="([^"]+)" token-url="/view-token"', page).group(1)
            headers = {
                "authorization": f"Bearer {http.post('/view-token', auth=acme).json()['token']}",
                "origin": str(http.base_url).rstrip("/"),
            }
            usage = httpx.get(f"{gate}/usage", headers=headers, timeout=installation.DEADLINE_S, trust_env=False)
            self.assertEqual(usage.headers["access-control-allow-origin"], headers["origin"])
            found = usage.json()
            self.assertEqual((found["customer"], found["plan"]), ("acme", "pro"))
            limits = [(one["rule"], one["limit"], one["used"], one["remaining"]) for one in found["limits"]]
            self.assertEqual(limits, [("calls", 50, 7, 43)])

    def test_queue_accepts_every_report_and_renders_them_in_order_and_not_too_fast(self) -> None:
        with started("job-queue") as http:

            def order(number: int) -> httpx.Response:
                return http.post("/reports", json={"number": number}, headers={"idempotency-key": f"report-{number}"})

            orders = [order(number) for number in range(8)]
            self.assertEqual({one.status_code for one in orders}, {202})
            self.assertTrue(any(one.json()["waits"] for one in orders))
            self.assertEqual(order(3).json()["job"], orders[3].json()["job"])
            installation.until(lambda: len(http.get("/").json()["rendered"]) == len(orders))
            rendered = http.get("/").json()["rendered"]
            self.assertEqual([one["report"]["number"] for one in rendered], list(range(8)))
            # Two at once, and six that each waited for a refill.
            self.assertGreaterEqual(rendered[-1]["at"] - rendered[0]["at"], 5 * 0.2)
            forged = {"webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": "v1,"}
            self.assertEqual(http.post("/work", json={}, headers=forged).status_code, 401)


if __name__ == "__main__":
    unittest.main()
