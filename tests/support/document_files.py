"""Reading of files in this process, for many small cases: what is left out, numbers in their formats, pages, and text as it is cleaned.

``chatui.documents.reading.read`` reads one as the product does, in a process of its own.
"""

from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, fromstring

from chatui.documents import plain_text
from chatui.documents.inside import encodings, number_formats, open_sheets, opendocument, sheets, slides, word
from chatui.documents.inside.contents import KnownThings
from chatui.documents.inside.html import HtmlReader
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.inside.worker import READERS
from chatui.documents.kinds import UnreadThing

KNOWN = {
    "docx": word.KNOWN,
    "odt": opendocument.KNOWN,
    "pptx": slides.KNOWN,
    "xlsx": sheets.KNOWN,
    "ods": open_sheets.KNOWN,
}
"""What the reader of each format knows: ``read``, ``plain`` (how something looks), and ``counted``."""


def cleaned(text: str) -> str:
    """A text of an untrusted file, as people and models see it."""
    return plain_text.clean(text)


def decoded(data: bytes, language: str = "", *, chosen: str = "") -> tuple[str, bool]:
    """The characters of a text file, and whether its encoding is doubtful. ``language``: of the person; ``chosen``: the encoding."""
    found = encodings.decoded(data, 1000, language, chosen)
    return found.text, found.is_doubtful


def page_text(page: str) -> str:
    """The text of a page in HTML."""
    reader = HtmlReader("")
    reader.read(page)
    return "".join(reader.parts)


def shown_number(code: str, number: float, *, is_from_1904: bool = False) -> str:
    """What a cell with this number format shows. ``is_from_1904``: when days are counted from."""
    return number_formats.parsed(code).shown(number, is_from_1904)


def shown_text(code: str, text: str) -> str:
    """What a cell with this number format shows of a text."""
    return number_formats.parsed(code).shown_text(text)


def things(read: Iterable[str], plain: Iterable[str], counted: Mapping[str, UnreadThing]) -> KnownThings:
    """What a reader knows that reads only these elements."""
    return KnownThings(frozenset(read), frozenset(plain), dict(counted))


def looked_into(known: KnownThings, xml: str) -> tuple[bool, dict[UnreadThing, int]]:
    """Whether such a reader reads an element, and what it counts in it."""
    collector = _collector()
    return known.look_into(_element(xml), collector), dict(collector.unread)


def counted_parts(known: KnownThings, names: Iterable[str]) -> dict[UnreadThing, int]:
    """What such a reader counts of the parts of a file."""
    collector = _collector()
    known.count_parts(names, collector)
    return dict(collector.unread)


def counted(*numbers: int) -> dict[UnreadThing, int]:
    """What is counted after so many charts each time."""
    collector = _collector()
    for number in numbers:
        collector.count(UnreadThing.CHART, number)
    return dict(collector.unread)


def read_here(kind: str, data: bytes) -> tuple[list[str], dict[UnreadThing, int]]:
    """The texts of a file of this format, and what is counted of it."""
    collector = TextCollector(10_000, float("inf"))  # the limit is that of a process, and this one has run other tests
    READERS[kind].prepare(data)
    READERS[kind].read(data, collector)
    collector.end()
    return [text.decode() for _, text in collector.parts], dict(collector.unread)


def _collector() -> TextCollector:
    return TextCollector(100, float("inf"))


def _element(xml: str) -> Element:
    """With attributes named as the reader of archives names them."""
    found = fromstring(xml)
    for each in found.iter():
        each.attrib = {name.removeprefix("{").replace("}", " "): value for name, value in each.attrib.items()}
    return found
