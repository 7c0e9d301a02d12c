"""Random words that must never come out again, and the search for them in whatever did come out."""

from __future__ import annotations

import base64
import html
import secrets
from urllib.parse import unquote_plus

# No hexadecimal digits, so that no id, hash or token of ours can hold a marker by chance.
_LETTERS = "ghjkmnpqrtvwxyz"


class Canary:
    """Makes markers that share one random beginning. ``planted`` tells for each where it was put."""

    def __init__(self) -> None:
        self.beginning = "".join(secrets.choice(_LETTERS) for _ in range(12))
        self.planted: dict[str, str] = {}

    def plant(self, place: str) -> str:
        """A new marker, for ``place``: one word of letters and digits, which every header value may hold."""
        marker = f"{self.beginning}{len(self.planted):03d}"
        self.planted[marker] = place
        return marker

    def found(self, *haystacks: str | bytes) -> list[str]:
        """Where the markers come from that are in any of the haystacks, in any usual encoding; empty is what we want."""
        places: list[str] = []
        for haystack in haystacks:
            text = haystack.decode("utf-8", "replace") if isinstance(haystack, bytes) else haystack
            if self._is_in(text):
                places += [place for marker, place in self.planted.items() if marker in text.lower()] or ["a part of a marker"]
        return places

    def _is_in(self, text: str) -> bool:
        plain = text.lower()
        forms = (plain, html.unescape(plain), unquote_plus(plain), "".join(plain.split()))
        if any(self.beginning in form for form in forms):
            return True
        raw = self.beginning.encode()
        # Three ways to cut the word into groups of three bytes; the first and last group may hold neighbours' bits.
        encoded = [base64.b64encode(raw[shift:]).decode().rstrip("=")[:-4] for shift in range(3)]
        return raw.hex() in plain or any(form in text for form in encoded)
