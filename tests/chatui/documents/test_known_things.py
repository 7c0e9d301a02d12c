"""What each XML format can hold: an element is read, shows only how something looks, or counts; an unknown one counts if it is full."""

from collections.abc import Callable

import pytest

from chatui.documents.inside import opendocument, slides, word
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.inside.worker import READERS
from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import samples, word_traps

Maker = Callable[[str], bytes]
FORMATS: dict[str, tuple[KnownThings, Maker, str]] = {
    "docx": (word.KNOWN, lambda inside: word_traps.word(f"<w:p>{word_traps.run('seen')}</w:p>{inside}"), "w:"),
    "odt": (opendocument.KNOWN, lambda inside: samples.odt(f"<text:p>seen</text:p>{inside}"), "text:"),
    "pptx": (slides.KNOWN, lambda inside: samples.pptx([samples.shape("seen") + inside]), "p:"),
}
CASES = [
    (kind, name, thing)
    for kind, (known, _, _) in FORMATS.items()
    for name, thing in [*known.counted.items(), *((name, None) for name in sorted(known.plain)), ("hologram", UnreadThing.OTHER)]
]


def counts(kind: str, data: bytes) -> dict[UnreadThing, int]:
    collector = TextCollector(10_000, float("inf"))  # the limit is that of a process, and this one has run other tests
    READERS[kind].prepare(data)
    READERS[kind].read(data, collector)
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
