"""A dependency of FastAPI: `Depends(limit(weir, …))`, for synchronous and asynchronous endpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from fastapi import HTTPException, Request, Response

from . import asgi
from ._async import AsyncWeir
from ._core import Attributes
from .answer import Answer
from .middleware import Cost, cost_of, refusal, safe_attributes


def limit(
    client: AsyncWeir, *, namespace: str, attributes: Callable[[Request], Attributes | None], cost: Cost = 1
) -> Callable[[Request, Response], Awaitable[Answer | None]]:
    """A dependency whose value is the answer; None if `attributes` returned None. To return units, use `asgi.WeirMiddleware`: a
    dependency does not know the status of the response."""

    async def check(request: Request, response: Response) -> Answer | None:
        found = attributes(request)
        if found is None:
            return None
        answer = await client.check(namespace, safe_attributes(found), cost=cost_of(cost, request))
        refused = refusal(answer)
        if refused is not None:
            headers = {name: value for name, value in refused.headers.items() if name != "content-type"}
            raise HTTPException(refused.status, refused.body, headers)
        await anyio.sleep(answer.delay_ms / 1000)
        response.headers.update(answer.headers())
        return answer

    return check


def ip(request: Request, *, trusted_hops: int = 0, ipv6_prefix: int = 64) -> str:
    """The address of the client; see `asgi.ip`."""
    return asgi.ip(request.scope, trusted_hops=trusted_hops, ipv6_prefix=ipv6_prefix)


def route(request: Request) -> str:
    """The pattern of the route, such as `/users/{id}`."""
    path: str = request.scope["route"].path
    return path
