"""A provider for trying the proxy: it reports as many tokens as the last word of the prompt says, after a moment."""

import asyncio

from fastapi import FastAPI, Request

MOMENT_S = 0.2

app = FastAPI()


@app.get("/")
def home() -> str:
    return "POST /v1/chat/completions"


@app.post("/v1/chat/completions")
async def completions(request: Request) -> dict:
    call = await request.json()
    prompt = call["messages"][-1]["content"]
    await asyncio.sleep(MOMENT_S)
    message = {"role": "assistant", "content": "Good idea."}
    return {"choices": [{"index": 0, "message": message}], "usage": {"total_tokens": int(prompt.split()[-1])}}
