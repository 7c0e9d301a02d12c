"""Reads the zip archive of a document and the XML in it, within limits.

XML is parsed as a stream of elements, of limited number and depth. A document type, and with it any custom entity, is refused. The size of
an archive's entries is limited; nothing is written to disk, so entry names are harmless.
"""

from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from posixpath import join, normpath
from xml.parsers import expat

from chatui.documents.inside.text_collector import UnreadableFileError
from chatui.documents.kinds import NoTextReason

MAX_ELEMENTS = 5_000_000
MAX_DEPTH = 2000
_NAMESPACE_SEPARATOR = " "


class Listener:
    """Receives elements by their local names. The name of an attribute with a namespace is ``uri name``."""

    __slots__ = ()

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def data(self, text: str) -> None:
        """Text in the innermost open element."""


def _fed(blocks: Iterable[bytes], listener: Listener) -> Iterator[None]:
    """Parses the next block at each step."""
    parser = expat.ParserCreate(namespace_separator=_NAMESPACE_SEPARATOR)
    counted = _Counted(listener)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = counted.start
    parser.EndElementHandler = counted.end
    parser.CharacterDataHandler = listener.data
    try:
        for block in blocks:
            parser.Parse(block, False)
            yield
        parser.Parse(b"", True)
    except (expat.ExpatError, LookupError, ValueError):
        raise UnreadableFileError(NoTextReason.BROKEN) from None


class _Starts(Listener):
    def __init__(self) -> None:
        self.found: list[tuple[str, Mapping[str, str]]] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.found.append((name, attributes))


def local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition(_NAMESPACE_SEPARATOR)[2]


def attribute(attributes: Mapping[str, str], wanted: str, in_namespace: str = "") -> str:
    """The value of an attribute by its local name; empty if there is none. ``in_namespace``: the end of its namespace; by default, any."""
    for name, value in attributes.items():
        space, _, own = name.rpartition(_NAMESPACE_SEPARATOR)
        if own == wanted and space.endswith(in_namespace):
            return value
    return ""


def is_inherited(name: str, own: Mapping[str, bool], bases: Mapping[str, str]) -> bool:
    """What a style says, or else the nearest one that it is based on; False if none says anything."""
    seen: set[str] = set()
    while name not in own and name in bases and name not in seen:
        seen.add(name)
        name = bases[name]
    return own.get(name, False)


def is_on(value: str) -> bool:
    """Whether an attribute that hides something does so: what is not known to be visible is hidden. ``value``: empty if there is none."""
    return value.strip().lower() not in ("", "0", "false", "off", "no")


class _Counted:
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._count = self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        self._depth += 1
        if self._count > MAX_ELEMENTS or self._depth > MAX_DEPTH:
            raise UnreadableFileError(NoTextReason.LIMIT)
        self._listener.start(local(name), attributes)

    def end(self, name: str) -> None:
        self._depth -= 1
        self._listener.end(local(name))


def _refuse(*_: object) -> None:
    raise UnreadableFileError(NoTextReason.BROKEN)


MAX_ENTRIES = 2000
MAX_UNPACKED = 200_000_000
MAX_RATIO = 200
"""The largest ratio of unpacked to packed bytes, for entries longer than ``SMALL``."""
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
            raise UnreadableFileError(NoTextReason.LIMIT)
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) != len(entries):
            # With duplicate names, programs differ in which entry they use: the text read here might not be what other programs show.
            raise UnreadableFileError(NoTextReason.BROKEN)
        if any(entry.flag_bits & _IS_ENCRYPTED for entry in entries):
            raise UnreadableFileError(NoTextReason.ENCRYPTED)
        self._left = MAX_UNPACKED

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def parse(self, name: str, listener: Listener) -> None:
        """Parse an entry, and pass its elements to the listener.

        Raises:
            UnreadableFileError: there is no such entry; it is broken, not XML or has a document type; or it exceeds a limit.
        """
        for _ in _fed(self._blocks(name), listener):
            pass

    def starts(self, name: str) -> Iterator[tuple[str, Mapping[str, str]]]:
        """The local name and the attributes of each element of an entry. Raises as ``parse``."""
        listener = _Starts()
        for _ in _fed(self._blocks(name), listener):
            yield from listener.found
            listener.found.clear()

    def _blocks(self, name: str) -> Iterator[bytes]:
        entry = self._entries.get(name)
        if entry is None or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableFileError(NoTextReason.BROKEN)
        # The sizes in the archive may be wrong; then reading ends earlier, or fails.
        if entry.file_size > SMALL and entry.file_size > entry.compress_size * MAX_RATIO:
            raise UnreadableFileError(NoTextReason.LIMIT)
        try:
            with self._zip.open(entry) as opened:
                while block := opened.read(_BLOCK):
                    self._left -= len(block)
                    if self._left < 0:
                        raise UnreadableFileError(NoTextReason.LIMIT)
                    yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError):
            raise UnreadableFileError(NoTextReason.BROKEN) from None


def resolve_name(part: str, target: str) -> str:
    """The name of the entry that the entry ``part`` refers to as ``target``. For a target outside the archive, no entry has that name."""
    return target.lstrip("/") if target.startswith("/") else normpath(join(part.rpartition("/")[0], target))
