"""Records the raw bytes of one exchange with a model server, in the format that tests replay."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx

from chatui.backends.base import Backend

# Other headers may identify an account, or contain a session.
_HEADERS = ("cache-control", "content-length", "content-type", "retry-after", "server", "transfer-encoding")


class KeyQuotedError(Exception):
    """The exchange contains the key, so nothing of it may be stored."""


@dataclass
class RecordedExchange:
    """One POST and its unchanged answer. ``chunks``: the time of each read, in seconds since the request, and its size."""

    method: str
    path: str
    body: object
    began: float = field(default_factory=time.monotonic)
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytearray = field(default_factory=bytearray, repr=False)
    chunks: list[tuple[float, int]] = field(default_factory=list)

    @property
    def suffix(self) -> str:
        kind = self.headers.get("content-type", "")
        return ".sse" if "event-stream" in kind else ".json" if "json" in kind else ".txt"

    def files(self, key: str | None) -> dict[str, bytes]:
        """The content of each file, by the end of its name.

        Raises:
            KeyQuotedError: ``key`` is in one of them.
        """
        seconds = self.chunks[-1][0] if self.chunks else 0.0
        about = {"status": self.status, "headers": self.headers, "seconds": seconds, "chunks": self.chunks}
        request = {"method": self.method, "path": self.path, "body": self.body}
        files = {".req.json": _json(request), self.suffix: bytes(self.raw), ".meta.json": _json(about)}
        if key and any(key.encode() in content for content in files.values()):
            raise KeyQuotedError
        return files


class Recorder:
    """Watches a backend's requests; ``exchange``: the last POST, None if there was none."""

    def __init__(self, backend: Backend, *, max_bytes: int | None = None) -> None:
        """``max_bytes``: how much of an answer is recorded; None for all of it.

        Raises:
            ValueError: the backend makes no requests.
        """
        self.exchange: RecordedExchange | None = None
        self._max_bytes = max_bytes
        backend.watch(self)

    def asked(self, request: httpx.Request) -> None:
        if request.method == "POST":
            self.exchange = RecordedExchange(request.method, request.url.path, json.loads(request.content))

    def answered(self, response: httpx.Response) -> None:
        if self.exchange is None or response.request.method != "POST":
            return
        self.exchange.status = response.status_code
        self.exchange.headers = {name: value for name, value in response.headers.items() if name in _HEADERS}
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Tee(response.stream, self.exchange, self._max_bytes)


class _Tee(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, exchange: RecordedExchange, max_bytes: int | None) -> None:
        self._stream = stream
        self._exchange = exchange
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            if self._max_bytes is None or len(self._exchange.raw) < self._max_bytes:
                self._exchange.raw += chunk
                self._exchange.chunks.append((round(time.monotonic() - self._exchange.began, 4), len(chunk)))
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
