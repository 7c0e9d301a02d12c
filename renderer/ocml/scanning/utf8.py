"""Decodes streamed UTF-8, and reports invalid bytes."""

from __future__ import annotations

import codecs


class Utf8Pieces:
    """Decodes bytes across pieces. From the first invalid bytes on, each invalid sequence becomes U+FFFD."""

    def __init__(self) -> None:
        self._pending = b""
        self.replaces_invalid = False

    @property
    def is_waiting(self) -> bool:
        """Whether part of a character is held back."""
        return bool(self._pending)

    def decode(self, piece: bytes, *, is_last: bool) -> tuple[str, bool]:
        """The text so far, and whether it ends at the first invalid bytes: if so, call ``decode_the_rest``."""
        data = self._pending + piece if self._pending else piece
        try:
            text, used = codecs.utf_8_decode(data, "replace" if self.replaces_invalid else "strict", is_last)
        except UnicodeDecodeError as error:
            self._pending = data[error.start :]
            return data[: error.start].decode("utf-8"), True
        self._pending = data[used:]
        return text, False

    def decode_the_rest(self, *, is_last: bool) -> str:
        """The text after the position where ``decode`` stopped. From now on, invalid bytes are replaced."""
        self.replaces_invalid = True
        text, used = codecs.utf_8_decode(self._pending, "replace", is_last)
        self._pending = self._pending[used:]
        return text
