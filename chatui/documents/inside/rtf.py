"""Reads an RTF document: its text with tables, links, notes, comments, and what is raised, lowered or struck out.

The format is a tree of groups with control words. Whatever is in a group of an unknown kind that programs may skip counts, if it has text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from chatui.documents.inside import symbols
from chatui.documents.inside.marks import PLAIN, Look, Runs, mark
from chatui.documents.inside.rtf_tables import MAX_COLUMNS, MAX_ROWS, RtfTable
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing
from chatui.documents.limits import MAX_GROUPS

_TOKEN = re.compile(rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\", re.DOTALL)
_MAX_SKIPPED = 100
_CHARSETS = {
    **dict.fromkeys((0, 1), "cp1252"),
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    134: "gbk",
    136: "big5",
    163: "cp1258",
    204: "cp1251",
    2: "latin-1",
    222: "cp874",
    238: "cp1250",
    161: "cp1253",
    162: "cp1254",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
}
"""The encodings of the character sets of fonts."""
_PAGES = (
    "437",
    "708",
    "850",
    "852",
    "860",
    "862",
    "863",
    "864",
    "865",
    "866",
    "874",
    "932",
    "936",
    "949",
    "950",
    *map(str, range(1250, 1259)),
)
_SIGNS = {
    **dict.fromkeys(("par", "line", "page", "sect", "column"), "\n"),
    **dict.fromkeys(("emspace", "enspace", "qmspace"), " "),
    "tab": "\t",
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
}
_GROUPS = """
fonttbl colortbl stylesheet info generator listtable listoverridetable rsidtbl themedata colorschememapping latentstyles datastore
xmlnstbl mmathPr pgptbl listtext pntext pnseclvl pn revtbl userprops filetbl panose falt fontemb blipuid nonshppict bkmkstart bkmkend
shprslt nonesttables atrfstart atrfend atnid atndate atnref atntime datafield docvar wgrffmtfilter passwordhash ftnsep ftnsepc aftnsep
aftnsepc aftncn ftncn tc xe do expshrtn ebcstart defchp defpap oldcprops oldpprops oldtprops oldsprops protusertbl staticval propname
template fldtype private listname levelmarker pgdsctbl updnprop
"""
_PLAIN = frozenset(_GROUPS.split()) - {"listtext", "pntext"}
"""Groups that say only how something looks or was made, or that repeat what is shown elsewhere."""
_COUNTED = {"object": UnreadThing.FILE, "ffname": UnreadThing.FIELD}
_MARGINS = {
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "Header"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "Footer"),
}
_HELD = ("footnote", "annotation", *_MARGINS)
"""Groups whose text has another place than where they stand."""
_SHOWN = frozenset(["shpinst", "shptxt", "fldrslt", "result", "nesttableprops", "shppict"])
_CODES = re.compile(r"[0-9a-fA-F\s;]+")
_ESCAPED = {b"~": "\xa0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}", b"\n": "\n", b"\r": "\n"}
_ADDRESS = re.compile(r'HYPERLINK\s+"([^"]+)"')


def prepare(data: bytes) -> None:
    for name in {*_CHARSETS.values(), *(f"cp{page}" for page in _PAGES), "cp1252"}:
        try:
            codecs.lookup(name)
        except LookupError:
            continue


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnreadableFileError(NoTextReason.BROKEN)
    collector.begin()
    reader = _Reader(collector)
    at = 0
    while token := _TOKEN.match(data, at):
        reader.take(token)
        # What follows this word is no text, whatever it looks like.
        at = token.end() + (min(int(token[2] or 0), len(data)) if token[1] == b"bin" and not (token[2] or b"").startswith(b"-") else 0)
    reader.end()


@dataclass(frozen=True, slots=True)
class _State:
    """What holds in a group."""

    kind: str = ""
    """What the group is; empty for text."""
    look: Look = PLAIN
    is_hidden: bool = False
    is_deleted: bool = False
    codec: str = "cp1252"
    font: int = -1
    skip: int = 1
    """How many characters follow one that Unicode gives."""
    is_nested: bool = False


class _Reader:
    """Writes a document. ``_held``: the groups whose text is held until they end."""

    def __init__(self, collector: TextCollector) -> None:
        self._collector = collector
        self._runs = Runs(collector)
        self._state = _State()
        self._stack: list[_State] = []
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._codec = "cp1252"
        self._bytes = bytearray()
        self._to_skip = 0
        self._is_optional = False
        self._instruction: list[str] = []
        self._notes: list[str] = []
        self._margins: dict[str, None] = {}
        self._author = ""
        self._font_names: dict[int, str] = {}
        self._row: list[str] = []
        self._table = RtfTable()
        self._property = ["", ""]
        self._alt = ""
        self._is_in_table = False
        self._is_outside = False
        self._is_unknown = False
        self._has_changed = False
        self._high = 0

    def take(self, token: re.Match[bytes]) -> None:
        """Take a control word, a sign, a bracket or text."""
        word, number, code, sign, bracket, text = token.groups()
        if code is not None or text is not None:
            found = text if code is None else bytes([int(code, 16)])
            self._bytes += found[self._to_skip :]
            self._to_skip = max(0, self._to_skip - len(found))
            return
        self._flush()
        if bracket == b"{":
            self._open()
        elif bracket == b"}":
            self._close()
        elif word is not None:
            self._word(word.decode("ascii"), None if number is None else int(number))
        elif sign == b"*":
            self._is_optional = True
        elif sign is not None:
            self._put(_ESCAPED.get(sign, ""))

    def end(self) -> None:
        self._flush()
        while self._stack:
            self._close()
        self._end_row()
        self._end_table()
        self._runs.end()
        for each in (*self._notes, *self._margins):
            self._collector.put(f"\n{each}")
        self._collector.count(UnreadThing.CHANGE, int(self._has_changed))

    def _open(self) -> None:
        if len(self._stack) >= MAX_GROUPS:
            raise UnreadableFileError(NoTextReason.GROUPS)
        self._stack.append(self._state)
        # What a group is, is said in it; groups in a group that is skipped are skipped with it.
        self._state = replace(self._state, kind=self._state.kind if self._state.kind in _NOT_TEXT else "")
        self._is_optional = False

    def _close(self) -> None:
        if not self._stack:
            return
        kind, outer = self._state.kind, self._stack.pop()
        if kind != outer.kind or (kind and kind not in _NOT_TEXT):
            self._end_of(kind)
        self._state = outer
        self._to_skip = 0

    def _end_of(self, kind: str) -> None:
        if kind == "field":
            self._runs.end_link()
        elif kind == "fldinst":
            found = _ADDRESS.search("".join(self._instruction))
            self._instruction.clear()
            self._runs.begin_link(found[1] if found else "")
        elif kind in _HELD:
            self._end_of_held(kind, " ".join(self._runs.release().split()))
        elif kind == "sp":
            self._end_of_property(*self._property)
        elif kind == "pict":
            self._put_picture()
        elif kind == "unknown" and self._is_unknown:
            self._collector.count(UnreadThing.OTHER)
            self._is_unknown = False

    def _end_of_property(self, name: str, value: str) -> None:
        """A drawing has its words, its picture and its description as properties."""
        if name == "gtextUNICODE" and value.strip():
            self._put_in(self._shown_outside(), f"{value.strip()} ")
        elif name == "wzDescription" and any(each.kind == "pict" for each in self._stack):
            self._alt = value
        elif name == "wzDescription" and value.strip():
            self._put_in(self._shown_outside(), mark("Picture", value))
        self._property = ["", ""]

    def _shown_outside(self) -> _State:
        """What holds around the drawing whose properties are read."""
        return next((each for each in reversed(self._stack) if each.kind not in _NOT_TEXT), _State())

    def _put_picture(self) -> None:
        alt, self._alt = self._alt.strip(), ""
        if alt:
            self._put_in(self._shown_outside(), mark("Picture", alt))
        else:
            self._collector.count(UnreadThing.PICTURE)

    def _end_of_held(self, kind: str, text: str) -> None:
        if kind == "footnote":
            self._notes.append(f"[^{len(self._notes) + 1}]: {text}")
            self._runs.put(f"[^{len(self._notes)}]")
        elif kind == "annotation":
            self._runs.put(mark(f"Comment by {self._author}" if self._author else "Comment", text))
        elif text:
            self._margins[mark(_MARGINS[kind], text)] = None

    def _word(self, word: str, number: int | None) -> None:
        is_optional, self._is_optional = self._is_optional, False
        if self._to_skip and word != "u":
            self._to_skip -= 1
            return
        if self._begin_kind(word, is_optional):
            return
        if (sign := _SIGNS.get(word)) is not None:
            self._put(sign)
        elif (use := _WORDS.get(word)) is not None:
            use(self, number)

    def _begin_kind(self, word: str, is_optional: bool) -> bool:
        """Whether a word says what its group is."""
        if (found := self._kind_within(word)) is not None:
            return found
        if word in _PLAIN or word in ("sp", "pict", "upr"):
            self._state = replace(self._state, kind=word)
        elif word in _COUNTED:
            self._collector.count(_COUNTED[word])
            self._state = replace(self._state, kind="counted")
        elif word in _HELD:
            self._state = replace(self._state, kind=word, look=PLAIN)
            self._runs.hold()
        elif word in ("field", "fldinst", "atnauthor"):
            self._state = replace(self._state, kind=word)
            self._author = "" if word == "atnauthor" else self._author
        elif is_optional and word not in _SHOWN:
            self._state = replace(self._state, kind="unknown")
        else:
            return False
        return True

    def _kind_within(self, word: str) -> bool | None:
        """The same, of a word in a group that is not text; None if the group does not decide."""
        kind = self._state.kind
        if (word in _PROPERTIES and kind in _WITH_PROPERTIES) or (word == "pict" and kind == "sv"):
            self._state = replace(self._state, kind=word)
            return True
        if word == "ud" and kind == "upr":
            self._state = replace(self._state, kind="")
            return True
        if kind in _NOT_TEXT and kind != "fldinst" and word not in ("f", "fcharset") and not (kind == "sv" and word in ("u", "uc")):
            return word not in _WORDS_OF_FONTS
        return None

    def _flush(self) -> None:
        if self._bytes:
            data, self._bytes = bytes(self._bytes), bytearray()
            self._put(data.decode(self._state.codec, "replace"))

    def _put(self, text: str) -> None:
        state = self._state
        if state.kind == "fldinst":
            self._instruction.append(text)
        elif state.kind == "atnauthor":
            self._author = (self._author + text)[:_NAME_CHARS]
        elif state.kind == "fonttbl":
            self._font_names[self._font] = (self._font_names.get(self._font, "") + text)[:_NAME_CHARS]
        elif state.kind in ("sn", "sv"):
            at = state.kind == "sv"
            self._property[at] = (self._property[at] + text)[:_PROPERTY_CHARS]
        elif state.kind == "unknown":
            self._is_unknown |= len(text.strip()) > 1 and not _CODES.fullmatch(text)
        elif state.kind not in _NOT_TEXT:
            self._put_in(state, text)

    def _put_in(self, state: _State, text: str) -> None:
        """Write text in a place, unless that is hidden."""
        has_text = bool(text.strip())
        if state.is_deleted:
            self._has_changed |= has_text
        elif state.is_hidden and has_text:
            self._collector.leave_out(HiddenPart.TEXT, "")
        elif text and not state.is_hidden:
            font = self._font_names.get(state.font, "").partition(";")[0]
            self._write(symbols.shown(text, font, self._collector), state.look)

    def _write(self, text: str, look: Look) -> None:
        if self._is_outside and text.strip():
            self._end_row()
        if not self._is_in_table and text.strip():
            self._end_table()
        self._runs.put(" " if text == "\n" and self._is_in_table else text, look)

    def unicode(self, number: int | None) -> None:
        code = (number or 0) & 0xFFFF
        self._to_skip = self._state.skip
        if 0xD800 <= code < 0xDC00:
            self._high = code
            return
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((self._high - 0xD800) << 10) + (code - 0xDC00) if self._high else 0xFFFD
        self._high = 0
        self._put(chr(code))

    def cell(self, number: int | None) -> None:
        if self._is_in_table or not self._row:
            self._begin_table(None)
            self._row.append(_NESTED_END.sub(" /", " ".join(self._runs.release().split())))
            self._runs.hold()

    def nested_cell(self, number: int | None) -> None:
        """A table in a cell is on that cell's line."""
        if self._is_in_table:
            self._runs.put(" | ")

    def nested_row(self, number: int | None) -> None:
        if self._is_in_table:
            self._runs.put(" / ")

    def begin_row(self, number: int | None) -> None:
        if not self._state.is_nested:
            self._table.begin_row()

    def row_edge(self, number: int | None) -> None:
        if not self._state.is_nested:
            self._table.edges[0] = number or 0

    def edge(self, number: int | None) -> None:
        if not self._state.is_nested and len(self._table.edges) <= MAX_COLUMNS:
            self._table.edges.append(number or 0)

    def join(self, number: int | None) -> None:
        if not self._state.is_nested:
            self._table.continuing.add(len(self._table.edges) - 1)

    def nested(self, number: int | None) -> None:
        self._state = replace(self._state, is_nested=True)

    def _end_table(self) -> None:
        if self._table.rows:
            text, self._table = self._table.written(), RtfTable()
            self._runs.put(text)

    def _begin_table(self, number: int | None) -> None:
        self._is_outside = False
        if not self._is_in_table:
            self._is_in_table = True
            self._runs.hold()

    def row(self, number: int | None) -> None:
        self._end_row()

    def _end_row(self) -> None:
        self._is_outside = False
        if self._is_in_table:
            rest = " ".join(self._runs.release().split())
            row, self._row, self._is_in_table = [*self._row, *filter(None, [rest])], [], False
            if self._runs.is_held:
                # A table in a note or a header is on its line.
                self._runs.put("\t".join(row) + "\n")
                return
            self._table.add_row(row)
            if len(self._table.rows) >= MAX_ROWS:
                self._end_table()

    def plain(self, number: int | None) -> None:
        self._state = replace(self._state, look=PLAIN, is_hidden=False, is_deleted=False, font=-1)

    def paragraph(self, number: int | None) -> None:
        """The properties of a paragraph begin anew: its text is in no table unless they say so."""
        self._is_outside = self._is_in_table

    def font(self, number: int | None) -> None:
        self._font = number or 0
        if self._state.kind != "fonttbl":
            self._state = replace(self._state, codec=self._fonts.get(self._font, self._codec), font=self._font)

    def charset(self, number: int | None) -> None:
        self._fonts[self._font] = _CHARSETS.get(number or 0, self._codec) if number else self._codec

    def page(self, number: int | None) -> None:
        if str(number) in _PAGES:
            self._codec = f"cp{number}"
            self._state = replace(self._state, codec=self._codec)

    def look(self, level: int | None = None, struck: bool | None = None) -> None:
        look = self._state.look
        self._state = replace(self._state, look=Look(look.level if level is None else level, look.is_struck if struck is None else struck))

    def hide(self, number: int | None) -> None:
        self._state = replace(self._state, is_hidden=number != 0)

    def delete(self, number: int | None) -> None:
        self._state = replace(self._state, is_deleted=number != 0)

    def skip(self, number: int | None) -> None:
        self._state = replace(self._state, skip=min(max(number if number is not None else 1, 0), _MAX_SKIPPED))


_NOT_TEXT = _PLAIN | {"counted", "unknown", "fldinst", "atnauthor", "sp", "sn", "sv", "pict", "upr"}
_PROPERTIES = ("sp", "sn", "sv")
_WITH_PROPERTIES = ("", "sp", "pict", "picprop")
_NAME_CHARS, _PROPERTY_CHARS = 200, 4000
_NESTED_END = re.compile(r"(?: \|)? /")
_WORDS_OF_FONTS = ("f", "fcharset")
_WORDS: Mapping[str, Callable[[_Reader, int | None], None]] = {
    "u": _Reader.unicode,
    "uc": _Reader.skip,
    "ansicpg": _Reader.page,
    "f": _Reader.font,
    "fcharset": _Reader.charset,
    "plain": _Reader.plain,
    "pard": _Reader.paragraph,
    "intbl": _Reader._begin_table,
    "cell": _Reader.cell,
    "row": _Reader.row,
    "nestcell": _Reader.nested_cell,
    "nestrow": _Reader.nested_row,
    "nesttableprops": _Reader.nested,
    "trowd": _Reader.begin_row,
    "trleft": _Reader.row_edge,
    "cellx": _Reader.edge,
    "clmrg": _Reader.join,
    "super": lambda reader, number: reader.look(level=0 if number == 0 else 1),
    "sub": lambda reader, number: reader.look(level=0 if number == 0 else -1),
    "up": lambda reader, number: reader.look(level=0 if number == 0 else 1),
    "dn": lambda reader, number: reader.look(level=0 if number == 0 else -1),
    "nosupersub": lambda reader, number: reader.look(level=0),
    **dict.fromkeys(("strike", "striked"), lambda reader, number: reader.look(struck=number != 0)),
    "v": _Reader.hide,
    "deleted": _Reader.delete,
}
