"""Decodes the body of an HTTP response: chunked, of a known length, or until the server closes.

h11 does this as well, with an event for each chunk. A model server sends a chunk for each token, and those events would cost more than
everything else that is done with the token.
"""

from __future__ import annotations

import re
from typing import Protocol

_MAX_LINE = 16 * 1024
"""The longest line between two chunks, and all trailers together, in bytes."""
# Possessive: otherwise, a line of spaces without a carriage return would be tried from each of them, for seconds.
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*+(?:;[^\r\n]*+)?\r\n")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\x00]*\r\n")


class BrokenBodyError(ValueError):
    """The server sent an invalid body of this kind."""


class Body(Protocol):
    """``feed`` takes bytes, however they are split, and returns those that belong to the body. ``is_done``: it is complete."""

    is_done: bool
    rest: bytes
    """Bytes after the end."""

    def feed(self, data: bytes) -> bytes:
        """More bytes; empty if the server has closed.

        Raises:
            BrokenBodyError: it cannot be read.
        """
        ...


class UntilClosed:
    """A body that ends when the connection closes."""

    is_done = False
    rest = b""

    def feed(self, data: bytes) -> bytes:
        """See ``Body``."""
        self.is_done = not data
        return data


class Sized:
    """A body of known length."""

    rest = b""

    def __init__(self, size: int) -> None:
        self._left = size
        self.is_done = not size

    def feed(self, data: bytes) -> bytes:
        """See ``Body``."""
        if not data and not self.is_done:
            raise BrokenBodyError("peer closed connection without sending complete message body")
        taken, self.rest = data[: self._left], data[self._left :]
        self._left -= len(taken)
        self.is_done = not self._left
        return taken


class Chunked:
    """Chunks, each preceded by its size, then trailers, which are checked and dropped."""

    def __init__(self) -> None:
        self.is_done = False
        self.rest = b""
        self._buffer = b""
        self._left = 0
        self._is_after_chunk = self._is_in_trailers = False
        self._trailers = 0

    def feed(self, data: bytes) -> bytes:
        """See ``Body``."""
        if not data and not self.is_done:
            raise BrokenBodyError("peer closed connection without sending complete message body (incomplete chunked read)")
        data, self._buffer = self._buffer + data, b""
        parts: list[bytes] = []
        at = 0
        while at < len(data) and not self.is_done:
            at = self._chunk(data, at, parts) if self._left else self._between(data, at)
        return b"".join(parts)

    def _chunk(self, data: bytes, at: int, parts: list[bytes]) -> int:
        part = data[at : at + self._left]
        parts.append(part)
        self._left -= len(part)
        self._is_after_chunk = not self._left
        return at + len(part)

    def _between(self, data: bytes, at: int) -> int:
        """Parse the text between two chunks, from ``at``; returns where it ends."""
        end = data.find(b"\n", at) + 1
        if not end:
            self._buffer = data[at:]
            if len(self._buffer) > _MAX_LINE:
                raise BrokenBodyError("a line between two chunks is too long")
            return len(data)
        _require(end - at <= _MAX_LINE)
        line = data[at:end]
        if self._is_after_chunk:
            _require(line == b"\r\n")
            self._is_after_chunk = False
        elif self._is_in_trailers:
            self._trailer(line)
            self.rest = data[end:] if self.is_done else b""
        else:
            size = _SIZE.fullmatch(line)
            _require(size is not None)
            self._left = int(size[1], 16) if size else 0
            self._is_in_trailers = not self._left
        return end

    def _trailer(self, line: bytes) -> None:
        self._trailers += len(line)
        self.is_done = line == b"\r\n"
        _require(self.is_done or (_TRAILER.fullmatch(line) is not None and self._trailers <= _MAX_LINE))


def _require(condition: bool) -> None:
    if not condition:
        raise BrokenBodyError("illegal chunk header")
