"""Reads what lies on a PDF page beside its own text: links, comments, typed-on text, struck-out places and the values of forms."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from chatui.documents.inside.marks import URL_CHARS, linked, mark
from chatui.documents.inside.pdf_page import Box, DrawnText, inside, plain
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.kinds import HiddenPart, UnreadThing

MAX_NOTES = 5000
_HIDDEN_FLAGS = 1 << 1 | 1 << 5
"""Hidden, and not to be viewed."""
_BUTTON, _RADIO, _PASSWORD = 1 << 16, 1 << 15, 1 << 13
_SIZE = 10.0
_MEDIA = ("/Movie", "/Sound", "/Screen", "/RichMedia", "/3D")
_PLAIN = ("/Popup", "/TrapNet", "/PrinterMark")
_SHAPES = (
    "/Line",
    "/Square",
    "/Circle",
    "/Polygon",
    "/PolyLine",
    "/Ink",
    "/Highlight",
    "/Underline",
    "/Squiggly",
    "/Caret",
    "/Text",
    "/StrikeOut",
)
"""Kinds of annotations that say nothing without a comment."""
_COMMENTS = {"/FreeText": "Written on the page"}
_FAULTS = (TypeError, ValueError, KeyError, IndexError, AttributeError)


@dataclass(slots=True)
class Notes:
    """The annotations of a page."""

    pieces: list[DrawnText]
    """Those of the page, where links, struck-out places and values of forms have their places."""
    collector: TextCollector
    is_off: Any
    marks: list[str] = field(default_factory=list)
    """What has no place in the page's text."""

    def read(self, page: Any) -> None:
        """Read the annotations."""
        found = plain(page.get("/Annots"))
        for reference in itertools.islice(found if isinstance(found, list) else (), MAX_NOTES):
            with contextlib.suppress(*_FAULTS):
                self._read(plain(reference))
        if isinstance(found, list) and len(found) > MAX_NOTES:
            self.collector.count(UnreadThing.OTHER, len(found) - MAX_NOTES)

    def _read(self, note: Any) -> None:
        kind = note.get("/Subtype")
        if kind in _PLAIN or self.is_off(note.raw_get("/OC") if "/OC" in note else None):
            return
        if int(note.get("/F", 0)) & _HIDDEN_FLAGS:
            if _text(note.get("/Contents")) or (kind == "/Widget" and _text(_inherited(note, "/V"))):
                self.collector.leave_out(HiddenPart.TEXT, "")
            return
        if kind == "/Link":
            self._link(note)
        elif kind == "/Widget":
            self._field(note)
        else:
            self._comment(str(kind), note)

    def _comment(self, kind: str, note: Any) -> None:
        text, author = _text(note.get("/Contents")), _text(note.get("/T"))
        if kind == "/StrikeOut":
            for piece in (piece for box in _quads(note) for piece in self._within(box)):
                piece.is_struck = True
        if kind in _MEDIA:
            self.collector.count(UnreadThing.MEDIA)
        elif kind == "/FileAttachment":
            self.marks.append(mark("Attached file", name_of(plain(note.get("/FS")))))
        elif kind == "/Stamp":
            self.marks.append(mark("Stamp", text or str(note.get("/Name", "")).lstrip("/")))
        elif text:
            self.marks.append(mark(_COMMENTS.get(kind) or (f"Comment by {author}" if author else "Comment"), text))
        elif kind not in _SHAPES:
            self.collector.count(UnreadThing.OTHER)

    def _link(self, note: Any) -> None:
        action = plain(note.get("/A"))
        if action is None or action.get("/S") in ("/GoTo", "/Named"):
            return
        address = _text(action.get("/URI"))[:URL_CHARS]
        if action.get("/S") != "/URI" or not address:
            self.collector.count(UnreadThing.LINK)
            return
        boxes = list(_quads(note)) or [_box(note)]
        pieces = [piece for box in boxes for piece in self._within(box)]
        for piece in pieces:
            piece.address = address
        if not pieces:
            self.marks.append(linked("", address))

    def _within(self, box: Box) -> list[DrawnText]:
        """The pieces in a box. Those that reach beyond it are cut at its ends."""
        pieces: list[DrawnText] = []
        number = 0
        while number < len(self.pieces):
            piece = self.pieces[number]
            ends = (box[0], box[2]) if piece.direction in (0, 2) else (box[1], box[3])
            low, high = ends if piece.direction in (0, 1) else (-ends[1], -ends[0])
            middles = [(a + b) / 2 for a, b in itertools.pairwise([piece.start, *piece.ends])]
            inner = [at for at, middle in enumerate(middles) if low <= middle <= high]
            if inner and inside(*replace(piece, base=piece.base + piece.size / 4).point(middles[inner[0]]), box):
                if inner[-1] + 1 < len(middles):
                    self.pieces[number : number + 1] = piece.cut(inner[-1] + 1)
                if inner[0]:
                    self.pieces[number : number + 1] = self.pieces[number].cut(inner[0])
                    number += 1
                pieces.append(self.pieces[number])
            number += 1
        return pieces

    def _field(self, note: Any) -> None:
        """Write the value of a form's field at its place."""
        kind, flags = _inherited(note, "/FT"), int(_inherited(note, "/Ff") or 0)
        box = _box(note)
        name = _text(_inherited(note, "/TU")) or _text(_inherited(note, "/T"))
        if kind == "/Btn":
            if not flags & _BUTTON:
                state = note.get("/AS", _inherited(note, "/V"))
                sign = "☐" if state in (None, "/Off") else "☒"
                beside = self._beside(box)
                self._place(sign if beside else f"{sign} {name}", box)
        elif kind == "/Sig":
            if (signed := plain(_inherited(note, "/V"))) is not None:
                self._place(mark("Signature", _text(signed.get("/Name")) or name), box)
        elif kind in ("/Tx", "/Ch"):
            value = _inherited(note, "/V")
            shown = "[a password]" if kind == "/Tx" and flags & _PASSWORD and _text(value) else ", ".join(_values(note, value))
            self._place(shown, box)
        else:
            self.collector.count(UnreadThing.FIELD)

    def _beside(self, box: Box) -> bool:
        """Whether there is text on the line of a box, near it."""
        reach = 3 * max(box[3] - box[1], _SIZE)
        return any(
            each.direction == 0
            and box[1] - 3 <= each.base + each.size / 4 <= box[3] + 3
            and each.end > box[0] - reach
            and each.start < box[2] + reach
            for each in self.pieces
        )

    def _place(self, text: str, box: Box) -> None:
        words = " ".join(text.split())
        if not words:
            return
        near = [each for each in self.pieces if each.direction == 0 and box[1] - 2 <= each.base <= box[3] and each.start < box[2]]
        beside = min(near, key=lambda each: abs(box[0] - each.end), default=None)
        size = beside.size if beside else min(max((box[3] - box[1]) * 0.7, 4), _SIZE)
        base = beside.base if beside else box[1] + (box[3] - box[1] - size) / 2
        width = max(box[2] - box[0], 1)
        ends = [box[0] + width * (at + 1) / len(words) for at in range(len(words))]
        self.pieces.append(DrawnText(words, box[0], ends[-1], base, size, ends))


def name_of(file: Any) -> str:
    """The name of a file in the document."""
    if isinstance(file, str):
        return file
    return (_text(file.get("/UF")) or _text(file.get("/F"))) if file is not None else ""


def _values(note: Any, value: Any) -> Iterator[str]:
    """The values of a field as they are shown: a list may have other words for what it stores."""
    options: dict[str, str] = {}
    for each in plain(_inherited(note, "/Opt")) or ():
        pair = plain(each)
        if isinstance(pair, list) and len(pair) > 1:
            options[_text(pair[0])] = _text(pair[1])
    found = plain(value)
    for each in found if isinstance(found, list) else [found]:
        text = _text(each)
        yield options.get(text, text)


def _inherited(note: Any, name: str) -> Any:
    """A value of a field, or of the fields that it is in."""
    for _ in range(32):
        if note is None or name in note:
            break
        note = plain(note.get("/Parent"))
    return None if note is None else note.get(name)


def _text(value: Any) -> str:
    found = plain(value) if hasattr(value, "get_object") else value
    if isinstance(found, bytes):
        return found.decode("latin-1")
    if isinstance(found, str):
        return str(found).lstrip("/") if type(found).__name__ == "NameObject" else str(found)
    data = getattr(found, "get_data", None)
    return data().decode("utf-8", "replace") if data is not None else ""


def _box(note: Any) -> Box:
    a, b, c, d = (float(each) for each in plain(note["/Rect"]))
    return min(a, c), min(b, d), max(a, c), max(b, d)


def _quads(note: Any) -> Iterable[Box]:
    """The boxes of an annotation of several lines."""
    points = [float(each) for each in plain(note.get("/QuadPoints")) or ()]
    for at in range(0, len(points) - 7, 8):
        xs, ys = points[at : at + 8 : 2], points[at + 1 : at + 8 : 2]
        yield min(xs), min(ys), max(xs), max(ys)
