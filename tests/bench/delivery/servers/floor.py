"""The floor: close to the minimum cost of a relay on Daphne. A small separate reader, and one frame for all text of 50 ms.

Daphne serves ``application``, a bare ASGI application; BENCH_UPSTREAM is the address of the model server.
"""

import asyncio
import json
import os
from typing import Any
from urllib.parse import urlsplit

FRAME_SECONDS = 0.05
UPSTREAM = urlsplit(os.environ.get("BENCH_UPSTREAM", "http://127.0.0.1:1"))


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """One WebSocket. Each text received is a question."""
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    tasks: set[asyncio.Task[None]] = set()
    while (message := await receive())["type"] == "websocket.receive":
        task = asyncio.create_task(_relay(message["text"], send))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    for task in tasks:
        task.cancel()


async def _relay(question: str, send: Any) -> None:
    reader, writer = await asyncio.open_connection(UPSTREAM.hostname, UPSTREAM.port)
    body = json.dumps({"model": "bench", "stream": True, "messages": [{"role": "user", "content": question}]}).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await reader.readuntil(b"\r\n\r\n")
    rest, is_over = b"", False
    while not is_over:
        # The lines of the transfer encoding are not events, and are skipped like everything else that is not data.
        *lines, rest = (rest + await reader.read(1 << 16)).split(b"\n")
        events = [line[6:] for line in lines if line.startswith(b"data: ")]
        is_over = b"[DONE]" in events
        deltas = (json.loads(event)["choices"][0]["delta"] for event in events if event.startswith(b"{"))
        if text := "".join(delta.get("content") or "" for delta in deltas):
            await send({"type": "websocket.send", "text": json.dumps({"t": text})})
            await asyncio.sleep(FRAME_SECONDS)
    writer.close()
    await send({"type": "websocket.send", "text": '{"end":1}'})
