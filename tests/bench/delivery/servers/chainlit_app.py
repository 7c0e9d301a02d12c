"""A minimal Chainlit app for comparison: httpx in, Chainlit's own protocol out, a token at a time. Stores nothing.

Runs with an interpreter that has Chainlit, which is no dependency of the project; BENCH_UPSTREAM is the address of the model server.
"""

import json
import logging
import os

import chainlit
import httpx

logging.getLogger("httpx").setLevel(logging.WARNING)
CLIENT = httpx.AsyncClient(timeout=None, limits=httpx.Limits(max_connections=None), trust_env=False)
ADDRESS = os.environ.get("BENCH_UPSTREAM", "") + "/v1/chat/completions"


@chainlit.on_message
async def answer(message: chainlit.Message) -> None:
    """Answer one question."""
    shown = chainlit.Message(content="")
    body = {"model": "bench", "stream": True, "messages": [{"role": "user", "content": message.content}]}
    async with CLIENT.stream("POST", ADDRESS, json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {") and (content := json.loads(line[6:])["choices"][0]["delta"].get("content")):
                await shown.stream_token(content)
    await shown.update()
