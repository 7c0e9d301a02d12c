"""What each XML format can hold: an element is read, shows only how something looks, or counts; an unknown one counts if it is full."""

from collections.abc import Callable

import pytest

from chatui.documents.inside import open_sheets, opendocument, sheets, slides, word
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.inside.worker import READERS
from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import samples, word_traps
from tests.chatui.documents.test_workbooks import ods, open_cell, row

Maker = Callable[[str], bytes]
SEEN_ROW = '<row r="1"><c r="A1" t="inlineStr"><is><t>seen</t></is></c></row>'
SEEN_CELL = "<table:table-cell><text:p>seen</text:p>{}</table:table-cell>"


def ods_of(table: str) -> bytes:
    return ods(f'<table:table table:name="A">{table}</table:table>')


FORMATS: dict[str, tuple[KnownThings, Maker, str]] = {
    "docx": (word.KNOWN, lambda inside: word_traps.word(f"<w:p>{word_traps.run('seen')}</w:p>{inside}"), "w:"),
    "odt": (opendocument.KNOWN, lambda inside: samples.odt(f"<text:p>seen</text:p>{inside}"), "text:"),
    "pptx": (slides.KNOWN, lambda inside: samples.pptx([samples.shape("seen") + inside]), "p:"),
    "xlsx": (sheets.KNOWN, lambda inside: samples.xlsx({"A": f"<sheetData>{SEEN_ROW}</sheetData>{inside}"}), ""),
    "ods": (open_sheets.KNOWN, lambda inside: ods_of(row(open_cell("seen")) + inside), "table:"),
    "ods, in a cell": (open_sheets.KNOWN, lambda inside: ods_of(row(SEEN_CELL.format(inside))), "draw:"),
    "ods, among shapes": (
        open_sheets.KNOWN,
        lambda inside: ods_of(f"{row(open_cell('seen'))}<table:shapes>{inside}</table:shapes>"),
        "draw:",
    ),
}
CASES = [
    (kind, name, thing)
    for kind, (known, _, _) in FORMATS.items()
    for name, thing in [*known.counted.items(), *((name, None) for name in sorted(known.plain)), ("hologram", UnreadThing.OTHER)]
]


def counts(kind: str, data: bytes) -> dict[UnreadThing, int]:
    collector = TextCollector(10_000, float("inf"))  # the limit is that of a process, and this one has run other tests
    reader = READERS[kind.partition(",")[0]]
    reader.prepare(data)
    reader.read(data, collector)
    collector.end()
    assert any(b"seen" in text for _, text in collector.parts)
    return dict(collector.unread)


@pytest.mark.parametrize(("kind", "name", "thing"), CASES)
def test_every_element_that_is_not_read_counts_or_holds_nothing(kind: str, name: str, thing: UnreadThing | None) -> None:
    known, make, prefix = FORMATS[kind]
    assert counts(kind, make(f"<{prefix}{name}><{prefix}x>words</{prefix}x></{prefix}{name}>")) == ({thing: 1} if thing else {})
    assert len(known.read | known.plain | set(known.counted)) == len(known.read) + len(known.plain) + len(known.counted)


@pytest.mark.parametrize("kind", FORMATS)
def test_an_unknown_element_counts_only_where_it_holds_something(kind: str) -> None:
    _, make, prefix = FORMATS[kind]
    assert counts(kind, make(f"<{prefix}hologram colour='red'/>")) == {}
    assert counts(kind, make(f"<{prefix}hologram src='a.png'/>")) == {UnreadThing.OTHER: 1}
    assert counts(kind, make(f"<{prefix}hologram value='7'/>" * 3)) == {UnreadThing.OTHER: 3}
