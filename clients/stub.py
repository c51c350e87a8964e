"""A server that answers as the cases of conformance.json say, also wrongly. Prints its port.

The address of a client is http://127.0.0.1:PORT/CASE/RUN: the position of the case (those of `concurrent` and `middleware` continue after
`cases`), and any text that is new for each run. The n-th request of a run gets the n-th reply of the case, or the last one. GET
CASE/RUN/requests returns what arrived: the path, the body, and the header `traceparent` of each.

It also receives deferred jobs, at http://127.0.0.1:PORT/webhook. GET /webhook/ID returns the headers and the body of a job's message, or null.
"""

import asyncio
import json
import pathlib
import sys

CONFORMANCE = json.loads((pathlib.Path(__file__).parent / "conformance.json").read_text("utf-8"))
CASES = [*CONFORMANCE["cases"], *CONFORMANCE["concurrent"]["cases"], *CONFORMANCE["middleware"]["cases"]]
ANSWER = {
    "allowed": True, "denied_by": [], "retry_after_ms": 0, "cache_for_ms": 0, "delay_ms": 0, "limit": None,
    "remaining": None, "reset_after_ms": None, "limits": [], "degraded": None, "rulebook_version": 1,
}

runs: dict[tuple[str, str], list[object]] = {}
messages: dict[str, object] = {}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await exchange(reader, writer):
            pass
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answers one request. Returns whether the connection stays open."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = headers_of(lines)
    body = await reader.readexactly(int(fields.get("content-length", "0")))
    method, path, _ = lines[0].split(" ")
    if path == "/webhook":
        messages[fields["webhook-id"]] = {"headers": fields, "body": body.decode()}
        return await send(writer, 204, b"")
    _, case, run, *rest = path.split("/")
    if case == "webhook":
        return await send(writer, 200, json.dumps(messages.get(run)).encode())
    bodies = runs.setdefault((case, run), [])
    if rest == ["requests"]:
        return await send(writer, 200, json.dumps(bodies).encode())
    bodies.append({"path": "/" + "/".join(rest), "body": json.loads(body or b"{}"), "traceparent": fields.get("traceparent")})
    replies = CASES[int(case)]["stub"]
    return await reply(writer, replies[min(len(bodies), len(replies)) - 1])


async def reply(writer: asyncio.StreamWriter, what: dict) -> bool:
    status, content = content_of(what)
    match what.get("fault"):
        case None:
            return await send(writer, status, content, what.get("type", "application/json"), what.get("request_id"))
        case "stall":
            await asyncio.sleep(3600)
        case "late":
            # Longer than the time-outs of the cases that use it.
            await asyncio.sleep(0.05)
            return await send(writer, status, content)
        case "truncate":
            writer.write(head(status, len(content)) + content[:-5])
        case "raw":
            writer.write(what["text"].encode())
        case "redirect":
            writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nlocation: check\r\n" + f"content-length: {len(content)}\r\n\r\n".encode() + content)
            await writer.drain()
            return True
        case "latin1":
            return await send(writer, status, content[:-1] + b',"note":"\xe9"}')
        case "trickle":
            await trickle(writer, head(status, 100_000), b" ")
        case "trickle_head":
            await trickle(writer, b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n")
        case "flood":
            writer.write(f"HTTP/1.1 {status} Flood\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n".encode())
            while True:
                writer.write(b" " * 65_536)
                await writer.drain()
    await writer.drain()
    return False


def headers_of(lines: list[str]) -> dict[str, str]:
    """The headers by lower-case name, with their values as they are."""
    pairs = (line.split(": ", 1) for line in lines[1:] if ": " in line)
    return {name.lower(): value for name, value in pairs}


def content_of(what: dict) -> tuple[int, bytes]:
    """The status and the body of a reply; the status of an answer follows from it."""
    if "answer" not in what:
        return what.get("status", 200), what.get("text", "").encode()
    answer = {**ANSWER, **what["answer"]}
    answer.pop(what.get("without"), None)
    return what.get("status", 429 if answer.get("allowed") is False else 200), json.dumps(answer).encode()


async def trickle(writer: asyncio.StreamWriter, first: bytes, more: bytes) -> None:
    writer.write(first)
    while not writer.is_closing():
        writer.write(more)
        await writer.drain()
        await asyncio.sleep(0.02)


def head(status: int, length: int, kind: str = "application/json", request_id: str | None = None) -> bytes:
    more = f"x-request-id: {request_id}\r\n" if request_id else ""
    return f"HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more}\r\n".encode()


async def send(
    writer: asyncio.StreamWriter, status: int, content: bytes, kind: str = "application/json", request_id: str | None = None
) -> bool:
    writer.write(head(status, len(content), kind, request_id) + content)
    await writer.drain()
    return True


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Ends with the process that started it, whose end of the pipe closes.
    await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
