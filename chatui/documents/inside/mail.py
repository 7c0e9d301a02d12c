"""Reads a mail: its header lines, its text, and a mark for each attached file. Mails in the mail are read like it."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from chatui.documents.inside import encodings, html
from chatui.documents.inside.marks import mark
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.kinds import NoTextReason, UnreadThing
from chatui.documents.limits import MAX_MAIL_DEPTH, MAX_MAIL_PARTS

if TYPE_CHECKING:
    from email.message import Message

HEADERS = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject")
_MAX_FIELDS = 30
_MAX_HEADER_CHARS = 20_000
_CHARSETS = re.compile(rb"charset\*?=\s*\"?(?:')?([A-Za-z0-9_.-]{2,40})|=\?([A-Za-z0-9_.-]{2,40})\?", re.IGNORECASE)
_MODULES = (
    "email.parser",
    "email.feedparser",
    "email.message",
    "email.header",
    "email._policybase",
    "email.base64mime",
    "email.quoprimime",
)
_SAMPLE = b"Subject: x\nContent-Type: text/plain; charset=utf-8; x*=utf-8''y\nContent-Transfer-Encoding: quoted-printable\n\n=78"
_MAX_LINES = 2000
_FOLDED = re.compile(r"\r?\n[ \t]")
_ESCAPED = re.compile(r"\\(.)")
_ZONE = re.compile(r'TZID="?([^;:"]{1,60})', re.IGNORECASE)
_MOMENTS = ("DTSTART", "DTEND", "DUE")
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_OF_INVITATIONS = {
    "SUMMARY": "Event",
    "DTSTART": "Begins",
    "DTEND": "Ends",
    "DUE": "Due",
    "DURATION": "Lasts",
    "RRULE": "Repeats",
    "LOCATION": "Place",
    "DESCRIPTION": "About",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "Invited",
    "STATUS": "Status",
}
_ENCRYPTED = ("application/pgp-encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")


def prepare(data: bytes) -> None:
    """Load the parsers, and the codecs of the encodings that the mail names."""
    for name in _MODULES:
        importlib.import_module(name)
    html.prepare(data)
    # What is packed in it may be in an encoding that it does not name.
    encodings.prepare(b"\xff")
    for found in list(_CHARSETS.finditer(data))[:200]:
        _codec((found[1] or found[2]).decode("ascii"))
    for name in ("base64", "quopri", "uu"):
        importlib.import_module(name)
    # What the parser loads only when it meets it.
    _text_of(_parsed(_SAMPLE))
    list(_decoded("=?utf-8?q?x?= =?utf-8?b?eA==?= x"))


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole mail as one part."""
    message = _parsed(data.lstrip(b"\r\n"))
    if not any(message.get(name) for name in HEADERS):
        raise UnreadableFileError(NoTextReason.BROKEN)
    collector.begin()
    _Mail(collector).put(message)


def _parsed(data: bytes) -> Message:
    # Loaded only for mails, so that other kinds of files do not wait for it.
    from email import message_from_bytes
    from email.policy import compat32

    return message_from_bytes(data, policy=compat32)


class _Mail:
    """Writes a mail. ``_left``: how many parts are still looked at."""

    def __init__(self, collector: TextCollector) -> None:
        self._collector = collector
        self._left = MAX_MAIL_PARTS

    def put(self, message: Message, depth: int = 0) -> None:
        """Write the header lines and the body of a mail."""
        for name in HEADERS:
            for value in _raw_values(message, name)[:1]:
                self._collector.put(f"{name}: {_header(value)}\n")
        self._collector.put("\n")
        self._put_part(message, depth)

    def _put_part(self, part: Message, depth: int) -> None:
        self._left -= 1
        kind = part.get_content_type()
        if self._left < 0 or depth > MAX_MAIL_DEPTH:
            self._collector.count(UnreadThing.PART)
        elif part.is_multipart():
            self._put_parts(part, kind, depth + 1)
        elif kind in _ENCRYPTED and "signed" not in str(part.get("Content-Type")).lower():
            self._collector.put("[This part is encrypted]\n")
        elif kind in ("text/plain", "text/html", "text/rfc822-headers") and not _is_file(part):
            self._put_text(part, kind)
        elif kind == "text/calendar":
            self._put_invitation(part)
        else:
            self._put_file(part, kind)

    def _put_parts(self, part: Message, kind: str, depth: int) -> None:
        if kind == "message/delivery-status":
            for each in _parts(part):
                self._collector.put("".join(f"{name}: {_header(value)}\n" for name, value in list(each.raw_items())[:_MAX_FIELDS]) + "\n")
        elif kind == "message/rfc822":
            self._collector.put("[Attached mail]\n")
            for each in _parts(part):
                self.put(each, depth)
        elif kind == "multipart/alternative":
            self._put_best(_parts(part), depth)
        else:
            for each in _parts(part):
                self._put_part(each, depth)

    def _put_best(self, parts: list[Message], depth: int) -> None:
        """Write one of several versions of a text: the plain one, unless only others say something. Files in them count as well."""
        texts = [part for part in parts if part.get_content_type() == "text/plain" and _text_of(part).strip()]
        for part in texts[:1] or parts[-1:]:
            self._put_part(part, depth)
        for part in parts if texts else ():
            # What is in a version with pictures and files beside the same text.
            for inner in part.walk() if part.get_content_maintype() == "multipart" else ():
                if not inner.is_multipart() and inner.get_content_maintype() != "text":
                    self._put_file(inner, inner.get_content_type())
        others = [
            part for part in parts if part.get_content_maintype() not in ("text", "multipart") or part.get_content_type() == "text/calendar"
        ]
        for part in others if texts else ():
            self._put_part(part, depth)

    def _put_text(self, part: Message, kind: str) -> None:
        text = _text_of(part)
        if kind == "text/html":
            reader = html.HtmlReader("", self._collector.max_bytes, self._collector)
            reader.read(text)
            text = "".join(reader.parts)
        self._collector.put(f"{text.rstrip()}\n\n")

    def _put_invitation(self, part: Message) -> None:
        """An invitation, which programs show above the text: what, when, where and who."""
        inside = ""
        for line in _FOLDED.sub("", _text_of(part)).splitlines()[:_MAX_LINES]:
            name, _, value = line.partition(":")
            key = name.partition(";")[0].upper()
            if key in ("BEGIN", "END"):
                inside = value.strip().upper() if key == "BEGIN" else ""
            elif inside in ("VEVENT", "VTODO") and key in _OF_INVITATIONS:
                zone = _ZONE.search(name)
                words = _MOMENT.sub(_written_moment, value) if key in _MOMENTS else value
                words = _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], words)
                self._collector.put(f"{_OF_INVITATIONS[key]}: {' '.join(words.split())}{f' ({zone[1]})' if zone else ''}\n")
        self._put_file(part, "text/calendar")

    def _put_file(self, part: Message, kind: str) -> None:
        if part.get("Content-ID") and part.get_content_maintype() == "image":
            self._collector.count(UnreadThing.PICTURE)
            return
        name = _header(part.get_filename() or "") or "without a name"
        size = len(_payload(part))
        self._collector.put(f"{mark('Attached file', f'{name}, {kind}, {sized(size)}')}\n")


def _written_moment(found: re.Match[str]) -> str:
    year, month, day, hour, minute, zone = found.groups()
    return f"{year}-{month}-{day}" + (f" {hour}:{minute}{' UTC' if zone else ''}" if hour else "")


def sized(size: int) -> str:
    """A size for a mark."""
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _parts(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [each for each in payload if not isinstance(each, str)] if isinstance(payload, list) else []


def _is_file(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _payload(part: Message) -> bytes:
    with contextlib.suppress(ValueError, LookupError, TypeError):
        found = part.get_payload(decode=True)
        return found if isinstance(found, bytes) else b""
    return b""


def _text_of(part: Message) -> str:
    data = _payload(part)
    named = part.get_content_charset() or ""
    if part.get_content_type() == "text/html" and not named:
        named = html.encoding_of(data)
    codec = _codec(named)
    return data.decode(codec, "replace") if codec and codec != "ascii" else encodings.decoded(data, len(data)).text


def _codec(name: str) -> str:
    """The encoding of a mail, if the web has it."""
    return html.encoding_named(name)


def _raw_values(message: Message, name: str) -> list[str]:
    """The values of a header as they stand in the mail: bytes beyond ASCII are kept as they are."""
    return [value for key, value in message.raw_items() if key.lower() == name.lower()]


def _header(value: object) -> str:
    """A header's value in words: parts of it may be encoded."""
    return " ".join("".join(_decoded(str(value)[:_MAX_HEADER_CHARS])).split())


def _decoded(value: str) -> Iterator[str]:
    from email.header import decode_header

    try:
        pieces = decode_header(value)
    except (ValueError, LookupError):
        pieces = [(value, None)]
    for piece, charset in pieces:
        if isinstance(piece, str) or (charset or "").lower() == "unknown-8bit":
            raw = piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece
            yield encodings.decoded(raw, len(raw)).text
        else:
            codec = _codec(charset or "")
            yield piece.decode(codec, "replace") if codec else encodings.decoded(piece, len(piece)).text
