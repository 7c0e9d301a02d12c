"""UTF-8 that arrives in pieces: characters cut in half are put together, bytes that are none are mended and told of."""

from __future__ import annotations

import codecs


class Utf8Pieces:
    """Bytes to text across pieces. After the first bytes that are no UTF-8, each such sequence becomes U+FFFD."""

    def __init__(self) -> None:
        self._pending = b""
        self.is_mended = False

    @property
    def is_waiting(self) -> bool:
        """Whether half a character is held back."""
        return bool(self._pending)

    def decode(self, piece: bytes, *, is_last: bool) -> tuple[str, bool]:
        """The text that is certain, and whether it ends at the first bytes that are no UTF-8: ask then for the rest."""
        data = self._pending + piece if self._pending else piece
        try:
            text, used = codecs.utf_8_decode(data, "replace" if self.is_mended else "strict", is_last)
        except UnicodeDecodeError as error:
            self._pending = data[error.start :]
            return data[: error.start].decode("utf-8"), True
        self._pending = data[used:]
        return text, False

    def decode_the_rest(self, *, is_last: bool) -> str:
        """What stands behind the place where ``decode`` ended, mended; from now on everything is."""
        self.is_mended = True
        text, used = codecs.utf_8_decode(self._pending, "replace", is_last)
        self._pending = self._pending[used:]
        return text
