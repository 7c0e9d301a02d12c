"""What each XML format can hold: an element is read, shows only how something looks, or counts; an unknown one counts if it is full."""

from collections.abc import Callable

import pytest

from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import samples, word_traps
from tests.chatui.documents.test_workbooks import ods, open_cell, row
from tests.support.document_files import KNOWN, read_here

Maker = Callable[[str], bytes]
SEEN_ROW = '<row r="1"><c r="A1" t="inlineStr"><is><t>seen</t></is></c></row>'
SEEN_CELL = "<table:table-cell><text:p>seen</text:p>{}</table:table-cell>"


def ods_of(table: str) -> bytes:
    return ods(f'<table:table table:name="A">{table}</table:table>')


FORMATS: dict[str, tuple[Maker, str]] = {
    "docx": (lambda inside: word_traps.word(f"<w:p>{word_traps.run('seen')}</w:p>{inside}"), "w:"),
    "odt": (lambda inside: samples.odt(f"<text:p>seen</text:p>{inside}"), "text:"),
    "pptx": (lambda inside: samples.pptx([samples.shape("seen") + inside]), "p:"),
    "xlsx": (lambda inside: samples.xlsx({"A": f"<sheetData>{SEEN_ROW}</sheetData>{inside}"}), ""),
    "ods": (lambda inside: ods_of(row(open_cell("seen")) + inside), "table:"),
    "ods, in a cell": (lambda inside: ods_of(row(SEEN_CELL.format(inside))), "draw:"),
    "ods, among shapes": (
        lambda inside: ods_of(f"{row(open_cell('seen'))}<table:shapes>{inside}</table:shapes>"),
        "draw:",
    ),
}
CASES = [
    (kind, name, thing)
    for kind, known in ((kind, KNOWN[kind.partition(",")[0]]) for kind in FORMATS)
    for name, thing in [*known.counted.items(), *((name, None) for name in sorted(known.plain)), ("hologram", UnreadThing.OTHER)]
]


def counts(kind: str, data: bytes) -> dict[UnreadThing, int]:
    texts, found = read_here(kind.partition(",")[0], data)
    assert any("seen" in text for text in texts)
    return found


@pytest.mark.parametrize(("kind", "name", "thing"), CASES)
def test_every_element_that_is_not_read_counts_or_holds_nothing(kind: str, name: str, thing: UnreadThing | None) -> None:
    known, (make, prefix) = KNOWN[kind.partition(",")[0]], FORMATS[kind]
    assert counts(kind, make(f"<{prefix}{name}><{prefix}x>words</{prefix}x></{prefix}{name}>")) == ({thing: 1} if thing else {})
    assert len(known.read | known.plain | set(known.counted)) == len(known.read) + len(known.plain) + len(known.counted)


@pytest.mark.parametrize("kind", FORMATS)
def test_an_unknown_element_counts_only_where_it_holds_something(kind: str) -> None:
    make, prefix = FORMATS[kind]
    assert counts(kind, make(f"<{prefix}hologram colour='red'/>")) == {}
    assert counts(kind, make(f"<{prefix}hologram src='a.png'/>")) == {UnreadThing.OTHER: 1}
    assert counts(kind, make(f"<{prefix}hologram value='7'/>" * 3)) == {UnreadThing.OTHER: 3}
