"""A proxy for a chat-completions API with a budget of tokens for each user. It reserves an estimate before each call, and commits what
the provider reports, so that concurrent calls never exceed the budget together."""

import os

import httpx
from fastapi import FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse
from weir_ratelimit import AsyncWeir, safe_attributes

ANSWER_TOKENS = 400  # the longest answer, if a call does not say (`max_completion_tokens`)
CALL_S = 120

weir = AsyncWeir(
    os.environ["WEIR_GATE_URL"],
    os.environ["WEIR_KEY"],
    # Tokens cost money: while no gate answers, no call is made.
    on_error="deny",
    timeout_ms=5_000,
)
# Servers often close a connection that was idle for 5 s; a call must not meet that moment.
connections = httpx.Limits(max_connections=200, keepalive_expiry=2)
provider = httpx.AsyncClient(base_url=os.environ["PROVIDER_URL"], timeout=CALL_S, limits=connections)
app = FastAPI()


@app.get("/")
def home() -> str:
    return "POST /v1/chat/completions"


@app.post("/v1/chat/completions")
async def completions(request: Request, x_user: str = Header()) -> JSONResponse:
    call = await request.json()
    if call.get("stream"):
        raise HTTPException(400, "stream: this proxy reads the usage of whole answers")
    call.setdefault("max_completion_tokens", ANSWER_TOKENS)
    user = safe_attributes({"user": x_user})
    reservation = await weir.reserve("llm", user, cost=estimate(call), ttl_ms=2 * CALL_S * 1_000)
    if not reservation.answer.allowed:
        raise HTTPException(429, "the budget of tokens is used", reservation.answer.headers())
    used = 0  # of a call that failed
    try:
        answer = await provider.post("/v1/chat/completions", json=call)
        body = answer.json()
        if answer.is_success:
            used = body["usage"]["total_tokens"]
    except (httpx.HTTPError, ValueError) as error:
        raise HTTPException(502, f"the provider did not answer: {type(error).__name__}") from error
    finally:
        await reservation.commit(used)
    return JSONResponse(body, answer.status_code)


def estimate(call: dict) -> int:
    """At most the tokens of the call: those of the longest answer, and one for each three bytes of the prompt, which is more than usual."""
    prompt = sum(len(str(message.get("content", "")).encode()) for message in call.get("messages", []))
    return call["max_completion_tokens"] + -(-prompt // 3)
