"""Login protection: a limit of requests for each address, and one of failed sign-ins for each account."""

import hmac
import logging
import os

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel
from weir_ratelimit import AsyncWeir, safe_attributes
from weir_ratelimit.fastapi import install, ip, limit, route

weir = AsyncWeir(
    os.environ["WEIR_GATE_URL"],
    os.environ["WEIR_KEY"],
    # People can sign in while Weir is away, and the log tells that attempts are not counted. "deny" would let nobody in.
    on_error="allow",
    timeout_ms=5_000,
    on_degraded=lambda error: logging.error("sign-ins are not limited: %s", error),
)
app = FastAPI()
install(app)
# Both attributes come from the server: no header that a client sends changes them.
address = limit(weir, namespace="login", attributes=lambda request: {"ip": ip(request), "route": route(request)})


class Credentials(BaseModel):
    account: str
    password: str


@app.get("/")
def home() -> str:
    return "POST /login"


@app.post("/login", dependencies=[Depends(address)])
async def login(credentials: Credentials) -> dict[str, str]:
    attempt = safe_attributes({"event": "sign-in", "account": credentials.account.strip().lower()})
    answer = await weir.check("login", attempt)
    if not answer.allowed:
        # The same answer for accounts that do not exist, which count as well.
        raise HTTPException(429, "too many failed sign-ins of this account", answer.headers())
    if not is_correct(credentials):
        raise HTTPException(401, "wrong account or password", answer.headers())
    # A success is no failure: its unit goes back.
    await weir.refund("login", attempt)
    return {"welcome": credentials.account}


def is_correct(credentials: Credentials) -> bool:
    """Stands for the comparison with a slow hash."""
    return hmac.compare_digest(credentials.password.encode(), f"password of {credentials.account}".encode())
