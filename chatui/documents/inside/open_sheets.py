"""Reads an ODS workbook sheet by sheet, as people see it: an OpenDocument file has the text of each cell as its format shows it.

Repeated rows and cells are written as often as they are shown, within the limit of cells; empty ones cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatui.documents.inside import opendocument, xml
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.grid import MAX_CELL_CHARS, MAX_COLUMNS, MAX_GAP, Grid, MergedCells
from chatui.documents.inside.marks import Look, linked, mark
from chatui.documents.inside.sheets import NO_VALUE
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart, UnreadThing
from chatui.documents.limits import MAX_CELLS

_CONTENT = "content.xml"
_SHEETS = ("document-content", "body", "spreadsheet")
_MAX_ROWS = 1_048_576
KNOWN = KnownThings(
    read=frozenset(
        [
            *("a", "annotation", "covered-table-cell", "custom-shape", "desc", "frame", "g", "p", "rect", "shapes", "span", "table-cell"),
            *("table-column", "table-column-group", "table-columns", "table-header-columns", "table-header-rows", "table-row"),
            *(
                "table-row-group",
                "table-rows",
                "text-box",
                "title",
                "h",
                "list",
                "list-item",
                "ellipse",
                "caption",
                "s",
                "tab",
                "line-break",
            ),
        ]
    ),
    plain=frozenset(
        [
            *("calculation-settings", "conditional-formats", "content-validations", "cut-offs", "data-pilot-tables", "database-ranges"),
            *(
                "dde-links",
                "enhanced-geometry",
                "event-listeners",
                "forms",
                "glue-point",
                "label-ranges",
                "named-expressions",
                "office-forms",
            ),
            *(
                "protection",
                "scenario",
                "soft-page-break",
                "svg-desc",
                "table-protection",
                "table-source",
                "tracked-changes",
                "consolidation",
            ),
            *("line", "connector", "polyline", "path", "measure"),
        ]
    ),
    counted={
        "applet": UnreadThing.OTHER,
        "control": UnreadThing.FIELD,
        "detective": UnreadThing.SHAPE,
        "floating-frame": UnreadThing.OTHER,
        "image": UnreadThing.PICTURE,
        "object": UnreadThing.CHART,
        "object-ole": UnreadThing.FILE,
        "plugin": UnreadThing.MEDIA,
        "sparkline-group": UnreadThing.CHART,
        "table": UnreadThing.OTHER,
    },
)
_HEADERS = tuple(f"{kind}{pages}" for kind in ("header", "footer") for pages in ("", "-left", "-first"))
_WHITE = {"s": " ", "tab": " ", "line-break": " "}


def read(data: bytes, collector: TextCollector) -> None:
    """Read each sheet that people see as one part."""
    archive = opendocument.opened(data)
    styles = _Styles()
    reader = _Reader(archive, Grid(collector), styles)
    for element in archive.iter_elements(_CONTENT, "style", within=_SHEETS):
        if element.tag == "style":
            styles.read(element)
        elif element.tag == "table":
            reader.read(element)
        else:
            KNOWN.count_all(element, collector)
    if (header := _page_header(archive)) and collector.places:
        collector.put(f"\n{mark('On each printed page', header)}")


def _page_header(archive: Archive) -> str:
    """What the printed pages have above and below the cells; empty if that is only numbers of pages and names of sheets."""
    found = []
    for part in archive.iter_elements("styles.xml", *_HEADERS) if "styles.xml" in archive else ():
        for each in part.iter("p"):
            fields = {id(inner) for field in each if field.tag not in ("span", "a", "s", "tab") for inner in field.iter()}
            words = "".join(" " if id(inner) in fields else inner.text or "" for inner in each.iter())
            words += "".join(inner.tail or "" for inner in each.iter() if inner is not each)
            if len(re.findall(r"[^\W\d_]{2,}", words)) > bool(fields) and xml.attribute(part.attrib, "display") != "false":
                found.append(_one_line(words))
    return "; ".join(dict.fromkeys(found))


@dataclass(slots=True)
class _Styles:
    """The styles of the content: those of hidden sheets, and of raised, lowered and struck-out text."""

    hidden: set[str] = field(default_factory=set)
    levels: dict[str, int] = field(default_factory=dict)
    struck: set[str] = field(default_factory=set)

    def read(self, style: Element) -> None:
        """Read a style."""
        name = xml.attribute(style.attrib, "name")
        for each in style:
            if xml.attribute(each.attrib, "display") == "false":
                self.hidden.add(name)
            position = xml.attribute(each.attrib, "text-position").split()
            if position and position[0] not in ("0%", "0"):
                self.levels[name] = -1 if position[0] == "sub" or position[0].startswith("-") else 1
            if xml.attribute(each.attrib, "text-line-through-style") not in ("", "none"):
                self.struck.add(name)


@dataclass(slots=True)
class _Reader:
    archive: Archive
    grid: Grid
    styles: _Styles
    _row: int = 0
    _column: int = 0
    _merged: list[MergedCells] = field(default_factory=list)

    def read(self, table: Element) -> None:
        """Read a sheet."""
        name, collector = xml.attribute(table.attrib, "name"), self.grid.collector
        if xml.attribute(table.attrib, "style-name") in self.styles.hidden:
            collector.leave_out(HiddenPart.SHEET, name)
            return
        collector.places += 1
        self._row = self._column = 0
        self._merged = []
        self.grid.begin(name)
        self._read_all(table, is_hidden=False)
        self.grid.merge(self._merged)
        self.grid.write()

    def _read_all(self, element: Element, is_hidden: bool) -> None:
        """Read rows and columns, and groups of them."""
        for child in element:
            name = child.tag
            hides = is_hidden or xml.attribute(child.attrib, "display") == "false"
            if name == "table-row":
                self._read_row(child, hides)
            elif name == "table-column":
                self._read_column(child, hides)
            elif name == "shapes":
                for shape in child:
                    self._read_shape(shape)
            elif KNOWN.look_into(child, self.grid.collector):
                self._read_all(child, hides)

    def _read_column(self, element: Element, is_hidden: bool) -> None:
        count = _count(element, "number-columns-repeated", MAX_COLUMNS)
        if is_hidden or _is_hidden(element):
            self.grid.hide_columns(self._column + 1, self._column + count)
        self._column += count

    def _read_row(self, element: Element, is_hidden: bool) -> None:
        count = _count(element, "number-rows-repeated", _MAX_ROWS)
        cells = list(self._cells(element))
        if is_hidden or _is_hidden(element):
            if cells:
                self.grid.leave_out()
            for row in range(self._row + 1, self._row + 1 + min(count, MAX_GAP)):
                self.grid.hide_row(row)
        else:
            for row in range(self._row + 1, self._row + 1 + (count if cells else 0)):
                if not all(self.grid.put(row, *cell) for cell in cells):
                    break
        self._row += count

    def _cells(self, row: Element) -> Iterator[tuple[int, str, bool]]:
        """Column, text, and whether it is a number, of each cell with text."""
        column = 1
        for cell in row:
            count = _count(cell, "number-columns-repeated", MAX_COLUMNS)
            if cell.tag == "table-cell":
                self._note_merged(cell, column)
            if cell.tag == "table-cell" and (text := self._text(cell)):
                is_number = xml.attribute(cell.attrib, "value-type") not in ("", "string")
                for at in range(column, min(column + count, MAX_COLUMNS + 1)):
                    yield at, text, is_number
            elif cell.tag not in ("table-cell", "covered-table-cell"):
                KNOWN.look_into(cell, self.grid.collector)
            column += count

    def _note_merged(self, cell: Element, column: int) -> None:
        rows, columns = (_count(cell, f"number-{each}-spanned", MAX_CELLS) for each in ("rows", "columns"))
        if rows > 1 or columns > 1:
            self._merged.append(MergedCells(self._row + 1, column, self._row + rows, column + columns - 1))

    def _text(self, cell: Element) -> str:
        """The text of a cell, with its comments. What is drawn on it stands below the cells."""
        pieces = [self._own_text(cell)]
        for child in cell:
            if child.tag == "annotation":
                author = _one_line("".join("".join(each.itertext()) for each in child if each.tag == "creator"))
                said = " ".join("".join(each.itertext()) for each in child.iter() if each.tag in ("p", "h"))
                pieces += [mark(f"Comment by {author}" if author else "Comment", said)] if said.strip() else []
            elif child.tag not in _PARAGRAPHS:
                self._read_shape(child)
        return " ".join(filter(None, pieces))

    def _own_text(self, cell: Element) -> str:
        own = [child for child in cell if child.tag in _PARAGRAPHS]
        text = " ".join(filter(None, (_one_line(self._shown(each)) for each in own)))[:MAX_CELL_CHARS]
        formula = xml.attribute(cell.attrib, "formula")
        value = next((found for each in _VALUES if (found := xml.attribute(cell.attrib, each))), "")
        if not own:
            return value or (f"={formula.partition('=')[2] or formula} [{NO_VALUE}]" if formula else "")
        if value and not text:
            self.grid.leave_out()
        if _DATE_IN_DIGITS.fullmatch(text) and (when := xml.attribute(cell.attrib, "date-value")):
            # Which digits are the day differs between countries.
            text = when.replace("T", " ")[: 19 if ":" in text else 10]
        return Look(is_struck=xml.attribute(cell.attrib, "style-name") in self.styles.struck).written(text)

    def _shown(self, element: Element) -> str:
        """The text of a paragraph or what is in it."""
        name, style = element.tag, xml.attribute(element.attrib, "style-name")
        if name in _WHITE:
            return _WHITE[name] * _count(element, "c", 100)
        inner = element.text or ""
        for child in element:
            inner += (self._shown(child) if KNOWN.look_into(child, self.grid.collector) else "") + (child.tail or "")
        if name == "a":
            return linked(inner, xml.attribute(element.attrib, "href"))
        return Look(self.styles.levels.get(style, 0), style in self.styles.struck).written(inner)

    def _read_shape(self, shape: Element) -> None:
        """A shape, a picture or a chart: what it says stands below the cells."""
        if shape.tag == "frame" and (words := _described(shape)):
            self.grid.after.append(mark("Chart" if shape.find("object") is not None else "Picture", words))
        elif shape.tag == "frame" and (chart := shape.find("object")) is not None:
            self._read_chart(chart)
        elif shape.tag == "frame" and shape.find("text-box") is None:
            # A frame has the same thing in several forms.
            first = next((each for each in shape if each.tag in KNOWN.counted), None)
            if first is not None:
                self.grid.collector.count(KNOWN.counted[first.tag])
        elif KNOWN.look_into(shape, self.grid.collector):
            said = " ".join("".join(each.itertext()) for each in shape.iter() if each.tag in ("p", "h"))
            if said.strip():
                self.grid.after.append(mark("Text box", said))

    def _read_chart(self, element: Element) -> None:
        """The titles of a chart, whose numbers are in the sheets."""
        place = xml.attribute(element.attrib, "href").removeprefix("./").rstrip("/") + f"/{_CONTENT}"
        titles = []
        if place in self.archive:
            tree = self.archive.tree(place)
            titles = ["".join(each.itertext()) for each in tree.iter() if each.tag in ("title", "subtitle")]
        if titles:
            self.grid.after.append(mark("Chart", "; ".join(titles)))
        else:
            self.grid.collector.count(UnreadThing.CHART)


_DATE_IN_DIGITS = re.compile(r"[0-9]{1,4}([./-] ?)[0-9]{1,2}\1[0-9]{1,4}\.?(?:[ T][0-9:. APMapm]+)?")
_PARAGRAPHS = ("p", "h", "list")
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")


def _described(frame: Element) -> str:
    return _one_line(" ".join("".join(each.itertext()) for each in frame if each.tag in ("title", "desc")))


def _is_hidden(element: Element) -> bool:
    return xml.attribute(element.attrib, "visibility") not in ("", "visible")


def _count(element: Element, name: str, most: int) -> int:
    """How often an element is repeated, or how far it reaches."""
    value = xml.attribute(element.attrib, name)
    return min(max(int(value), 1), most) if value.isdecimal() and len(value) < 9 else 1


def _one_line(text: str) -> str:
    return " ".join(text.split())
