"""A model server that replays what vLLM 0.32 sent for a tiny gpt-oss model: a greeting, or a call if there are tools and no reply yet."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import stub
from tests.support.places import RECORDINGS

RECORDED = {
    "/v1/chat/completions": ("vllm/v-chat-greet.sse", "vllm/v-chat-weather-tool.sse"),
    "/v1/responses": ("responses-vllm-greet.sse", "responses-vllm-weather-tool.sse"),
}
"""The recording for each address: without tools, and with them."""
GREETING = "Hello! How can I help you today?"


class RecordedVllm:
    """``requests``: the bodies of requests to a model."""

    def __init__(self) -> None:
        self.server: stub.Stub | None = None
        self.requests: list[tuple[str, Any]] = []

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        assert self.server is not None
        request = next(request for request in reversed(self.server.requests) if request.method == "POST")
        self.requests.append((request.path, request.body))
        name = RECORDED[request.path][bool(request.body.get("tools"))]
        await stub.plays((RECORDINGS / name).read_bytes(), seed=len(self.requests))(writer)


@contextmanager
def recorded_vllm() -> Iterator[RecordedVllm]:
    """Serve in a separate thread, because the suites block while they wait."""
    played, ready, loop = RecordedVllm(), threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with stub.running(played, models={"data": [{"id": "gpt-oss-tiny"}]}, server_header="uvicorn") as server:
            played.server = server
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(30)
    try:
        yield played
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
        loop.close()
