"""A queue of reports. Requests are accepted at any rate, and deferred: Weir calls `/work` as fast as the renderer can take reports."""

import base64
import hashlib
import hmac
import os
import time
import uuid

import httpx
from fastapi import FastAPI, HTTPException, Request

weir = httpx.AsyncClient(base_url=os.environ["WEIR_URL"], headers={"Authorization": f"Bearer {os.environ['WEIR_KEY']}"})
app = FastAPI()
# Stands for a database: the rendered reports, by the id of their job.
rendered: dict[str, dict] = {}


@app.get("/")
def home() -> dict:
    return {"rendered": list(rendered.values())}


@app.post("/reports", status_code=202)
async def order(request: Request) -> dict:
    job = {
        "namespace": "reports",
        "attributes": {"renderer": "pdf"},
        "target": os.environ["WEBHOOK_ID"],
        "payload": await request.json(),
        "not_after_ms": 3_600_000,
        # A client that repeats its request sends the same key, and gets the same job.
        "idempotency_key": request.headers.get("idempotency-key", str(uuid.uuid4())),
    }
    answer = await weir.post("/defer", json=job)
    if answer.status_code == 429:
        raise HTTPException(503, "too many reports wait")
    answer.raise_for_status()
    return {"job": answer.json()["deferred"], "waits": answer.status_code == 202}


@app.post("/work")
async def work(request: Request) -> None:
    body = await request.body()
    if not is_from_weir(os.environ["WEBHOOK_SECRET"], request.headers, body):
        raise HTTPException(401, "wrong signature")
    data = (await request.json())["data"]
    # The same job can arrive twice. It is done once.
    rendered.setdefault(data["deferred"], {"report": data["payload"], "at": time.monotonic()})


def is_from_weir(secret: str, headers, body: bytes) -> bool:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    recent = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    return recent and any(hmac.compare_digest(expected, one) for one in headers["webhook-signature"].split())
