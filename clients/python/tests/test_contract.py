"""The middleware cases of conformance.json, with each framework behind a real server."""

import asyncio
import contextlib
import json
import socket
import threading
import time
import unittest
import urllib.parse
import urllib.request

import django
import fastapi as fastapi_library
import flask as flask_library
import httpx
from django import conf
from django.core.wsgi import get_wsgi_application
from django.core.asgi import get_asgi_application
from django.http import HttpResponse
from django.urls import path as django_path
from starlette.applications import Starlette
from starlette.responses import Response as StarletteResponse
from starlette.routing import Route
from support import GATE, GENEROUS_MS, KEY, MIDDLEWARE, RUN, target
from weir_ratelimit import AsyncWeir, Weir, asgi, django as for_django, fastapi, flask

# Django REST Framework reads the settings when it is imported.
import servers  # isort: skip
from servers import DjangoUrls, served, served_wsgi
import rest_framework.response
import rest_framework.views
from weir_ratelimit import rest_framework as for_rest


class Handler:
    """What the handler of a case does, and what it saw."""

    def __init__(self) -> None:
        self.renewals = None
        self.begin({})

    def begin(self, what: dict) -> None:
        self.what, self.handled, self.answer, self.gone = what, False, None, threading.Event()

    def handle(self, answer) -> tuple[int, dict]:
        self.answer, self.handled = answer, True
        deadline = time.monotonic() + GENEROUS_MS / 1000
        while self.renewals is not None and self.renewals() < self.what.get("until_renewals", 0):
            assert time.monotonic() < deadline, "never renewed"
        if self.what.get("leaves"):
            self.gone.wait(GENEROUS_MS / 1000)
        if self.what.get("fails"):
            raise RuntimeError("the handler of a test fails")
        return self.what.get("status", 200), self.what.get("headers", {})


class Contract(unittest.TestCase):
    def run_rows(self, framework: str, kind: type, application, made) -> None:
        """`application(handler, limits)` has a handler with these limits around it; `made` makes a response of the framework."""
        for row in MIDDLEWARE:
            if kind is Weir and "refund_statuses" in row:
                continue  # WSGI
            run, handler, decisions, statuses, errors = f"{RUN}-{framework}", Handler(), [], [], []
            url, options = target(row, run)
            with self.subTest(row["name"]), contextlib.ExitStack() as stack:
                if row["server"] == "stub":
                    handler.renewals = lambda: sum(one["path"] == "/renew" for one in requests(f"{url}/requests"))
                weir = kind(**options, on_degraded=errors.append)
                limits = [{"client": weir, **limit_of(one, run, made, decisions, statuses)} for one in row["limits"]]
                http = stack.enter_context(httpx.Client(headers={"connection": "close"}, timeout=GENEROUS_MS / 1000, trust_env=False))
                address = stack.enter_context((served if kind is AsyncWeir else served_wsgi)(application(handler, limits), weir))
                for nth, request in enumerate(row["requests"]):
                    handler.begin(request.get("handler", {}))
                    where = f"request {nth}, errors {errors!r}"
                    if handler.what.get("leaves"):
                        self.leave(address, handler)
                    else:
                        self.compare(http.get(address), handler, request["expect"], where)
                    self.compare_answer(handler, request["expect"], where)
                    if "after" in request:
                        self.until(request["after"], run)
                    handler.gone.set()
                if "decisions" in row:
                    found = [{"allowed": one.allowed, "degraded": one.degraded} for one in decisions]
                    self.assertEqual(found, row["decisions"])
                self.assertEqual(statuses, row.get("refund_statuses", statuses))
                if "last" in row:
                    wanted = row["last"]
                    self.wait(lambda: requests(f"{url}/requests")[-1]["path"] == wanted["path"], "the last request")
                    self.assertEqual(requests(f"{url}/requests")[-1]["body"]["lease"], wanted["lease"])

    def compare(self, response: httpx.Response, handler: Handler, wanted: dict, where: str) -> None:
        self.assertEqual(response.status_code, wanted["status"], f"{where}: {response.text}")
        for name in {"handled", "body", "code"} & set(wanted):
            found = {"handled": handler.handled, "body": response.text, "code": None}
            found["code"] = response.json()["code"] if name == "code" else None
            self.assertEqual(found[name], wanted[name], f"{where}: {name}")
        for name, value in wanted.get("headers", {}).items():
            self.compare_header(response.headers.get_list(name), value, f"{where}: {name} of {response.headers}")

    def leave(self, address: str, handler: Handler) -> None:
        """Sends a request, and goes away when the handler has begun."""
        parts = urllib.parse.urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port)) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nhost: {parts.netloc}\r\n\r\n".encode())
            self.wait(lambda: handler.handled, "the handler")

    def compare_answer(self, handler: Handler, wanted: dict, where: str) -> None:
        if "answer" in wanted:
            answer = handler.answer
            self.assertEqual(answer is None, wanted["answer"] is None, where)
            for name, value in (wanted["answer"] or {}).items():
                found = len(answer.leases) if name == "leases" else getattr(answer, name)
                self.assertEqual(found, value, f"{where}: {name}")

    def compare_header(self, found: list[str], value, where: str) -> None:
        if value is None:
            return self.assertEqual(found, [], where)
        self.assertEqual(len(found), 1, where)
        if isinstance(value, list):
            items = found[0].split(", ")
            self.assertEqual(len(items), len(value), where)
            for item, begins in zip(items, value):
                self.assertTrue(item.startswith(begins), where)
        elif isinstance(value, dict):
            self.assertTrue(value["min"] <= int(found[0]) <= value["max"], where)
        else:
            self.assertEqual(found[0].partition(";")[0] if name_of_type(where) else found[0], value, where)

    def until(self, step: dict, run: str) -> None:
        attributes = attributes_of(step, run)
        with Weir(GATE, KEY, on_error="deny", timeout_ms=GENEROUS_MS) as weir:
            self.wait(
                lambda: all(getattr(weir.peek("conformance", attributes), name) == value for name, value in step["expect"].items()),
                str(step),
            )

    def wait(self, condition, what: str) -> None:
        deadline = time.monotonic() + GENEROUS_MS / 1000
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"never: {what}")

    def test_asgi(self) -> None:
        def application(handler, limits):
            async def endpoint(request):
                status, headers = await asyncio.to_thread(handler.handle, getattr(request.state, "weir", None))
                return StarletteResponse("fine", status, headers)

            app = Starlette(routes=[Route("/", endpoint)])
            for one in reversed(limits):
                app = asgi.WeirMiddleware(app, one.pop("client"), **one)
            return cancelled_with_its_client(app)

        self.run_rows("asgi", AsyncWeir, application, lambda what: StarletteResponse(what["body"], what["status"], what["headers"]))

    def test_fastapi(self) -> None:
        def application(handler, limits):
            app = fastapi_library.FastAPI()
            fastapi.install(app)
            depends = [fastapi_library.Depends(fastapi.limit(one.pop("client"), **one)) for one in limits]

            @app.get("/", dependencies=depends)
            def endpoint(request: fastapi_library.Request):
                status, headers = handler.handle(getattr(request.state, "weir", None))
                return StarletteResponse("fine", status, headers)

            return cancelled_with_its_client(app)

        self.run_rows("fastapi", AsyncWeir, application, lambda what: StarletteResponse(what["body"], what["status"], what["headers"]))

    def test_flask(self) -> None:
        def application(handler, limits):
            def view():
                status, headers = handler.handle(flask_library.g.get("weir"))
                return "fine", status, headers

            app = flask_library.Flask("contract")
            for one in reversed(limits):
                view = flask.limited(one.pop("client"), **one)(view)
            app.add_url_rule("/", "view", view)
            app.logger.disabled = True
            return app

        self.run_rows("flask", Weir, application, lambda what: (what["body"], what["status"], what["headers"]))

    def test_flask_application(self) -> None:
        def application(handler, limits):
            app = flask_library.Flask("contract")
            for one in limits:
                flask.WeirLimits(one.pop("client"), **one).init_app(app)
            app.add_url_rule("/", "view", lambda: ("fine", *handler.handle(flask_library.g.get("weir"))))
            app.logger.disabled = True
            return app

        self.run_rows("flask-application", Weir, application, lambda what: (what["body"], what["status"], what["headers"]))

    def test_django_decorator(self) -> None:
        def application(handler, limits):
            def view(request):
                return django_response("fine", *handler.handle(getattr(request, "weir", None)))

            for one in reversed(limits):
                view = for_django.limited(one.pop("client"), **one)(view)
            DjangoUrls.urlpatterns[:] = [django_path("", view)]
            django.urls.clear_url_caches()
            return get_wsgi_application()

        self.run_rows("django", Weir, application, lambda what: django_response(what["body"], what["status"], what["headers"]))

    def test_django_decorator_of_an_asynchronous_view(self) -> None:
        def application(handler, limits):
            async def view(request):
                return django_response("fine", *await asyncio.to_thread(handler.handle, getattr(request, "weir", None)))

            for one in reversed(limits):
                view = for_django.limited(one.pop("client"), **one)(view)
            DjangoUrls.urlpatterns[:] = [django_path("", view)]
            django.urls.clear_url_caches()
            return get_asgi_application()

        self.run_rows("django-async", AsyncWeir, application, lambda what: django_response(what["body"], what["status"], what["headers"]))

    def test_django_middleware(self) -> None:
        def application(handler, limits):
            DjangoUrls.urlpatterns[:] = [
                django_path("", lambda request: django_response("fine", *handler.handle(getattr(request, "weir", None))))
            ]
            django.urls.clear_url_caches()
            for nth, one in enumerate(limits):
                setattr(servers, f"limits_{nth}", for_django.weir_middleware(one.pop("client"), **one))
            conf.settings.MIDDLEWARE = [f"servers.limits_{nth}" for nth in range(len(limits))]
            try:
                return get_wsgi_application()
            finally:
                conf.settings.MIDDLEWARE = []

        self.run_rows("django-middleware", Weir, application, lambda what: django_response(what["body"], what["status"], what["headers"]))

    def test_django_rest_framework(self) -> None:
        def application(handler, limits):
            class View(rest_framework.views.APIView):
                throttle_classes = [throttle_of(one) for one in limits]

                def get(self, request):
                    status, headers = handler.handle(getattr(request, "weir", None))
                    return rest_framework.response.Response("fine", status, headers=headers)

            DjangoUrls.urlpatterns[:] = [django_path("", View.as_view())]
            django.urls.clear_url_caches()
            return get_wsgi_application()

        self.run_rows("rest", Weir, application, lambda what: django_response(what["body"], what["status"], what["headers"]))


def cancelled_with_its_client(app):
    """Cancels what works for a client that has gone away, as Hypercorn and Django do; uvicorn does not."""

    async def request():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def wrapped(scope, receive, send):
        async def listen() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            work.cancel()

        work, listener = asyncio.ensure_future(app(scope, request, send)), asyncio.ensure_future(listen())
        with contextlib.suppress(asyncio.CancelledError):
            await work
        listener.cancel()

    return wrapped


def limit_of(limit: dict, run: str, made, decisions: list, statuses: list) -> dict:
    """The options of the middleware."""
    found = {"namespace": "conformance", "attributes": lambda request: attributes_of(limit, run), "cost": limit.get("cost", 1)}
    found["on_decision"] = lambda answer, milliseconds: decisions.append(answer)
    if "headers" in limit:
        found["headers"] = limit["headers"]
    if "skip" in limit:
        found["skip"] = lambda request: limit["skip"]
    if "on_refused" in limit:
        found["on_refused"] = lambda request, answer: made(limit["on_refused"])
    if "refund_from_status" in limit:
        found["refund_when"] = lambda status: statuses.append(status) or status >= limit["refund_from_status"]
    return found


def throttle_of(limit: dict) -> type:
    fixed = {name: staticmethod(value) if callable(value) and name != "client" else value for name, value in limit.items()}
    return type("Limit", (for_rest.WeirThrottle,), fixed)


def attributes_of(step: dict, run: str) -> dict:
    return {name: value.replace("$RUN", run) for name, value in step["attributes"].items()}


def django_response(body: str, status: int, headers: dict) -> HttpResponse:
    response = HttpResponse(body, status=status)
    for name, value in headers.items():
        response[name] = value
    return response


def name_of_type(where: str) -> bool:
    return "content-type of" in where


def requests(url: str) -> list[dict]:
    with urllib.request.urlopen(url) as response:
        return json.load(response)


if __name__ == "__main__":
    unittest.main()
