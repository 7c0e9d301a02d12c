"""Parses XML as a stream of elements, of limited number and depth. A document type, and with it any custom entity, is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol
from xml.parsers import expat

from chatui.documents.inside.text_collector import RefusedError
from chatui.documents.kinds import Reason

MAX_ELEMENTS = 5_000_000
MAX_DEPTH = 2000
_NAMESPACE_SEPARATOR = " "


class Listener(Protocol):
    """Receives elements by their local names. The name of an attribute with a namespace is ``uri name``."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def data(self, text: str) -> None:
        """Text in the innermost open element."""


def parse(blocks: Iterable[bytes], listener: Listener) -> None:
    """Parse a whole document, and pass its elements to the listener.

    Raises:
        RefusedError: the document is not XML, has a document type, or has too many or too deeply nested elements.
    """
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
        parser.Parse(b"", True)
    except (expat.ExpatError, LookupError, ValueError):
        raise RefusedError(Reason.BROKEN) from None


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


class _Counted:
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._count = self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        self._depth += 1
        if self._count > MAX_ELEMENTS or self._depth > MAX_DEPTH:
            raise RefusedError(Reason.LIMIT)
        self._listener.start(local(name), attributes)

    def end(self, name: str) -> None:
        self._depth -= 1
        self._listener.end(local(name))


def _refuse(*_: object) -> None:
    raise RefusedError(Reason.BROKEN)
