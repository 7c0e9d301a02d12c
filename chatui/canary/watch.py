"""Checks all output of the product for markers, and records where one was found, but never the text around it."""

from __future__ import annotations

import html
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from chatui.canary.markers import PART_OF_A_MARKER, Canary

SOCKET = "socket"
SHARED = "s/"
"""The prefix of places at which the owner publishes something."""
_STRANGERS = ("stranger", "anonymous")


class CanaryError(Exception):
    """The run could not be carried out; the message is a sentence for the operator and quotes no content."""


class Clock:
    """The remaining time of a run."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._end = self._began + seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def left(self, most: float) -> float:
        """The remaining seconds, at most ``most``. Raises CanaryError if there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise CanaryError("There was not enough time; --seconds gives more.")
        return min(seconds, most)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A leaked marker or another fault.

    ``what``: the place of the marker, or the fault. ``place``: a pattern of the URL list, or a socket; no ids.
    """

    what: str
    viewer: str
    place: str
    part: str

    def __str__(self) -> str:
        return f"{self.what} | {self.place} | {self.part} | as {self.viewer}"


class Watch:
    """Call ``look`` with everything that a visitor fetched.

    ``findings``: each finding once, in order. ``seen``: the visible markers by visitor; a crawl that does not find those proves nothing.
    """

    def __init__(self, hidden: Canary, visible: Canary, secrets: Mapping[str, str]) -> None:
        """``secrets``: other texts that must not be sent, by name."""
        self._hidden = hidden
        self._visible = visible
        self._secrets = {name: {secret, html.escape(secret)} for name, secret in secrets.items()}
        self._findings: dict[Finding, None] = {}
        self._allowed: dict[str, bool] = {}
        self.looked: Counter[str] = Counter()
        self.seen: defaultdict[str, set[str]] = defaultdict(set)

    @property
    def findings(self) -> list[Finding]:
        """The findings so far."""
        return list(self._findings)

    def look(self, viewer: str, place: str, part: str, what: str | bytes) -> None:
        """Search one piece of output: the body of a response, a header, an event of a socket."""
        for name in self._hidden.found(what):
            if self._allowed and (viewer, place) == ("owner", SOCKET) and (name in self._allowed or name == PART_OF_A_MARKER):
                self._allowed[name] = True
                continue
            self.note(name, viewer, place, part)
        seen = self._visible.found(what)
        self.seen[viewer].update(seen)
        if seen and viewer in _STRANGERS and not place.startswith(SHARED):
            self.note(f"what the owner may read ({seen[0]})", viewer, place, part)
        text = what.decode("utf-8", "replace") if isinstance(what, bytes) else what
        for name, spellings in self._secrets.items():
            if any(spelling in text for spelling in spellings):
                self.note(name, viewer, place, part)

    @property
    def awaits_withdrawal(self) -> bool:
        """Whether there is hidden text that may still be on the owner's page."""
        return bool(self._allowed)

    def allow_until_withdrawn(self, names: Iterable[str]) -> None:
        """Allow text that a server marks as hidden too late, but only in events of the owner's socket."""
        self._allowed = dict.fromkeys(names, False)

    def withdrawn(self) -> None:
        """The allowed text that was seen has been withdrawn: from now on it counts like all hidden text."""
        self._allowed = {name: False for name, was_seen in self._allowed.items() if not was_seen}

    def settle(self) -> None:
        """The answer has ended. Allowed text that was shown and not withdrawn becomes a finding."""
        for name, was_seen in self._allowed.items():
            if was_seen:
                self.note(f"{name}, which was not withdrawn", "owner", SOCKET, "event")
        self._allowed = {}

    def note(self, what: str, viewer: str, place: str, part: str = "answer") -> None:
        """Record another fault."""
        self._findings[Finding(what, viewer, place, part)] = None
