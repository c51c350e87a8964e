"""A queue of reports. Requests are accepted at any rate, and deferred: Weir calls `/work` as fast as the renderer can take reports."""

import os
import time
import uuid

from fastapi import FastAPI, HTTPException, Request
from weir_ratelimit import AsyncWeir, WeirError, is_from_weir

weir = AsyncWeir(os.environ["WEIR_GATE_URL"], os.environ["WEIR_KEY"], on_error="deny", timeout_ms=5_000)
app = FastAPI()
# Stands for a database: the rendered reports, by the id of their job.
rendered: dict[str, dict] = {}


@app.get("/")
def home() -> dict:
    return {"rendered": list(rendered.values())}


@app.post("/reports", status_code=202)
async def order(request: Request) -> dict:
    # A client that repeats its request sends the same key, and gets the same job.
    key = request.headers.get("idempotency-key", str(uuid.uuid4()))
    try:
        deferral = await weir.defer(
            "reports",
            {"renderer": "pdf"},
            target=os.environ["WEBHOOK_ID"],
            payload=await request.json(),
            not_after_ms=3_600_000,
            idempotency_key=key,
        )
    except WeirError as error:
        # Possibly it was stored: the client repeats its request.
        raise HTTPException(503, "try again") from error
    if deferral.job is None:
        raise HTTPException(503, "too many reports wait")
    return {"job": deferral.job.id, "waits": deferral.job.state == "waiting"}


@app.post("/work")
async def work(request: Request) -> None:
    body = await request.body()
    if not is_from_weir(os.environ["WEBHOOK_SECRET"], request.headers, body):
        raise HTTPException(401, "wrong signature")
    data = (await request.json())["data"]
    # The same job can arrive twice. It is done once.
    rendered.setdefault(data["deferred"], {"report": data["payload"], "at": time.monotonic()})
