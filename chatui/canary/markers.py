"""Random marker words that must never appear in output, and the search for them."""

from __future__ import annotations

import base64
import gzip
import html
import io
import re
import secrets
import string
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote_plus

# No hexadecimal digits, so that ids, hashes and tokens cannot contain a marker by chance.
_LETTERS = "ghjkmnpqrtvwxyz"
PART_OF_A_MARKER = "a part of a marker"
_TAGS = re.compile(r"<[^<>]*>")
_BETWEEN = bytes(set(range(256)) - set(f"{string.ascii_letters}{string.digits}".encode()))
"""Bytes that are ignored inside a word: all but ASCII letters and digits, of which markers consist."""
_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_DIGITS = 5
_MAX_UNPACKED_BYTES = 32 << 20


class Canary:
    """Creates markers that share one random beginning. ``planted``: the place of each marker."""

    def __init__(self) -> None:
        self.beginning = "".join(secrets.choice(_LETTERS) for _ in range(12))
        self.planted: dict[str, str] = {}

    def plant(self, place: str) -> str:
        """A new marker, for ``place``: one word of letters and digits, which is valid in every header value."""
        marker = f"{self.beginning}{len(self.planted):0{_DIGITS}d}"
        self.planted[marker] = place
        return marker

    def found(self, *haystacks: str | bytes) -> list[str]:
        """The places whose markers are in any of the haystacks, in any usual encoding or archive. Empty: no leak."""
        places: list[str] = []
        for haystack in haystacks:
            for text in _texts(haystack):
                if self._is_in(text):
                    places += self._places(text) or [PART_OF_A_MARKER]
        return places

    def _places(self, text: str) -> list[str]:
        numbered = re.compile(rf"{self.beginning}\d{{{_DIGITS}}}")
        markers = {marker for form in _forms(text) for marker in numbered.findall(form)}
        return [self.planted[marker] for marker in sorted(markers) if marker in self.planted]

    def _is_in(self, text: str) -> bool:
        if any(self.beginning in form for form in _forms(text)):
            return True
        raw = self.beginning.encode()
        # Three ways to split the word into groups of three bytes; the first and last group may contain bits of neighbours.
        encoded = [base64.b64encode(raw[shift:]).decode().rstrip("=")[:-4] for shift in range(3)]
        return raw.hex() in text.lower() or any(form in text for form in encoded)


@lru_cache(maxsize=2)  # cached, because a text is searched for several beginnings
def _forms(text: str) -> frozenset[str]:
    """The text in all usual encodings, and without tags and spaces, which may be inside a word."""
    plain = text.lower()
    unescaped = html.unescape(plain)
    return frozenset((plain, unescaped, unquote_plus(plain), _bare(plain), _bare(_TAGS.sub("", unescaped))))


def _bare(text: str) -> str:
    """Works on bytes, because a regular expression over text took most of a run's time."""
    return text.encode("ascii", "ignore").translate(None, _BETWEEN).decode("ascii")


def _texts(haystack: str | bytes) -> Iterator[str]:
    if isinstance(haystack, str):
        yield haystack
        return
    yield haystack.decode("utf-8", "replace")
    for member in _members(haystack):
        yield member.decode("utf-8", "replace")


def _members(packed: bytes) -> Iterator[bytes]:
    """The files in an archive; empty if it cannot be opened, because then nobody can read it."""
    try:
        if packed.startswith(_GZIP):
            with gzip.open(io.BytesIO(packed)) as file:
                yield file.read(_MAX_UNPACKED_BYTES)
        elif packed.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                for member in archive.infolist():
                    yield member.filename.encode()
                    with archive.open(member) as inside:
                        yield inside.read(_MAX_UNPACKED_BYTES)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error):
        return
