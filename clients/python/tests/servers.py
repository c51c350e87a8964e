"""Servers of the frameworks under test."""

import asyncio
import contextlib
import threading
import time
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
import uvicorn
from django import conf
from support import GENEROUS_MS


class DjangoUrls:
    urlpatterns: list = []


conf.settings.configure(
    ROOT_URLCONF=DjangoUrls,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="of a test",
    INSTALLED_APPS=["rest_framework"],
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None, "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"]},
    LOGGING_CONFIG=None,
)
django.setup()


@contextlib.contextmanager
def served(app, *clients):
    """Closes the clients in the event loop of the server, which made their connections."""

    async def serve() -> None:
        try:
            await server.serve()
        finally:
            for client in clients:
                await client.aclose()

    config = uvicorn.Config(app, port=0, lifespan="off", log_level="error", proxy_headers=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        deadline = time.monotonic() + GENEROUS_MS / 1000
        while not server.started:
            assert time.monotonic() < deadline and thread.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextlib.contextmanager
def served_wsgi(app, *clients):
    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        for client in clients:
            client.close()
