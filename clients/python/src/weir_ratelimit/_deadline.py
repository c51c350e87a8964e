"""An HTTP transport whose calls end at a deadline. Time-outs of httpx bound each read, so a gate that sends a byte at a time could
hold a caller for ever."""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore
import httpx


class DeadlineTransport(httpx.BaseTransport):
    def __init__(self, *, tls: bool) -> None:
        self._calls = threading.local()
        self._pool = httpcore.ConnectionPool(
            # To load the authorities takes longer than a call.
            ssl_context=httpx.create_ssl_context() if tls else None,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=_Backend(self._left),
        )

    @contextlib.contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Ends what this thread sends and reads inside at `deadline` (of `time.monotonic`)."""
        self._calls.deadline = deadline
        try:
            yield
        finally:
            del self._calls.deadline

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        left = self._left(None)
        assert isinstance(request.stream, httpx.SyncByteStream)
        response = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions={"timeout": {"connect": left, "read": left, "write": left, "pool": left}},
            )
        )
        assert isinstance(response.stream, Iterable)
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response.stream))

    def close(self) -> None:
        self._pool.close()

    def _left(self, timeout: float | None) -> float | None:
        """The rest of this thread's time, or `timeout` where nothing is bounded (the end of a connection)."""
        deadline: float | None = getattr(self._calls, "deadline", None)
        if deadline is None:
            return timeout
        left = deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the time is over")
        return left


class _Body(httpx.SyncByteStream):
    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()


class _Backend(httpcore.NetworkBackend):
    def __init__(self, left: Any) -> None:
        self._left = left
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._sockets.connect_tcp(host, port, self._left(timeout), local_address, socket_options)
        return _Stream(stream, self._left)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, left: Any) -> None:
        self._stream = stream
        self._left = left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, self._left(timeout)), self._left)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
