"""The rule for everything that a document holds: it becomes text, or a mark in its place, or it counts as left out.

Each reader knows what is in its format: what it reads, what says only how something looks, and what it counts. Whatever is in none of
these lists is unknown: it counts where it holds or points to text, a value or a picture, so that no new element is lost without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.kinds import UnreadThing

_POINTERS = ("href", "src")
_SPACES_OF_POINTERS = ("relationships", "xlink")
"""The ends of the namespaces whose attributes point to something."""
_VALUES = ("val", "value", "string-value", "date-value", "time-value", "boolean-value", "text", "alt", "descr", "title")


@dataclass(frozen=True, slots=True)
class KnownThings:
    """What a reader knows of its format, by the local names of elements or by the types of relationships."""

    read: frozenset[str]
    """The reader looks into it, and writes what is there."""
    plain: frozenset[str] = frozenset()
    """All of it says only how something looks or was made."""
    counted: Mapping[str, UnreadThing] = field(default_factory=dict)
    """All of it is one thing of a kind."""

    def look_into(self, element: Element, collector: TextCollector) -> bool:
        """Whether a reader is to go on with what is in an element. Counts the element if it is not read, or unknown and not empty."""
        name = element.tag
        if name in self.read:
            return True
        if name in self.plain:
            return False
        if name in self.counted:
            collector.count(self.counted[name])
            return False
        has_known = any(each.tag in self.read or each.tag in self.counted for each in element.iter())
        # Of an unknown element without a known one, only the outermost counts.
        collector.count(UnreadThing.OTHER, any(map(holds, (element,) if has_known else element.iter())))
        return has_known

    def count_all(self, element: Element, collector: TextCollector) -> None:
        """Count what is in an element whose text no reader writes."""
        if self.look_into(element, collector):
            for child in element:
                self.count_all(child, collector)

    def count_parts(self, types: Iterable[str], collector: TextCollector) -> None:
        """Count the parts of an archive to which a part that is read has relationships of these types."""
        for each in types:
            if each not in self.read and each not in self.plain:
                collector.count(self.counted.get(each, UnreadThing.OTHER))


def holds(element: Element) -> bool:
    """Whether an element itself, not what is in it, holds text or a value, or points to something."""
    if (element.text or "").strip() or any((child.tail or "").strip() for child in element):
        return True
    return any(value.strip() and _is_content(name) for name, value in element.attrib.items())


def _is_content(name: str) -> bool:
    space, _, own = name.rpartition(" ")
    return own in _POINTERS or own in _VALUES or space.rstrip("/").endswith(_SPACES_OF_POINTERS)
