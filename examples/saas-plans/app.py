"""An API that is sold on plans: Weir knows which customer is on which plan, so the checks send the customer alone."""

import html
import logging
import os
from typing import Annotated, Literal
from urllib.parse import quote

import httpx
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse
from fastapi.security import HTTPBasic, HTTPBasicCredentials
from pydantic import BaseModel
from weir_ratelimit import AsyncWeir
from weir_ratelimit.fastapi import install, limit

CUSTOMERS = {"key-of-acme": "acme", "key-of-globex": "globex"}

weir = AsyncWeir(
    os.environ["WEIR_GATE_URL"],
    os.environ["WEIR_KEY"],
    # Calls are not counted while Weir is away, and the log tells so.
    on_error="allow",
    timeout_ms=5_000,
    on_degraded=lambda error: logging.error("calls are not counted: %s", error),
)
# A key with the scopes `write` and `view` is enough.
credential = {"Authorization": f"Bearer {os.environ['WEIR_KEY']}"}
admin = httpx.AsyncClient(base_url=os.environ["WEIR_TENANT_URL"], headers=credential, timeout=10)
app = FastAPI()
install(app)


async def customer(request: Request, credentials: Annotated[HTTPBasicCredentials, Depends(HTTPBasic())]) -> str:
    """The customer of the key in the header `Authorization`, which programs and browsers send alike."""
    name = CUSTOMERS.get(credentials.username)
    if name is None:
        raise HTTPException(401, "unknown key", {"WWW-Authenticate": "Basic"})
    request.state.customer = name
    return name


Customer = Annotated[str, Depends(customer)]
limited = limit(weir, namespace="api", attributes=lambda request: {"org": request.state.customer})


@app.get("/quotes", dependencies=[Depends(customer), Depends(limited)])
def quotes() -> dict[str, str]:
    return {"quote": "Less is more."}


class Upgrade(BaseModel):
    plan: Literal["free", "pro", "business"]


@app.post("/upgrade")
async def upgrade(customer: Customer, wanted: Upgrade) -> dict[str, str]:
    """Stands for what follows a payment. The new plan replaces the present one at once; units that were used stay used."""
    plans = await ask("GET", "/plans")
    plan = next(plan["id"] for plan in plans["data"] if plan["name"] == wanted.plan)
    assigned = await ask("POST", "/assignments", {"customer": customer, "plan": plan, "note": "paid"})
    return {"plan": wanted.plan, "from": assigned["from"]}


@app.post("/view-token")
async def view_token(customer: Customer) -> dict[str, str]:
    """The page asks for it whenever its token has expired. It shows the usage of this customer, and nothing else."""
    token = await ask("POST", f"/customers/{quote(customer, safe='')}/view-token", {"ttl_s": 900})
    return {"token": token["token"], "expires_at": token["expires_at"]}


@app.get("/usage", response_class=HTMLResponse)
async def usage(customer: Customer) -> str:
    script, gate = (html.escape(os.environ[name]) for name in ("WEIR_URL", "WEIR_GATE_URL"))
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Your usage</title>
<script type="module" src="{script}/weir-usage.js"></script>
<h1>Usage of {html.escape(customer)}</h1>
<weir-usage gate="{gate}" token-url="/view-token"></weir-usage>
</html>
"""


@app.get("/")
def home() -> str:
    return "GET /quotes, POST /upgrade and, in a browser, GET /usage"


async def ask(method: str, path: str, body: dict | None = None) -> dict:
    response = await admin.request(method, path, json=body)
    response.raise_for_status()
    return response.json()
