"""Walks through the drawing instructions of a PDF page, and finds each piece of text with its place.

``pypdf`` parses the file, its streams and its fonts; what it knows of places is not enough for tables, raised digits, links and layers.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import hypot
from typing import Any

from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.kinds import HiddenPart, UnreadThing

Matrix = tuple[float, float, float, float, float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right and top."""

IDENTITY: Matrix = (1, 0, 0, 1, 0, 0)
_MAX_FORMS = 2000
_MAX_DEPTH = 20
_MAX_PIECES = 400_000
_FAULTS = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, ZeroDivisionError)
"""What wrong operands raise. That instruction is skipped, as by programs that show the file."""
_INVISIBLE = (3, 7)
"""Ways to draw text that draw nothing. Recognized text of scans lies over the picture in this way."""
_SCAN_SHARE = 0.5
"""The least share of the page that a picture covers if it is a scan."""
_DOT_SHARE = 0.001
"""Smaller pictures are lines and dots."""


@dataclass(slots=True)
class DrawnText:
    """A text that was drawn at once. Lengths are in points."""

    text: str
    start: float
    """Where it begins, along its line."""
    end: float
    """Where it ends, along its line."""
    base: float
    """The height of its line, upwards."""
    size: float
    ends: list[float]
    """Where each of its characters ends."""
    direction: int = 0
    """In which direction the line runs, in quarter turns to the left: 0 is to the right, 1 upwards."""
    level: int = 0
    """1 if it is raised, -1 if it is lowered."""
    is_invisible: bool = False
    is_struck: bool = False
    address: str = ""

    def point(self, along: float) -> tuple[float, float]:
        """A point of its line on the page."""
        return {0: (along, self.base), 1: (-self.base, along), 2: (-along, -self.base), 3: (self.base, -along)}[self.direction]

    def cut(self, at: int) -> tuple[DrawnText, DrawnText]:
        """The piece in two, before the character ``at``."""
        where = self.ends[at - 1]
        left = DrawnText(self.text[:at], self.start, where, self.base, self.size, self.ends[:at], self.direction, self.level)
        right = DrawnText(self.text[at:], where, self.end, self.base, self.size, self.ends[at:], self.direction, self.level)
        for each in (left, right):
            each.is_invisible, each.is_struck, each.address = self.is_invisible, self.is_struck, self.address
        return left, right


def times(a: Matrix, b: Matrix) -> Matrix:
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    )


@dataclass(slots=True)
class _State:
    """The graphics state, as far as text depends on it."""

    matrix: Matrix = IDENTITY
    font: Any = None
    size: float = 0
    spacing: float = 0
    word_spacing: float = 0
    scale: float = 1
    leading: float = 0
    rise: float = 0
    mode: int = 0

    def copy(self) -> _State:
        return _State(*(getattr(self, name) for name in self.__slots__))


@dataclass(slots=True)
class _Marked:
    """Marked content."""

    is_off: bool = False
    """Whether it is in a layer that is off."""
    text: str | None = None
    """Replaces the pieces from ``first`` on."""
    first: int = 0


@dataclass(slots=True)
class Fonts:
    """The fonts of a document by their places in the file, so that each is read once."""

    known: dict[Any, Any] = field(default_factory=dict)

    def of(self, resources: Any) -> dict[str, Any]:
        """The fonts of a page or a form by their names there."""
        from pypdf.generic._font import Font

        fonts: dict[str, Any] = {}
        with contextlib.suppress(*_FAULTS):
            for name, reference in (plain(resources.get("/Font")) or {}).items():
                key = (getattr(reference, "idnum", None), getattr(reference, "generation", None))
                # A font that stands in the resources themselves has no key, so each of them is read.
                if key == (None, None) or key not in self.known:
                    font = None
                    with contextlib.suppress(*_FAULTS):
                        font = Font.from_font_resource(plain(reference))
                        _set_predefined_encoding(font, plain(reference))
                    self.known[key] = font
                fonts[name] = self.known[key]
        return fonts


def plain(value: Any) -> Any:
    """An object of a PDF, not the reference to it."""
    return None if value is None else value.get_object()


@dataclass(slots=True)
class Drawn:
    """What is drawn on a page. ``boxes``: those of its pictures."""

    pieces: list[DrawnText] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)


@dataclass(slots=True)
class Walker:
    """Walks through one page."""

    reader: Any
    collector: TextCollector
    fonts: Fonts
    off: Collection[tuple[int, int]]
    """The layers that are off, by their places in the file."""
    pictures: set[Any]
    """The pictures of the document that were counted."""
    layers: set[Any]
    page_box: Box
    drawn: Drawn = field(default_factory=Drawn)
    _state: _State = field(default_factory=_State)
    _stack: list[_State] = field(default_factory=list)
    _text: Matrix = IDENTITY
    _line: Matrix = IDENTITY
    _marked: list[_Marked] = field(default_factory=list)
    _off: int = 0
    _forms: int = 0
    _seen: set[tuple[str, int, int]] = field(default_factory=set)

    def walk(self, content: Any, resources: Any, depth: int = 0) -> None:
        """Follow the instructions of a page or a form. Raises what ``pypdf`` does for a broken stream."""
        from pypdf.generic import ContentStream

        fonts = self.fonts.of(resources)
        stream = content if isinstance(content, ContentStream) else ContentStream(content, self.reader, "bytes")
        for operands, operator in stream.operations:
            with contextlib.suppress(*_FAULTS):
                if operator == b"Do":
                    self._do(operands[0], resources, depth)
                elif operator == b"Tf":
                    self._state.font, self._state.size = fonts.get(operands[0]), float(operands[1])
                elif operator in (b"BDC", b"BMC"):
                    self._begin_marked(operands, resources)
                elif (use := _USES.get(operator)) is not None:
                    use(self, operands)
            if len(self.drawn.pieces) > _MAX_PIECES:
                return

    def _do(self, name: Any, resources: Any, depth: int) -> None:
        drawn = plain(plain(resources.get("/XObject"))[name])
        if self.is_off(drawn.get("/OC")):
            return
        if drawn.get("/Subtype") == "/Image":
            self._picture(drawn)
        elif drawn.get("/Subtype") == "/Form" and depth < _MAX_DEPTH and self._forms < _MAX_FORMS:
            self._forms += 1
            before, stack, text, line, marked = self._state.copy(), self._stack, self._text, self._line, len(self._marked)
            self._stack = []
            matrix = drawn.get("/Matrix")
            if matrix is not None and len(matrix) == 6:
                self._state.matrix = times(_matrix(matrix), self._state.matrix)
            try:
                self.walk(drawn, plain(drawn.get("/Resources")) or resources, depth + 1)
            finally:
                self._state, self._stack, self._text, self._line = before, stack, text, line
                while len(self._marked) > marked:
                    self.end_marked([])

    def _picture(self, drawn: Any) -> None:
        if self._off:
            return
        corners = [times((1, 0, 0, 1, x, y), self._state.matrix)[4:] for x, y in ((0, 0), (0, 1), (1, 0), (1, 1))]
        box = (min(x for x, _ in corners), min(y for _, y in corners), max(x for x, _ in corners), max(y for _, y in corners))
        self.drawn.boxes.append(box)
        reference = getattr(drawn, "indirect_reference", None)
        key = (reference.idnum, reference.generation) if reference is not None else len(self.pictures)
        if key not in self.pictures and share(box, self.page_box) > _DOT_SHARE:
            self.pictures.add(key)
            self.collector.count(UnreadThing.PICTURE)

    def inline_picture(self, operands: list[Any]) -> None:
        self._picture(object())

    def _begin_marked(self, operands: list[Any], resources: Any) -> None:
        tag, *more = operands
        marked = _Marked(first=len(self.drawn.pieces))
        self._marked.append(marked)
        properties = more[0] if more else None
        if isinstance(properties, str):
            named = (plain(resources.get("/Properties")) or {}).get(properties) if hasattr(resources, "get") else None
            if tag == "/OC":
                marked.is_off = self.is_off(named)
            properties = plain(named)
        if marked.is_off:
            self._off += 1
        if properties is not None and "/ActualText" in properties:
            marked.text = str(properties["/ActualText"])

    def is_off(self, layer: Any) -> bool:
        """Whether content of a layer, or of several with a rule, is not shown."""
        if layer is None:
            return False
        found = plain(layer)
        if found.get("/Type") != "/OCMD":
            is_off = _key(layer) in self.off
            if is_off and _key(layer) not in self.layers:
                self.layers.add(_key(layer))
                self.collector.count(UnreadThing.LAYER)
            return is_off
        groups = found.get("/OCGs")
        groups = [] if groups is None else plain(groups) if isinstance(plain(groups), list) else [groups]
        states = [self.is_off(each) for each in itertools.islice(groups, 1000)]
        rule = found.get("/P", "/AnyOn")
        is_shown = {"/AllOn": not any(states), "/AnyOff": any(states), "/AllOff": all(states)}.get(rule, not all(states))
        return bool(states) and not is_shown

    def end_marked(self, operands: list[Any]) -> None:
        if not self._marked:
            return
        marked = self._marked.pop()
        self._off -= marked.is_off
        inside = self.drawn.pieces[marked.first :]
        if marked.text is not None and inside:
            first, last = inside[0], inside[-1]
            ends = [first.start + (last.end - first.start) * (n + 1) / len(marked.text) for n in range(len(marked.text))]
            first.text, first.end, first.ends = marked.text, last.end, ends
            self.drawn.pieces[marked.first :] = [first] if marked.text else []

    def save(self, operands: list[Any]) -> None:
        if len(self._stack) < 1000:
            self._stack.append(self._state.copy())

    def restore(self, operands: list[Any]) -> None:
        if self._stack:
            self._state = self._stack.pop()

    def transform(self, operands: list[Any]) -> None:
        self._state.matrix = times(_matrix(operands), self._state.matrix)

    def begin_text(self, operands: list[Any]) -> None:
        self._text = self._line = IDENTITY

    def set_matrix(self, operands: list[Any]) -> None:
        self._text = self._line = _matrix(operands)

    def move(self, operands: list[Any]) -> None:
        self._line = times((1, 0, 0, 1, float(operands[0]), float(operands[1])), self._line)
        self._text = self._line

    def move_and_lead(self, operands: list[Any]) -> None:
        self._state.leading = -float(operands[1])
        self.move(operands)

    def next_line(self, operands: list[Any]) -> None:
        self.move([0, -self._state.leading])

    def show_on_next_line(self, operands: list[Any]) -> None:
        self.next_line([])
        self.show(operands[-1:])

    def show_spaced(self, operands: list[Any]) -> None:
        self._state.word_spacing, self._state.spacing = float(operands[0]), float(operands[1])
        self.show_on_next_line(operands)

    def show_parts(self, operands: list[Any]) -> None:
        for each in operands[0]:
            if isinstance(each, (int, float)):
                shift = -float(each) / 1000 * self._state.size * self._state.scale
                self._text = times((1, 0, 0, 1, shift, 0), self._text)
            else:
                self.show([each])

    def show(self, operands: list[Any]) -> None:
        """Draw a text: add it to the pieces, unless it is in a layer that is off, and move on."""
        state = self._state
        data = operands[0] if isinstance(operands[0], bytes) else operands[0].original_bytes
        start = times((1, 0, 0, 1, 0, state.rise), times(self._text, state.matrix))
        text, advances, moved = [], [], 0.0
        for sign, width, is_space in _glyphs(state.font, data):
            moved += (width / 1000 * state.size + state.spacing + state.word_spacing * is_space) * state.scale
            text.append(sign)
            advances += [moved] * len(sign)
        self._text = times((1, 0, 0, 1, moved, 0), self._text)
        if state.font is None or _is_unknown(state.font):
            self.collector.count(UnreadThing.CHARACTER, len(text))
        elif not self._off and text:
            self._add("".join(text), start, advances)

    def _add(self, text: str, start: Matrix, advances: list[float]) -> None:
        state = self._state
        stretch, height = hypot(start[0], start[1]), hypot(start[2], start[3])
        direction = (0 if start[0] > 0 else 2) if abs(start[0]) >= abs(start[1]) else (1 if start[1] > 0 else 3)
        x, y = start[4], start[5]
        along, base = {0: (x, y), 1: (y, -x), 2: (-x, -y), 3: (-y, x)}[direction]
        level = 0 if not state.rise else 1 if state.rise > 0 else -1
        ends = [along + each * stretch for each in advances]
        place = (text, round(along), round(base))
        # Some programs draw text twice to make it bold.
        if place not in self._seen and text.strip("\0"):
            self._seen.add(place)
            piece = DrawnText(text, along, ends[-1] if ends else along, base, abs(state.size) * height or 1, ends, direction, level)
            piece.is_invisible = state.mode in _INVISIBLE
            self.drawn.pieces.append(piece)


def visible(drawn: Drawn, box: Box, collector: TextCollector) -> list[DrawnText]:
    """The pieces that people see, or that were recognized in a scan. That others were left out is noted."""
    scans = [each for each in drawn.boxes if share(each, box) >= _SCAN_SHARE]
    found = []
    for piece in drawn.pieces:
        places = [piece.point(along) for along in ((piece.start + piece.end) / 2, piece.start, piece.end)]
        is_scanned = any(inside(*places[0], each) for each in scans)
        if any(inside(x, y, box, margin=piece.size) for x, y in places) and (is_scanned or not piece.is_invisible):
            found.append(piece)
        elif piece.text.strip():
            collector.leave_out(HiddenPart.TEXT, "")
    return found


def inside(x: float, y: float, box: Box, margin: float = 0) -> bool:
    return box[0] - margin <= x <= box[2] + margin and box[1] - margin <= y <= box[3] + margin


def share(box: Box, of: Box) -> float:
    """How much of a box another one covers."""
    width = max(0.0, min(box[2], of[2]) - max(box[0], of[0]))
    height = max(0.0, min(box[3], of[3]) - max(box[1], of[1]))
    area = (of[2] - of[0]) * (of[3] - of[1])
    return width * height / area if area > 0 else 0


def _glyphs(font: Any, data: bytes) -> Iterator[tuple[str, float, bool]]:
    """Each character of a drawn text, with its width in thousandths of the size, and whether it is a space of one byte."""
    if font is None:
        yield from (("\ufffd", 500, False) for _ in data)
        return
    widths: Mapping[str, float] = font.character_widths
    default = widths.get("default", 500)
    mapped: Callable[[str, str], str] = font.character_map.get
    if isinstance(font.encoding, dict):
        for code in data:
            raw = chr(code)
            sign = font.encoding.get(code, raw)
            width = font.space_width if raw == font.space_char else widths.get(raw, default)
            yield mapped(sign, sign), float(width), code == 0x20
    else:
        for raw in data.decode(font.encoding, "surrogatepass" if font.encoding.startswith("utf") else "replace"):
            yield mapped(raw, raw), float(widths.get(raw, default)), False


_CODE_MAPS = (
    ("Uni-UCS2 Uni-UTF16", "utf-16-be"),
    ("Uni-UTF32", "utf-32-be"),
    ("KSC-EUC KSCms-UHC KSCpc-EUC", "cp949"),
    ("90ms-RKSJ 90msp-RKSJ 90pv-RKSJ 83pv-RKSJ Add-RKSJ Ext-RKSJ", "cp932"),
    ("EUC-H EUC-V", "euc_jp"),
    ("GBK-EUC GBKp-EUC GB-EUC GBpc-EUC GBK2K-", "gb18030"),
    ("ETen-B5 ETenms-B5 B5pc HKscs-B5", "big5hkscs"),
)
"""How the names of predefined maps begin (ISO 32000-2, table 116) without the language after ``Uni``, and the encoding of their codes."""


def _set_predefined_encoding(font: Any, resource: Any) -> None:
    """Set the encoding of a composite font without a map of its own, if its codes are in one that the format predefines, as in Chinese,
    Japanese and Korean text without fonts. Otherwise its codes are numbers of glyphs, and its text cannot be read."""
    if font.character_map or resource.get("/Subtype") != "/Type0":
        return
    name = re.sub(r"\AUni[A-Z]{2,3}2?", "Uni", str(resource.get("/Encoding")).removeprefix("/"))
    codec = next((codec for beginnings, codec in _CODE_MAPS if any(map(name.startswith, beginnings.split()))), "")
    font.encoding = codec or font.encoding
    font.interpretable = font.interpretable and bool(codec)


def _is_unknown(font: Any) -> bool:
    """Whether a font does not say which characters its glyphs are."""
    return not font.interpretable


def _matrix(operands: Any) -> Matrix:
    a, b, c, d, e, f = (float(each) for each in operands[:6])
    return (a, b, c, d, e, f)


def _key(reference: Any) -> Any:
    found = reference if hasattr(reference, "idnum") else getattr(reference, "indirect_reference", None)
    return (found.idnum, found.generation) if found is not None else None


def _sets(name: str, divisor: float = 1) -> Callable[[Walker, list[Any]], None]:
    def use(walker: Walker, operands: list[Any]) -> None:
        setattr(walker._state, name, float(operands[0]) / divisor)

    return use


_USES: Mapping[bytes, Callable[[Walker, list[Any]], None]] = {
    b"q": Walker.save,
    b"Q": Walker.restore,
    b"cm": Walker.transform,
    b"BT": Walker.begin_text,
    b"Tm": Walker.set_matrix,
    b"Td": Walker.move,
    b"TD": Walker.move_and_lead,
    b"T*": Walker.next_line,
    b"Tj": Walker.show,
    b"TJ": Walker.show_parts,
    b"'": Walker.show_on_next_line,
    b'"': Walker.show_spaced,
    b"EMC": Walker.end_marked,
    b"INLINE IMAGE": Walker.inline_picture,
    b"Tc": _sets("spacing"),
    b"Tw": _sets("word_spacing"),
    b"Tz": _sets("scale", 100),
    b"TL": _sets("leading"),
    b"Ts": _sets("rise"),
    b"Tr": _sets("mode"),
}
