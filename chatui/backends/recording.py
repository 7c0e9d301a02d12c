"""Records the raw bytes of one exchange with a model server, in the format that tests replay."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

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

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = {name: value for name, value in headers.items() if name in _HEADERS}

    def read(self, piece: bytes) -> None:
        if piece:
            self.raw += piece
            self.chunks.append((round(time.monotonic() - self.began, 4), len(piece)))

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

    def __init__(self, backend: Backend) -> None:
        """Raises ValueError if the backend makes no requests."""
        self.exchange: RecordedExchange | None = None
        backend.watch(self._asked)

    def _asked(self, method: str, path: str, body: bytes) -> RecordedExchange | None:
        if method != "POST":
            return None
        self.exchange = RecordedExchange(method, path, json.loads(body))
        return self.exchange


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
