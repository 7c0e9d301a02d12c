"""Checks all output of the product for markers and keeps where one was found, never the text around it."""

from __future__ import annotations

import html
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from chatui.canary.markers import Canary

SHARED = "s/"
"""How the names of the places begin at which the owner shows something to everybody."""
_STRANGERS = ("stranger", "anonymous")


class CanaryError(Exception):
    """The run could not be carried out as it should be; the message is a sentence for the operator and quotes no content."""


class Clock:
    """How much time there still is."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._end = self._began + seconds

    @property
    def elapsed(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._began

    def left(self, most: float) -> float:
        """Seconds, ``most`` of them. Raises CanaryError where there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise CanaryError("There was not enough time; --seconds gives more.")
        return min(seconds, most)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """``what``: the name of the marker, or what else was wrong. ``place``: a pattern of the URL list, or a socket; no ids."""

    what: str
    viewer: str
    place: str
    part: str

    def __str__(self) -> str:
        return f"{self.what} | {self.place} | {self.part} | as {self.viewer}"


class Watch:
    """``look`` at each thing that somebody fetched. ``findings`` has each finding once, in the order in which they came.

    ``seen`` has, by visitor, which visible markers came: a crawl that does not even find those proves nothing.
    """

    def __init__(self, hidden: Canary, visible: Canary, secrets: Mapping[str, str]) -> None:
        """``secrets``: other texts that must not come out, by what they are."""
        self._hidden = hidden
        self._visible = visible
        self._secrets = {name: {secret, html.escape(secret)} for name, secret in secrets.items()}
        self._findings: dict[Finding, None] = {}
        self.looked: Counter[str] = Counter()
        self.seen: defaultdict[str, set[str]] = defaultdict(set)

    @property
    def findings(self) -> list[Finding]:
        """What was found so far."""
        return list(self._findings)

    def look(self, viewer: str, place: str, part: str, what: str | bytes) -> None:
        """Search one thing: the body of an answer, a header, an event of a socket."""
        for name in self._hidden.found(what):
            self.note(name, viewer, place, part)
        seen = self._visible.found(what)
        self.seen[viewer].update(seen)
        if seen and viewer in _STRANGERS and not place.startswith(SHARED):
            self.note(f"what the owner may read ({seen[0]})", viewer, place, part)
        text = what.decode("utf-8", "replace") if isinstance(what, bytes) else what
        for name, spellings in self._secrets.items():
            if any(spelling in text for spelling in spellings):
                self.note(name, viewer, place, part)

    def note(self, what: str, viewer: str, place: str, part: str = "answer") -> None:
        """Something that should not be."""
        self._findings[Finding(what, viewer, place, part)] = None
