"""Server-sent events for programs: events, keep-alive comments, and ``[DONE]`` at the end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from django.http import StreamingHttpResponse

DONE = b"data: [DONE]\n\n"
STILL_HERE = b": \n\n"
_written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def event(body: Mapping[str, Any], *, named: bool = True) -> bytes:
    """An event; ``named`` by its type."""
    data = _written(body)
    return (f"event: {body['type']}\ndata: {data}\n\n" if named else f"data: {data}\n\n").encode("utf-8", "replace")


def streamed(chunks: AsyncIterator[bytes], closed: Callable[[], None]) -> StreamingHttpResponse:
    """A streamed reply, which proxies do not buffer.

    ``closed`` is called in a thread when it is over, even if the reader disconnected before reading any of it.
    """
    response = StreamingHttpResponse(chunks, content_type="text/event-stream; charset=utf-8")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    response._resource_closers.append(closed)  # type: ignore[attr-defined] # Django always calls this, but may not close an iterator
    return response
