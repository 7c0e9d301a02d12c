"""Reads ODT and ODP files as people see them: headings, numbers, lists, tables, links, notes, comments, charts, forms, headers.

What is deleted or hidden is left out, and said so; what is struck out is marked. ``KNOWN`` lists the elements of the format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from posixpath import normpath
from xml.etree.ElementTree import Element

from chatui.documents.inside import formulas, symbols, xml
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.marks import PLAIN, Look, Runs, mark, spread
from chatui.documents.inside.office import MAX_DEPTH
from chatui.documents.inside.open_styles import Counter, OpenStyles
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive
from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing

_MAX_SPACES = 100
_MAX_SPAN = 100
_BODY = ("document-content", "body", "text")
_SLIDE = "page"
_DECLARED = {"footer-decl": "Footer", "header-decl": "Header", "date-time-decl": "Date"}

_READ = """
p h span a list list-item list-header numbered-paragraph section table table-header-rows table-rows table-row-group table-row table-cell
covered-table-cell note annotation s tab line-break ruby ruby-base ruby-text frame text-box image object g custom-shape rect line polyline
polygon regular-polygon path circle ellipse connector caption measure page-thumbnail control forms notes page index-body index-title
index-title-template table-of-content alphabetical-index user-index illustration-index table-index object-index bibliography title desc
header footer header-left footer-left header-first footer-first region-left region-center region-right meta meta-field hidden-text
date time page-number page-count page-continuation author-name author-initials chapter file-name subject keywords creator description
user-defined initial-creator creation-date creation-time modification-date modification-time print-date print-time printed-by editing-cycles
editing-duration sender-firstname sender-lastname sender-initials sender-title sender-position sender-email sender-phone-private sender-fax
sender-company sender-phone-work sender-street sender-city sender-postal-code sender-country sender-state-or-province sequence
reference-ref bookmark-ref sequence-ref note-ref variable-set variable-get variable-input user-field-get user-field-input expression
text-input placeholder conditional-text database-display database-name database-row-number template-name word-count character-count
tracked-changes paragraph-count table-count image-count object-count table-formula dde-connection execute-macro sheet-name
bibliography-mark fieldmark content-control
"""
_PLAIN = """
automatic-styles styles master-styles font-face-decls settings sequence-decls variable-decls user-field-decls dde-connection-decls
table-column table-columns table-header-columns table-column-group soft-page-break bookmark bookmark-start bookmark-end reference-mark
reference-mark-start reference-mark-end change change-start change-end annotation-end hidden-paragraph list-style
table-of-content-source alphabetical-index-source user-index-source illustration-index-source table-index-source object-index-source
bibliography-source toc-mark toc-mark-start toc-mark-end alphabetical-index-mark alphabetical-index-mark-start alphabetical-index-mark-end
user-index-mark user-index-mark-start user-index-mark-end glue-point enhanced-geometry event-listeners image-map
contour-polygon contour-path thumbnail animations par seq iterate shapes binary-data label preview fieldmark-start
fieldmark-separator fieldmark-end
"""
KNOWN = KnownThings(
    read=frozenset(_READ.split()),
    plain=frozenset(_PLAIN.split()),
    counted={
        **dict.fromkeys(("object-ole", "floating-frame", "applet"), UnreadThing.FILE),
        **dict.fromkeys(("plugin", "sound", "scene"), UnreadThing.MEDIA),
        **dict.fromkeys(("script", "scripts"), UnreadThing.SCRIPT),
    },
)
"""The elements of a text or of slides."""


def opened(data: bytes) -> Archive:
    """The archive of an OpenDocument file.

    Raises:
        UnreadableFileError: it is broken or encrypted, or exceeds a limit.
    """
    archive = Archive(data)
    manifest = "META-INF/manifest.xml"
    if manifest in archive and any(each.tag == "encryption-data" for each in archive.tree(manifest).iter()):
        raise UnreadableFileError(NoTextReason.ENCRYPTED)
    return archive


def read(data: bytes, collector: TextCollector) -> None:
    """Read a text document as one part, or each slide as one."""
    archive = opened(data)
    styles = OpenStyles()
    collector.places = _read_styles(archive, styles)
    text = _Text(collector, archive, styles)
    if collector.places:
        text.put_slides()
        return
    collector.begin()
    for element in archive.iter_elements("content.xml", within=_BODY):
        text.walk(element, PLAIN)
    text.put_notes()
    text.put_margins()


def _read_styles(archive: Archive, styles: OpenStyles) -> int:
    """Read the styles of a document. Returns the number of its slides."""
    slides = 0
    for place in ("styles.xml", "content.xml"):
        for element in archive.iter_elements(place, *OpenStyles.ELEMENTS, _SLIDE, within=_BODY) if place in archive else ():
            styles.read(element)
            slides += element.tag == _SLIDE and place == "content.xml"
    return slides


_PARAGRAPHS = ("p", "h")
_STYLED = (*_PARAGRAPHS, "span", "a")
_WHITE = {"s": " ", "tab": "\t", "line-break": "\n"}
_MARGINS = {name: "Header" if name.startswith("header") else "Footer" for name in ("header", "footer", "header-left", "footer-left")} | {
    "header-first": "Header",
    "footer-first": "Footer",
}
_FORM_TEXTS = ("text", "textarea", "formatted-text", "date", "time", "number", "combobox", "file")


@dataclass(slots=True)
class _List:
    """An open list. ``label``: of the item that begins."""

    levels: str
    counter: Counter
    label: str = ""


@dataclass(slots=True)
class _Text:
    """Writes the text of elements. Repeated rows are read once, because their count may be a million."""

    collector: TextCollector
    archive: Archive
    styles: OpenStyles
    notes: list[str] = field(default_factory=list)
    """The texts of notes."""
    declared: dict[tuple[str, str], str] = field(default_factory=dict)
    controls: dict[str, str] = field(default_factory=dict)
    """What each form control shows, by id."""
    written: set[str] = field(default_factory=set)
    """What was written once, because it is on every slide."""
    runs: Runs = field(init=False)
    _depth: int = 0
    _rows: list[list[str]] = field(default_factory=list)
    _covered: int = 0
    _cells: int = 0
    _before: str = ""
    _font: str = ""
    _lists: list[_List] = field(default_factory=list)
    _counters: dict[str, Counter] = field(default_factory=dict)
    _headings: Counter = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.runs = Runs(self.collector)

    def walk(self, element: Element, look: Look) -> None:
        """Write the text of an element."""
        name = element.tag
        if self._is_hidden(element):
            self._hide(element)
            return
        if not KNOWN.look_into(element, self.collector):
            return
        if (leaf := _LEAVES.get(name)) is not None:
            leaf(self, element, look)
            return
        font = self._font
        if name in _STYLED:
            style = xml.attribute(element.attrib, "style-name")
            look = self.styles.look(style, look)
            self._font = self.styles.font(style) or (font if name not in _PARAGRAPHS else "")
        own = self._font
        self._begin(element)
        self._put(element.text, look)
        for child in element:
            self.walk(child, look)
            self._font = own
            self._put(child.tail, look)
        self._end(element)
        self._font = font

    def _hide(self, element: Element) -> None:
        if "".join(element.itertext()).strip():
            self.collector.leave_out(HiddenPart.TEXT, "")
        if element.tag == "covered-table-cell":
            self._cover(element)

    def _begin(self, element: Element) -> None:
        name, attributes = element.tag, element.attrib
        if name in _PARAGRAPHS:
            self._depth += 1
            self._begin_paragraph(element)
        elif name == "list":
            self._begin_list(element)
        elif name == "list-item" and self._lists:
            own = self._lists[-1]
            levels = self.styles.lists.get(own.levels, {})
            own.label = own.counter.next(levels, len(self._lists), xml.attribute(attributes, "start-value"))
        elif name == "table-row":
            self._rows.append([])
        elif name == "table-cell":
            self._cells += 1
            self.runs.hold()
        elif name == "a":
            self.runs.begin_link(_address(element))
        elif name == "ruby-text":
            self.runs.put("(")

    def _begin_paragraph(self, element: Element) -> None:
        label, indent = "", ""
        if self._lists:
            own = self._lists[-1]
            label, own.label = own.label, ""
            indent = "  " * (len(self._lists) - 1)
        if element.tag == "h":
            level = _number(xml.attribute(element.attrib, "outline-level"), MAX_DEPTH)
            if not label and not xml.is_on(xml.attribute(element.attrib, "is-list-header")):
                label = self._headings.next(self.styles.outline, level) if level in self.styles.outline else ""
            self._before = f"{'#' * level} {'' if label in ('', '-') else f'{label} '}"
        elif label:
            self._before = f"{indent}{label} "

    def _begin_list(self, element: Element) -> None:
        attributes = element.attrib
        name = xml.attribute(attributes, "style-name") or (self._lists[-1].levels if self._lists else "")
        if self._lists:
            self._lists.append(_List(name, self._lists[-1].counter))
            return
        continued = xml.attribute(attributes, "continue-list") or (
            name if xml.is_on(xml.attribute(attributes, "continue-numbering")) else ""
        )
        counter = self._counters.get(continued, Counter())
        for key in (xml.attribute(attributes, "id"), name):
            if key:
                self._counters[key] = counter
        self._lists.append(_List(name, counter))

    def _end(self, element: Element) -> None:
        name = element.tag
        if name in _PARAGRAPHS:
            self._depth -= 1
            self._before = ""
            self.runs.put(" " if self._cells else "\n")
        elif name == "list":
            self._lists.pop()
        elif name == "a":
            self.runs.end_link()
        elif name == "ruby-text":
            self.runs.put(")")
        elif name in ("table-cell", "table-row"):
            self._end_of_table(element)

    def _end_of_table(self, element: Element) -> None:
        if element.tag == "table-row":
            row = self._rows.pop()
            self.runs.put(f"{' | '.join(filter(None, row))} / " if self._cells else "\t".join(row) + "\n")
            return
        self._cells -= 1
        cell = " ".join(self.runs.release().split())
        repeated = _number(xml.attribute(element.attrib, "number-columns-repeated"), _MAX_SPAN)
        span = _number(xml.attribute(element.attrib, "number-columns-spanned"), _MAX_SPAN)
        if self._rows:
            self._rows[-1] += spread(cell, span) * repeated
        self._covered = span - 1

    def _cover(self, element: Element) -> None:
        """A covered cell has the text of the cell to its left, which was written, or keeps its place below another one."""
        repeated = _number(xml.attribute(element.attrib, "number-columns-repeated"), _MAX_SPAN)
        below = max(repeated - self._covered, 0)
        self._covered = max(self._covered - repeated, 0)
        if self._rows:
            self._rows[-1] += [""] * below

    def _put(self, text: str | None, look: Look) -> None:
        if text and self._depth:
            self._put_before()
            self.runs.put(symbols.shown(" ".join(text.split("\n")), self._font, self.collector), look)

    def _put_before(self) -> None:
        if self._before:
            self.runs.put(self._before)
            self._before = ""

    def _put_mark(self, text: str) -> None:
        """Write a mark in a paragraph, or on a line of its own."""
        self._put_before()
        self.runs.put(text if self._depth else f"{text}\n")

    def count_changes(self, element: Element, look: Look) -> None:
        """Deleted text is kept in a list of changes, and is not shown."""
        self.collector.count(UnreadThing.CHANGE, sum(each.tag == "deletion" for each in element.iter()))

    def put_white(self, element: Element, look: Look) -> None:
        if self._depth:
            sign = _WHITE[element.tag]
            self.runs.put(" " if self._cells else sign * _number(xml.attribute(element.attrib, "c"), _MAX_SPACES))

    def put_note(self, element: Element, look: Look) -> None:
        """Write the sign of a note, and keep its text for the end."""
        self.notes.append("")
        number = len(self.notes)
        self._put_mark(f"[^{number}]")
        self.notes[number - 1] = f"[^{number}]: {self._apart(element, 'note-body')}"

    def put_comment(self, element: Element, look: Look) -> None:
        author = "".join(each.text or "" for each in element if each.tag == "creator")
        words = " ".join("".join(each.itertext()) for each in element if each.tag not in ("creator", "date", "creator-initials"))
        self._put_mark(mark(f"Comment by {author}" if author else "Comment", words))

    def _apart(self, element: Element, *wanted: str) -> str:
        """The text of children of an element, on one line, apart from the text around it."""
        depth, cells, lists, self._depth, self._cells, self._lists = self._depth, self._cells, self._lists, 0, 1, []
        self.runs.hold()
        for child in element:
            if child.tag in wanted:
                for each in child:
                    self.walk(each, PLAIN)
        text = " ".join(self.runs.release().split())
        self._depth, self._cells, self._lists = depth, cells, lists
        return text

    def put_frame(self, element: Element, look: Look) -> None:
        """A frame with one thing in several forms, of which the first one is shown."""
        alt = next((text for name in ("desc", "title") if (text := "".join(element.findtext(name, "").split("\n")).strip())), "")
        is_title = xml.attribute(element.attrib, "class") == "title"
        for child in element:
            if child.tag == "image":
                if alt:
                    self._put_mark(mark("Picture", alt))
                else:
                    self.collector.count(UnreadThing.PICTURE)
                return
            if child.tag == "object":
                self._put_object(child, alt)
                return
            if child.tag in ("text-box", "table"):
                self._put_box(child, "# " if is_title else "")
                return
            if child.tag not in ("desc", "title", "event-listeners", "glue-point"):
                self.walk(child, look)
                if child.tag in KNOWN.counted:
                    return

    def _put_box(self, element: Element, before: str) -> None:
        """A text box has its own paragraphs and lists."""
        lists, self._lists, depth, self._depth = self._lists, [], self._depth, 0
        self._before = before or self._before
        for child in [element] if element.tag == "table" else element:
            self.walk(child, PLAIN)
        self._lists, self._depth = lists, depth

    def _put_object(self, element: Element, alt: str) -> None:
        """A formula or a chart, from a file of its own in the archive or from the element itself; of anything else, its ``alt``."""
        file = f"{normpath(xml.attribute(element.attrib, 'href'))}/content.xml"
        content = self.archive.tree(file) if file in self.archive else None
        if content is None:
            content = next(iter(element), None)
        formula = chart = None
        if content is not None:
            formula = content if content.tag == "math" else content.find("math")
            chart = next(content.iter("chart"), None)
        if formula is not None:
            self._put_mark(mark("Formula", formulas.written(formula)))
        elif chart is not None:
            self._put_mark(_chart(chart))
        else:
            self.collector.count(UnreadThing.FILE)
            if alt:
                self._put_mark(mark("Picture", alt))

    def read_forms(self, element: Element, look: Look) -> None:
        """Note what each control of a form shows."""
        for control in element.iter():
            key, value = xml.attribute(control.attrib, "id"), xml.attribute(control.attrib, "current-value")
            if control.tag in _FORM_TEXTS:
                self.controls[key] = value or xml.attribute(control.attrib, "value")
            elif control.tag in ("checkbox", "radio"):
                state = xml.attribute(control.attrib, "current-state" if control.tag == "checkbox" else "current-selected")
                label = xml.attribute(control.attrib, "label")
                self.controls[key] = f"{'☒' if state in ('checked', 'true') else '☐'} {label}"
            elif control.tag == "listbox":
                chosen = [option for option in control.iter("option") if xml.is_on(xml.attribute(option.attrib, "current-selected"))]
                self.controls[key] = ", ".join(xml.attribute(option.attrib, "label") for option in chosen)
            elif control.tag == "fixed-text":
                self.controls[key] = xml.attribute(control.attrib, "label")

    def put_control(self, element: Element, look: Look) -> None:
        key = xml.attribute(element.attrib, "control")
        if key not in self.controls:
            self.collector.count(UnreadThing.FIELD)
        elif text := " ".join(self.controls[key].split()):
            self._put_mark(text)

    def put_filled_in(self, element: Element, look: Look) -> None:
        """A field of a form that came from another program: a box, or one of several entries."""
        kind = xml.attribute(element.attrib, "type").rpartition(".")[2]
        parameters = [(xml.attribute(each.attrib, "name"), xml.attribute(each.attrib, "value")) for each in element.iter("param")]
        entries = [value for name, value in parameters if name == "Dropdown_ListEntry"]
        values = dict(parameters)
        if kind == "FORMCHECKBOX":
            self._put_mark("☒" if xml.is_on(values.get("Checkbox_Checked", "")) else "☐")
        elif kind == "FORMDROPDOWN":
            at = values.get("Dropdown_Selected", "")
            self._put_mark(entries[int(at)] if at.isdecimal() and len(at) < 6 and int(at) < len(entries) else "")
        else:
            self.collector.count(UnreadThing.FIELD)

    def skip(self, element: Element, look: Look) -> None:
        """Read already, with the drawing around it; or written where the slide's notes are."""

    def put_notes(self) -> None:
        for each in self.notes:
            self.runs.put(f"{each}\n")
        self.notes.clear()

    def put_margins(self) -> None:
        """Write the headers and footers of the pages' styles in use, each once."""
        for master in self.styles.used_masters().values():
            for each in master:
                if each.tag in _MARGINS and xml.attribute(each.attrib, "display") != "false":
                    self._put_once(_MARGINS[each.tag], self._apart(master, each.tag))

    def _put_once(self, kind: str, text: str) -> None:
        marked = mark(kind, text)
        if text.strip() and marked not in self.written:
            self.written.add(marked)
            self.runs.put(f"{marked}\n")

    def put_slides(self) -> None:
        """Write each slide as a part."""
        number = 0
        for element in self.archive.iter_elements("content.xml", _SLIDE, *_DECLARED):
            if element.tag == _SLIDE:
                number += 1
                self.put_slide(element, number)
            else:
                self.declared[element.tag, xml.attribute(element.attrib, "name")] = "".join(element.itertext())

    def put_slide(self, element: Element, number: int) -> None:
        """Write a slide as a part, with its footer, the words of its style and its notes."""
        self.collector.begin(f"slide {number}", is_place=True)
        if xml.attribute(element.attrib, "style-name") in self.styles.hidden_pages:
            self.collector.leave_out(HiddenPart.SLIDE, str(number))
            return
        for child in element:
            self.walk(child, PLAIN)
        master = self.styles.masters.get(xml.attribute(element.attrib, "master-page-name"))
        if master is not None and not any(each.tag in _MARGINS for each in master):
            self._put_master(master)
        for kind, name in _DECLARED.items():
            use = xml.attribute(element.attrib, f"use-{kind.removesuffix('-decl')}-name")
            self._put_once(name, self.declared.get((kind, use), ""))
        for notes in element.iterfind("notes"):
            boxes = [each for each in notes if each.tag == "frame" and xml.attribute(each.attrib, "class") == "notes"]
            text = " ".join(self._apart(each, "text-box") for each in boxes)
            if text.strip():
                self.runs.put(f"Notes: {text}\n")
        self.put_notes()

    def _put_master(self, master: Element) -> None:
        words = Element("words")
        words.extend(
            each
            for each in master
            if each.tag not in ("notes", "forms", "page-thumbnail")
            and not xml.attribute(each.attrib, "class")
            and not xml.is_on(xml.attribute(each.attrib, "placeholder"))
        )
        counted = self.collector.unread.copy()
        box = Element("box")
        box.append(words)
        self._put_once("On the slides", self._apart(box, "words"))
        # Pictures of the design are on every slide.
        self.collector.unread = counted

    def _is_hidden(self, element: Element) -> bool:
        """Whether a section, row, covered cell, paragraph, drawing or text is not shown. What is not known to be visible is hidden."""
        name, attributes = element.tag, element.attrib
        if name == "covered-table-cell":
            return True
        if name == "table-row":
            return xml.attribute(attributes, "visibility") not in ("", "visible")
        if name == "table-row-group":
            return xml.attribute(attributes, "display") == "false"
        if name == "section":
            return xml.attribute(attributes, "display") not in ("", "true") and xml.attribute(attributes, "is-hidden") != "false"
        if name == "hidden-text":
            return xml.attribute(attributes, "is-hidden") != "false"
        if xml.attribute(attributes, "display", "drawing:1.0") == "none":
            return True
        # A field in a paragraph may say that all of it is hidden.
        says_so = name in _PARAGRAPHS and any(xml.attribute(e.attrib, "is-hidden") != "false" for e in element.iter("hidden-paragraph"))
        return says_so or (name in _STYLED and self.styles.hide(xml.attribute(attributes, "style-name")))


def _address(element: Element) -> str:
    """The address of a link; empty for a place in the document."""
    address = xml.attribute(element.attrib, "href")
    return "" if address.startswith("#") else address


def _chart(element: Element) -> str:
    titles = [" ".join("".join(each.itertext()).split()) for each in element.iter() if each.tag in ("title", "subtitle")]
    lines = [mark("Chart", "; ".join(titles)) if titles else "[Chart]"]
    for row in element.iter("table-row"):
        cells = (" ".join("".join(cell.itertext()).split()) for cell in row if cell.tag == "table-cell")
        lines.append("\t".join("" if cell == "NaN" else cell for cell in cells))  # a value that is missing
    return "\n".join(lines)


def _number(attribute: str, most: int) -> int:
    """The value of a numeric attribute, at most ``most``; 1 if it is missing or invalid."""
    return min(max(int(attribute), 1), most) if attribute.isdecimal() and len(attribute) < 9 else 1


_LEAVES = {
    **dict.fromkeys(_WHITE, _Text.put_white),
    "tracked-changes": _Text.count_changes,
    "note": _Text.put_note,
    "annotation": _Text.put_comment,
    "frame": _Text.put_frame,
    "forms": _Text.read_forms,
    "control": _Text.put_control,
    "fieldmark": _Text.put_filled_in,
    **dict.fromkeys(("notes", "desc", "page-thumbnail"), _Text.skip),
}
"""Elements that are read without walking through what is in them."""
