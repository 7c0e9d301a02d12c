"""Reads the zip archive of a document and the XML in it, within limits.

XML is parsed into elements of limited number and depth. A document type, and with it any custom entity, is refused. The size of
an archive's entries is limited; nothing is written to disk, so entry names are harmless.
"""

from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from posixpath import join, normpath
from typing import cast
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from chatui.documents.inside.text_collector import UnreadableFileError
from chatui.documents.kinds import NoTextReason
from chatui.documents.limits import MAX_DEPTH, MAX_ELEMENTS, MAX_ENTRIES, MAX_RATIO, MAX_UNPACKED

_NAMESPACE_SEPARATOR = " "


class _Builder:
    """Builds the tree of an entry. Names of elements are local, those of attributes with a namespace are ``uri name``. ``elements``: ended
    elements of the wanted names, or in what is named by ``within`` from the root on, which are not kept in the tree."""

    def __init__(self, wanted: Collection[str], within: tuple[str, ...] = ()) -> None:
        self.root: Element | None = None
        self.elements: list[Element] = []
        self._wanted = wanted
        self._within = within
        self._tree = TreeBuilder()
        self._open: list[Element] = []
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise UnreadableFileError(NoTextReason.ELEMENTS)
        if len(self._open) >= MAX_DEPTH:
            raise UnreadableFileError(NoTextReason.LEVELS)
        element = self._tree.start(name.rpartition(_NAMESPACE_SEPARATOR)[2], attributes)
        self.root = self.root if self._open else element
        self._open.append(element)

    def end(self, name: str) -> None:
        element = self._open.pop()
        self._tree.end(element.tag)
        is_within = len(self._open) == len(self._within) > 0 and tuple(each.tag for each in self._open) == self._within
        if is_within or element.tag in self._wanted:
            self.elements.append(element)
            if self._open:
                del self._open[-1][-1]

    def data(self, text: str) -> None:
        self._tree.data(text)

    def refuse(self, *_: object) -> None:
        raise UnreadableFileError(NoTextReason.BROKEN)


def _built(blocks: Iterable[bytes | str], builder: _Builder) -> Iterator[None]:
    """Parses the next block at each step."""
    parser = expat.ParserCreate(namespace_separator=_NAMESPACE_SEPARATOR)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        for block in blocks:
            parser.Parse(block, False)
            yield
        parser.Parse(b"", True)
    except (expat.ExpatError, LookupError, ValueError):
        raise UnreadableFileError(NoTextReason.BROKEN) from None
    yield


def parsed(text: str) -> Element:
    """A document of its own.

    Raises:
        UnreadableFileError: it is not XML, has a document type, or exceeds a limit.
    """
    builder = _Builder(())
    for _ in _built([text.lstrip()], builder):  # as text, for which no declared encoding counts
        pass
    return cast(Element, builder.root)


def attribute(attributes: Mapping[str, str], wanted: str, in_namespace: str = "") -> str:
    """The value of an attribute by its local name; empty if there is none. ``in_namespace``: the end of its namespace; by default, any."""
    for name, value in attributes.items():
        space, _, own = name.rpartition(_NAMESPACE_SEPARATOR)
        if own == wanted and space.endswith(in_namespace):
            return value
    return ""


def is_on(value: str) -> bool:
    """Whether an attribute that hides something does so: what is not known to be visible is hidden. ``value``: empty if there is none."""
    return value.strip().lower() not in ("", "0", "false", "off", "no")


SMALL = 1_000_000
_BLOCK = 65_536
_IS_ENCRYPTED = 0x1


def prepare(data: bytes) -> None:
    """Load the codec for the names of entries."""
    codecs.lookup("cp437")


class Archive:
    """A zip archive, whose entries are read by their exact names. The size limit applies to all entries together."""

    def __init__(self, data: bytes) -> None:
        """
        Raises:
            UnreadableFileError: the archive is broken or encrypted, or exceeds a limit.
        """
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            raise UnreadableFileError(NoTextReason.BROKEN) from None
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise UnreadableFileError(NoTextReason.ENTRIES)
        # Some programs write the names with backslashes.
        self._entries = {entry.filename.replace("\\", "/"): entry for entry in entries}
        if len(self._entries) != len(entries):
            # With duplicate names, programs differ in which entry they use: the text read here might not be what other programs show.
            raise UnreadableFileError(NoTextReason.BROKEN)
        if any(entry.flag_bits & _IS_ENCRYPTED for entry in entries):
            raise UnreadableFileError(NoTextReason.ENCRYPTED)
        self._left = MAX_UNPACKED

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def content(self, name: str) -> bytes:
        """The bytes of an entry. Raises as ``tree``."""
        return b"".join(self._blocks(name))

    def tree(self, name: str) -> Element:
        """An entry.

        Raises:
            UnreadableFileError: there is no such entry; it is broken, not XML or has a document type; or it exceeds a limit.
        """
        builder = _Builder(())
        for _ in _built(self._blocks(name), builder):
            pass
        return cast(Element, builder.root)

    def iter_elements(self, name: str, *wanted: str, within: tuple[str, ...] = ()) -> Iterator[Element]:
        """The elements of an entry with one of these names, or whose parents have the names ``within``, from the root on, as each ends.

        Only one is kept at a time: a long document as a whole would need more memory than there is. Raises as ``tree``.
        """
        builder = _Builder(wanted, within)
        for _ in _built(self._blocks(name), builder):
            yield from builder.elements
            builder.elements.clear()

    def _blocks(self, name: str) -> Iterator[bytes]:
        entry = self._entries.get(name)
        if entry is None or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableFileError(NoTextReason.BROKEN)
        # The sizes in the archive may be wrong; then reading ends earlier, or fails.
        if entry.file_size > SMALL and entry.file_size > entry.compress_size * MAX_RATIO:
            raise UnreadableFileError(NoTextReason.PACKED)
        try:
            with self._zip.open(entry) as opened:
                while block := opened.read(_BLOCK):
                    self._left -= len(block)
                    if self._left < 0:
                        raise UnreadableFileError(NoTextReason.UNPACKED)
                    yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError):
            raise UnreadableFileError(NoTextReason.BROKEN) from None


def resolve_name(part: str, target: str) -> str:
    """The name of the entry that the entry ``part`` refers to as ``target``. For a target outside the archive, no entry has that name."""
    return target.lstrip("/") if target.startswith("/") else normpath(join(part.rpartition("/")[0], target))
