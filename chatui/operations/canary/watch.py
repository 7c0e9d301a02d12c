"""Checks all output of the product for markers, and records where one was found, but never the text around it.

Markers are random words that must never appear in output. The stored text of a run is checked where only visible words are allowed: the
search index, titles, answers, the audit log.
"""

from __future__ import annotations

import base64
import gzip
import html
import io
import re
import secrets
import string
import time
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

from django.core.management.base import CommandError
from django.db.models import QuerySet

from chatui.models.audit import AuditEvent
from chatui.models.message import SearchEntry
from chatui.models.shares import ShareLink
from chatui.models.user import User

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


SOCKET = "socket"
SHARED = "s/"
"""The prefix of places at which the owner publishes something."""
_STRANGERS = ("stranger", "anonymous")


INCOMPLETE = 2
"""The exit code of a run that proves nothing."""


class CanaryError(CommandError):
    """The run could not be carried out; the message is a sentence for the operator and quotes no content."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, returncode=INCOMPLETE)


class Clock:
    """The remaining time of a run."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._end = self._began + seconds

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def left(self, most: float) -> float:
        """The remaining seconds, at most ``most``. Raises CanaryError if there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise CanaryError("There was not enough time; --seconds gives more.")
        return min(seconds, most)


@dataclass(frozen=True, slots=True, order=True)
class CanaryFinding:
    """A leaked marker or another fault."""

    what: str
    """The place of the marker, or the fault."""
    viewer: str
    place: str
    """A pattern of the URL list, or a socket; no ids."""
    part: str

    def __str__(self) -> str:
        return f"{self.what} | {self.place} | {self.part} | as {self.viewer}"


class LeakWatch:
    """Call ``look`` with everything that a visitor fetched.

    ``findings``: each finding once, in order. ``seen``: the visible markers by visitor; a crawl that does not find those proves nothing.
    """

    def __init__(self, hidden: Canary, visible: Canary, secrets: Mapping[str, str]) -> None:
        """``secrets``: other texts that must not be sent, by name."""
        self._hidden = hidden
        self._visible = visible
        self._secrets = {name: {secret, html.escape(secret)} for name, secret in secrets.items()}
        self._findings: dict[CanaryFinding, None] = {}
        self._allowed: dict[str, bool] = {}
        """Whether each marker was seen that a server marks as hidden too late (``allow_until_withdrawn``)."""
        self.looked: Counter[str] = Counter()
        self.seen: defaultdict[str, set[str]] = defaultdict(set)

    @property
    def findings(self) -> list[CanaryFinding]:
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
        self._findings[CanaryFinding(what, viewer, place, part)] = None


PLACE = "database"
_OF_A_MESSAGE = ("text", "role", "channel", "intent", "recipient", "name", "call_id", "error_code")
_OF_A_LINE = ("code", "action", "way", "actor_name", "owner_name", "address", "detail")


def look_at_rows(watch: LeakWatch, owner: User) -> None:
    """Check every column of the owner's rows that people see, or that is derived from visible text."""
    for table, rows, columns in _rows(owner):
        watch.looked[f"rows of {table}"] += rows.count()
        for values in rows.values_list(*columns):
            for column, value in zip(columns, values, strict=True):
                watch.look("owner", PLACE, f"{table}.{column}", str(value))


def _rows(owner: User) -> Iterator[tuple[str, QuerySet[Any], tuple[str, ...]]]:
    conversations = owner.conversations.all()
    yield "Conversation", conversations, ("title", "model", "choice", "sampled_with", "answer_format")
    yield "SearchEntry", SearchEntry.objects.filter(conversation__in=conversations), ("terms",)
    yield "ShareLink", ShareLink.objects.filter(conversation__in=conversations), ("title", "shown_name")
    yield "AuditEvent", AuditEvent.objects.filter(actor=owner), _OF_A_LINE
    for row in conversations:
        yield "Message", row.messages.filter(is_visible=True), _OF_A_MESSAGE
        yield "Turn", row.turns.all(), ("choice", "backend", "model", "error_code", "error_cause")
        yield "AuditEvent", AuditEvent.objects.filter(conversation_id=row.pk), _OF_A_LINE
