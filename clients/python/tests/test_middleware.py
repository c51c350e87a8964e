"""The middleware of each framework, behind real servers."""

import time
import unittest
import warnings

import fastapi as fastapi_library
import flask as flask_library
import httpx
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import path as django_path
from support import GATE, GENEROUS_MS, KEY, RUN, closed_port
from servers import DjangoUrls, served, served_wsgi
from weir_ratelimit import AsyncWeir, Weir, asgi, django as for_django, fastapi, flask

warnings.filterwarnings("ignore", "X-Forwarded-For is ignored")


SETTINGS = {"key": KEY, "timeout_ms": GENEROUS_MS}


def options(kind: type, framework: str, ip, route, header, seen: list) -> dict[str, dict]:
    """The options of each path of the servers."""
    gate = kind(GATE, on_error="deny", cache_size=0, **SETTINGS)

    def user(what: str) -> str:
        return f"{framework}-{what}-{RUN}"

    def limited(request):
        seen.append((ip(request), route(request) if route else None))
        return {"suite": "window", "user": user("limited")}

    attributes = {
        "limited": limited,
        "long": lambda request: {"suite": "window", "user": header(request, "x-user") + "\x85"},
        "skipped": lambda request: None,
        "login": lambda request: {"suite": "window", "user": user("login")},
        "denied": lambda request: {},
        "allowed": lambda request: {},
    }
    clients = {name: kind(closed_port(), on_error=name[:-2] if name == "allowed" else "deny", **SETTINGS) for name in ("denied", "allowed")}
    return {
        name: {"client": clients.get(name, gate), "namespace": "conformance", "attributes": one}
        for name, one in attributes.items()
    }


class Middleware(unittest.TestCase):
    def examine(self, url: str, framework: str, seen: list, route: str | None, refunds: bool = True) -> None:
        """The questions that every framework must answer alike."""
        headers = {"x-forwarded-for": "1.1.1.1", "x-user": f"{framework}-long-{RUN}{'x' * 600}"}
        with httpx.Client(base_url=url, headers=headers, timeout=GENEROUS_MS / 1000, trust_env=False) as http:

            def statuses(path: str, times: int) -> list[int]:
                return [http.get(path).status_code for _ in range(times)]

            first = http.get("/limited/7")
            self.assertEqual((first.status_code, first.text), (200, "fine"))
            self.assertEqual(first.headers["x-ratelimit-remaining"], "1")
            self.assertEqual(first.headers["ratelimit-policy"], '"window";q=2;w=3600')
            self.assertEqual(statuses("/limited/8", 1), [200])
            refused = http.get("/limited/9")
            self.assertEqual(refused.status_code, 429)
            self.assertGreater(int(refused.headers["retry-after"]), 3000)
            body = refused.json()
            self.assertEqual((body["code"], refused.headers["content-type"]), ("rate_limited", "application/problem+json"))
            self.assertEqual(seen, [("127.0.0.1", route)] * 3)

            unavailable = http.get("/denied")
            self.assertEqual((unavailable.status_code, unavailable.headers["retry-after"]), (503, "1"))
            self.assertEqual(statuses("/allowed", 3), [200] * 3)
            self.assertEqual(statuses("/skipped", 3), [200] * 3)
            self.assertEqual(statuses("/long", 3), [200, 200, 429])
            if refunds:
                self.assertEqual(statuses("/login?ok", 1), [200])
                self.until_refunded(framework)
                self.assertEqual(statuses("/login?wrong", 3), [401, 401, 429])

    def until_refunded(self, framework: str) -> None:
        deadline = time.monotonic() + GENEROUS_MS / 1000
        with Weir(GATE, on_error="deny", **SETTINGS) as weir:
            subject = {"suite": "window", "user": f"{framework}-login-{RUN}"}
            while weir.peek("conformance", subject).remaining != 1:
                self.assertLess(time.monotonic(), deadline, "never refunded")

    def test_asgi(self) -> None:
        seen: list = []

        async def app(scope, receive, send) -> None:
            status = 401 if b"wrong" in scope["query_string"] else 200
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"fine"})

        def header(scope, name: str) -> str:
            return dict(scope["headers"])[name.encode()].decode()

        every = options(AsyncWeir, "asgi", asgi.ip, None, header, seen)
        apps, clients = {}, clients_of(every)
        for name, one in every.items():
            refund_when = (lambda status: status < 300) if name == "login" else None
            apps[name] = asgi.WeirMiddleware(app, one.pop("client"), **one, refund_when=refund_when)

        async def dispatch(scope, receive, send) -> None:
            await apps[scope["path"].split("/")[1]](scope, receive, send)

        with served(dispatch, *clients) as url:
            self.examine(url, "asgi", seen, None)

    def test_fastapi(self) -> None:
        seen: list = []
        every = options(AsyncWeir, "fastapi", fastapi.ip, fastapi.route, lambda request, name: request.headers[name], seen)
        app, clients = fastapi_library.FastAPI(), clients_of(every)
        fastapi.install(app)
        for name, one in every.items():
            dependency = fastapi_library.Depends(fastapi.limit(one.pop("client"), **one))

            # A synchronous endpoint.
            @app.get("/limited/{number}" if name == "limited" else f"/{name}", dependencies=[dependency])
            def endpoint() -> fastapi_library.Response:
                return None

        with served(plain(app), *clients) as url:
            self.examine(url, "fastapi", seen, "/limited/{number}", refunds=False)

    def test_django(self) -> None:
        seen: list = []
        every = options(Weir, "django", for_django.ip, for_django.route, lambda request, name: request.headers[name], seen)

        def view(request, number=None):
            return HttpResponse("fine", status=401 if "wrong" in request.GET else 200)

        clients = clients_of(every)
        for name, one in every.items():
            refund_when = (lambda status: status < 300) if name == "login" else None
            limited = for_django.limited(one.pop("client"), **one, refund_when=refund_when)(view)
            DjangoUrls.urlpatterns.append(django_path("limited/<int:number>" if name == "limited" else name, limited))
        with served_wsgi(get_wsgi_application(), *clients) as url:
            self.examine(url, "django", seen, "limited/<int:number>")

    def test_django_middleware_knows_the_route_before_the_view(self) -> None:
        seen: list = []
        weir = Weir(closed_port(), on_error="allow", **SETTINGS)
        self.addCleanup(weir.close)
        attributes = lambda request: seen.append(for_django.route(request))  # noqa: E731
        middleware = for_django.weir_middleware(weir, namespace="conformance", attributes=attributes)
        handler = middleware(lambda request: HttpResponse("fine"))
        for path in ("/no-such-page", "/found/7"):
            request = RequestFactory().get(path)
            request.urlconf = (django_path("found/<int:n>", lambda request, n: None),)
            self.assertEqual(handler(request).status_code, 200)
        self.assertEqual(seen, ["unmatched", "found/<int:n>"])

    def test_flask(self) -> None:
        seen: list = []
        every = options(Weir, "flask", flask.ip, flask.route, lambda request, name: request.headers[name], seen)
        app, clients = flask_library.Flask("test"), clients_of(every)
        for name, one in every.items():
            refund_when = (lambda status: status < 300) if name == "login" else None

            def view(number=None):
                if "wrong" in flask_library.request.args:
                    flask_library.abort(401)
                return "fine"

            limited = flask.limited(one.pop("client"), **one, refund_when=refund_when)(view)
            app.add_url_rule("/limited/<int:number>" if name == "limited" else f"/{name}", name, limited)
        with served_wsgi(app, *clients) as url:
            self.examine(url, "flask", seen, "/limited/<int:number>")


def clients_of(every: dict[str, dict]) -> set:
    return {one["client"] for one in every.values()}


def plain(app):
    """The application with bodies of text, as the others answer."""

    async def called(scope, receive, send) -> None:
        async def send_text(message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [one for one in message["headers"] if one[0] != b"content-length"]
            elif message.get("body") == b"null":
                message["body"] = b"fine"
            await send(message)

        await app(scope, receive, send_text)

    return called


if __name__ == "__main__":
    unittest.main()
