"""Splits Harmony, as token ids or as text, into control markers and the text between them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass

from renderer.harmony.vocabulary import MARKER_IDS, ORDINARY_IDS, Vocabulary, marker_name
from renderer.tokens import Token

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_NAMES = r"\|(?:start|end|message|channel|constrain|return|call|endoftext|startoftext|reserved_\d+)\|>"
_SPELLED = re.compile(f"<{_NAMES}")
_BREAK = "\N{ZERO WIDTH SPACE}"
_TO_ESCAPE = re.compile(f"<(?={_BREAK}*{_NAMES})")
_ESCAPED = re.compile(f"<{_BREAK}(?={_BREAK}*{_NAMES})")


@dataclass(frozen=True, slots=True)
class Marker:
    """A control token, as its literal text."""

    token: str


Piece = Marker | str


def pieces_of_text(text: str) -> list[Piece]:
    """Split text. Any text of a marker counts as one: in text, a quoted marker cannot be distinguished from a real one."""
    pieces: list[Piece] = []
    position = 0
    for match in _SPELLED.finditer(text):
        if position < match.start():
            pieces.append(text[position : match.start()])
        pieces.append(Marker(match[0]))
        position = match.end()
    if position < len(text):
        pieces.append(text[position:])
    return pieces


def escaped(body: str) -> str:
    """The body with a zero-width space after the ``<`` of each marker that it spells, and one more where there are some already."""
    return _TO_ESCAPE.sub(f"<{_BREAK}", body)


def unescaped(text: str) -> str:
    """The original body, from the result of ``escaped``."""
    return _ESCAPED.sub("<", text)


def text_of_pieces(pieces: Iterable[Piece]) -> str:
    """The pieces as text."""
    return "".join(piece.token if isinstance(piece, Marker) else piece for piece in pieces)


def ids_of_pieces(pieces: Iterable[Piece], vocabulary: Vocabulary) -> list[int]:
    """The pieces as token ids. Each text is encoded separately, as in openai-harmony; only a Marker becomes a control token."""
    ids: list[int] = []
    for piece in pieces:
        if isinstance(piece, Marker):
            ids.append(MARKER_IDS[Token(piece.token)])
        else:
            ids += vocabulary.encode(piece)
    return ids


class TokenPieces:
    """Token ids in, pieces out. A character whose bytes are spread over several ids is released when it is complete."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._bytes_of = vocabulary.bytes_of
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_inside = False

    def feed(self, ids: Iterable[int]) -> list[Piece]:
        """The next pieces. An id that does not exist becomes one U+FFFD, as do invalid UTF-8 bytes."""
        pieces: list[Piece] = []
        run: list[bytes] = []
        for number in ids:
            if 0 <= number < _FIRST_SPECIAL:
                run.append(self._bytes_of[number])
                continue
            if run and (text := self._decoded(b"".join(run))):
                pieces.append(text)
            run = []
            name = marker_name(number)
            pieces += [*self.finish(), REPLACEMENT if name is None else Marker(name)]
        if run and (text := self._decoded(b"".join(run))):
            pieces.append(text)
        return pieces

    def finish(self) -> list[Piece]:
        """The rest, if the ids end inside a character, as U+FFFD."""
        if not self._is_inside:
            return []
        self._is_inside = False
        return [self._decoder.decode(b"", final=True)]

    def _decoded(self, read: bytes) -> str:
        # Nearly all ids are whole characters. The incremental decoder is written in Python: using it for them would double the time.
        if not self._is_inside:
            try:
                return read.decode("utf-8")
            except UnicodeDecodeError:
                pass
        text = self._decoder.decode(read)
        self._is_inside = bool(self._decoder.getstate()[0])
        return text


_FIRST_SPECIAL = ORDINARY_IDS.stop
