"""What frameworks and type checkers expect of an application's code."""

import asyncio
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import flask as flask_library
import httpx
import trio
import trio.testing
from django.http import Http404, StreamingHttpResponse
from django.test import RequestFactory
from opentelemetry import trace
import servers  # noqa: F401, configures Django
from support import GATE, GENEROUS_MS, KEY, RUN
from weir_ratelimit import AsyncWeir, Weir, WeirError, _async, asgi, django as for_django, flask

SETTINGS = {"on_error": "deny", "timeout_ms": GENEROUS_MS}
ANSWER = {
    "allowed": True, "denied_by": [], "retry_after_ms": 0, "delay_ms": 0, "limit": None, "remaining": None, "reset_after_ms": None,
    "limits": [], "degraded": None, "rulebook_version": 1,
}
PYRIGHT = pathlib.Path(__file__).parents[3] / "tests" / "openapi" / "node_modules" / ".bin" / "pyright"
WRONG = """
from weir_ratelimit import AsyncWeir, Weir
from weir_ratelimit import asgi, fastapi, flask, django
Weir("http://a", "k", on_eror="deny")
Weir("http://a", "k", on_error="alow")
Weir("http://a", "k", on_error="deny", timeout_ms="5")
Weir("http://a", "k")
AsyncWeir("http://a", "k", on_error="deny", max_inflight=3)
weir, waiting = Weir("http://a", "k", on_error="deny"), AsyncWeir("http://a", "k", on_error="deny")
weir.check("api", {"user": ["a"]})
django.limited(weir, namespace="a", attributes=lambda request: {}, refund_wen=None)
flask.limited(waiting, namespace="a", attributes=lambda request: {})
fastapi.limit(weir, namespace="a", attributes=lambda request: {})
"""


class Types(unittest.TestCase):
    def test_type_checkers_refuse_each_misspelled_option(self) -> None:
        lines = {number for number, line in enumerate(WRONG.splitlines(), 1) if line.startswith(("Weir", "Async", "weir.", "dj", "fl", "fa"))}
        with tempfile.TemporaryDirectory() as folder:
            (file := pathlib.Path(folder) / "wrong.py").write_text(WRONG)
            checkers = [
                [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", folder],
                [str(PYRIGHT), "--pythonpath", sys.executable],
            ]
            for command in checkers:
                found = subprocess.run([*command, str(file)], capture_output=True, text=True).stdout
                refused = {int(line.partition("wrong.py:")[2].split(":")[0]) for line in found.splitlines() if "wrong.py:" in line and "error: " in line}
                self.assertEqual(refused, lines, found)

    def test_wrong_options_fail_with_a_sentence(self) -> None:
        with Weir(GATE, KEY, **SETTINGS) as weir:
            with self.assertRaisesRegex(TypeError, "attributes: 'user' is a list; .* a text"):
                weir.check("conformance", {"user": ["a"]})
            with self.assertRaisesRegex(TypeError, "client: a AsyncWeir is needed here, not a Weir"):
                asgi.WeirMiddleware(None, weir, namespace="a", attributes=lambda scope: {})
            with self.assertRaisesRegex(TypeError, "attributes: a function"):
                flask.limited(weir, namespace="a", attributes={})
            for one in ({"max_in_flight": 65}, {"max_in_flight": 0}, {"max_waiting": -1}, {"retry_spread_ms": 60_001}):
                with self.assertRaisesRegex(ValueError, next(iter(one))):
                    Weir(GATE, KEY, **SETTINGS, **one)


class Concurrency(unittest.TestCase):
    def test_cancelled_check_does_not_cancel_those_that_travel_with_it(self) -> None:
        async def run() -> None:
            async with AsyncWeir(GATE, KEY, **SETTINGS, max_in_flight=1) as weir:
                subject = {"suite": "bucket", "user": f"cancelled-{RUN}"}
                tasks = [asyncio.ensure_future(weir.check("conformance", subject)) for _ in range(4)]
                # One turn, after which the first is in flight and the others wait.
                await asyncio.sleep(0)
                tasks[0].cancel()
                tasks[2].cancel()
                results = await asyncio.gather(*tasks, return_exceptions=True)
                self.assertIsInstance(results[0], asyncio.CancelledError)
                self.assertIsInstance(results[2], asyncio.CancelledError)
                self.assertTrue(results[1].allowed and results[3].allowed and results[3].degraded is None)

        asyncio.run(run())

    def test_late_answer_does_not_cost_the_connection(self) -> None:
        body = json.dumps(ANSWER).encode()
        connections: list[asyncio.StreamWriter] = []

        async def run() -> None:
            asked, answer = asyncio.Event(), asyncio.Event()

            async def serve(reader, writer) -> None:
                connections.append(writer)
                while await reader.readline():
                    while (await reader.readline()).strip():
                        pass
                    await reader.readexactly(len(b'{"namespace":"a","attributes":{}}'))
                    asked.set()
                    await answer.wait()
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
                writer.close()

            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with AsyncWeir(url, KEY, on_error="deny", timeout_ms=2_000) as weir:
                late = await weir.check("a", {})
                self.assertEqual(late.error.kind, "timeout")
                self.assertTrue(asked.is_set())
                answer.set()
                await until(lambda: not _async._TASKS)
                for _ in range(3):
                    self.assertTrue((await weir.check("a", {})).allowed)
            server.close()
            await until(lambda: all(one.is_closing() for one in connections))

        asyncio.run(run())
        self.assertEqual(len(connections), 1)

    def test_asynchronous_client_serves_one_event_loop_after_the_other(self) -> None:
        weir = AsyncWeir(GATE, KEY, **SETTINGS)

        async def run() -> bool:
            answers = await asyncio.gather(*(weir.peek("conformance", {"suite": "none"}) for _ in range(20)))
            await weir.aclose()
            return all(answer.degraded is None for answer in answers)

        self.assertEqual([asyncio.run(run()) for _ in range(3)], [True] * 3)


    def test_asynchronous_client_serves_trio(self) -> None:
        async def run() -> None:
            async with AsyncWeir(GATE, KEY, **SETTINGS, cache_size=0, max_in_flight=1) as weir:
                subject, answers = {"suite": "bucket", "user": f"trio-{RUN}"}, []

                async def check(scope: trio.CancelScope) -> None:
                    with scope:
                        answers.append(await weir.check("conformance", subject))

                scopes = [trio.CancelScope() for _ in range(4)]
                async with trio.open_nursery() as nursery:
                    for scope in scopes:
                        nursery.start_soon(check, scope)
                    # Until one is in flight. Trio chooses which, so the cancelled one can have been sent or not, and answered on a busy machine.
                    await trio.testing.wait_all_tasks_blocked()
                    scopes[2].cancel()
                self.assertEqual({(one.allowed, one.degraded) for one in answers}, {(True, None)})
                self.assertIn(len(answers), (3, 4))
                # Of ten, without the one of the peek.
                self.assertIn((await weir.peek("conformance", subject)).remaining, (5, 6))

        trio.run(run)

    def test_calls_in_trio_end_at_their_deadline(self) -> None:
        async def run() -> None:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
            # Nobody answers.
            async with AsyncWeir(url, KEY, on_error="deny", timeout_ms=50) as weir:
                self.assertEqual((await weir.check("a", {})).error.kind, "timeout")
                with self.assertRaisesRegex(WeirError, "in time"):
                    await weir.record("a", {})
            await listeners[0].aclose()

        trio.run(run)


async def until(condition) -> None:
    deadline = time.monotonic() + GENEROUS_MS / 1000
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0)


class Transport(unittest.TestCase):
    def test_own_transport_sends_the_request_with_the_current_span(self) -> None:
        sent: list[httpx.Request] = []

        def answer(request: httpx.Request) -> httpx.Response:
            sent.append(request)
            return httpx.Response(503)

        context = trace.SpanContext(0x11, 0x22, False, trace.TraceFlags(1))
        transport = httpx.MockTransport(answer)
        with trace.use_span(trace.NonRecordingSpan(context)), Weir("http://gate", KEY, **SETTINGS, transport=transport) as weir:
            weir.check("a", {})
        with Weir("http://gate", KEY, **SETTINGS, transport=transport, traceparent=lambda: "own") as weir:
            weir.check("a", {})
        self.assertEqual([one.headers["traceparent"] for one in sent], [f"00-{0x11:032x}-{0x22:016x}-01", "own"])


class Flask(unittest.TestCase):
    def setUp(self) -> None:
        self.weir = Weir(GATE, KEY, cache_size=0, **SETTINGS)
        self.addCleanup(self.weir.close)
        self.app = flask_library.Flask("idiom")

    def options(self, suite: str, **more) -> dict:
        subject = {"suite": suite, "user": f"{self.id()}-{RUN}"}
        return {"namespace": "conformance", "attributes": lambda request: subject, **more}

    def get(self, path: str):
        return self.app.test_client().get(path)

    def test_error_handlers_of_the_application_are_asked(self) -> None:
        self.app.register_error_handler(401, lambda error: ({"own": 401}, 401))
        self.app.register_error_handler(429, lambda error: ({"own": 429, "by": list(error.answer.denied_by)}, 429))

        @self.app.get("/")
        @flask.limited(self.weir, **self.options("window"))
        def view():
            flask_library.abort(401)

        found = [self.get("/") for _ in range(3)]
        self.assertEqual([one.json["own"] for one in found], [401, 401, 429])
        self.assertEqual([one.headers["x-ratelimit-remaining"] for one in found], ["1", "0", "0"])
        self.assertEqual(found[2].json["by"], ["window"])
        self.assertIn("retry-after", found[2].headers)

    def test_asynchronous_view(self) -> None:
        @self.app.get("/")
        @flask.limited(self.weir, **self.options("window"))
        async def view():
            return "fine"

        self.assertEqual([self.get("/").status_code for _ in range(3)], [200, 200, 429])

    def test_exception_that_the_application_passes_on_returns_the_units(self) -> None:
        self.app.testing = True

        @self.app.get("/")
        @flask.limited(self.weir, **self.options("window", refund_when=lambda status: status >= 500))
        def view():
            raise RuntimeError

        for _ in range(3):
            self.assertRaises(RuntimeError, self.get, "/")

    def test_all_views_but_exempt_ones_are_limited(self) -> None:
        limits = flask.WeirLimits(self.weir, **self.options("window"))
        limits.init_app(self.app)
        self.app.add_url_rule("/", "view", lambda: "fine")
        self.app.add_url_rule("/free", "free", limits.exempt(lambda: "fine"))
        self.assertEqual([self.get("/").status_code for _ in range(3)], [200, 200, 429])
        self.assertEqual(self.get("/free").status_code, 200)

    def test_lease_is_held_until_a_streamed_response_is_closed(self) -> None:
        @self.app.get("/")
        @flask.limited(self.weir, **self.options("places"))
        def view():
            return iter(["a", "b"])

        first = self.app.test_client().get("/", buffered=False)
        self.assertEqual(self.get("/").status_code, 429)
        # As a server does if the client goes away.
        first.close()
        self.assertEqual(self.get("/").status_code, 200)


class Django(unittest.TestCase):
    def setUp(self) -> None:
        self.weir = Weir(GATE, KEY, cache_size=0, **SETTINGS)
        self.addCleanup(self.weir.close)
        self.request = RequestFactory().get("/")

    def limited(self, suite: str, view, client=None, **more):
        subject = {"suite": suite, "user": f"{self.id()}-{RUN}"}
        options = {"namespace": "conformance", "attributes": lambda request: subject, **more}
        return for_django.limited(client or self.weir, **options)(view)

    def test_view_of_the_other_kind_is_refused_where_it_is_decorated(self) -> None:
        async def view(request):
            pass

        for client, wrong in ((self.weir, view), (AsyncWeir(GATE, KEY, **SETTINGS), lambda request: None)):
            with self.assertRaisesRegex(TypeError, "an asynchronous view needs an AsyncWeir"):
                self.limited("window", wrong, client)

    def test_exception_of_a_view_returns_the_units_by_its_status(self) -> None:
        def view(request):
            raise Http404 if request.GET else RuntimeError

        limited = self.limited("window", view, refund_when=lambda status: status >= 500)
        for _ in range(3):
            self.assertRaises(RuntimeError, limited, self.request)
        self.assertEqual(self.request.weir.remaining, 1)
        missing = RequestFactory().get("/?a=b")
        for _ in range(2):
            self.assertRaises(Http404, limited, missing)
        self.assertEqual(limited(missing).status_code, 429)

    def test_lease_is_held_until_a_streamed_response_is_closed(self) -> None:
        limited = self.limited("places", lambda request: StreamingHttpResponse(iter(["a"])))
        first = limited(self.request)
        self.assertEqual(limited(self.request).status_code, 429)
        first.close()
        self.assertEqual(limited(self.request).status_code, 200)


class Asgi(unittest.TestCase):
    def test_lease_is_released_when_the_client_goes_away(self) -> None:
        subject = {"suite": "places", "user": f"gone-{RUN}"}

        async def run() -> None:
            async with AsyncWeir(GATE, KEY, cache_size=0, **SETTINGS) as weir:
                begun = asyncio.Event()

                async def app(scope, receive, send) -> None:
                    begun.set()
                    await asyncio.Event().wait()

                limited = asgi.WeirMiddleware(app, weir, namespace="conformance", attributes=lambda scope: subject)
                task = asyncio.ensure_future(limited({"type": "http", "headers": []}, None, None))
                await begun.wait()
                self.assertFalse((await weir.peek("conformance", subject)).allowed)
                task.cancel()
                await asyncio.wait([task])
                self.assertTrue((await weir.peek("conformance", subject)).allowed)

        asyncio.run(run())


if __name__ == "__main__":
    unittest.main()
