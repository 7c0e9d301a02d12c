"""Separates an answer's text from the sections that other products collapse in it: ``<details>`` and ``:::`` blocks.

Open WebUI stores reasoning, tool calls and code runs in the text, as ``<details type="…">``, and LibreChat stores reasoning as
``:::thinking``. A block ends only at an end mark on its own line; without one, everything up to the end of the text is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an answer's text. ``is_reasoning`` is known for hidden ones only."""

    is_visible: bool
    text: str = field(repr=False)
    is_reasoning: bool = False


def sections(text: str) -> Iterator[Section]:
    """Split the whole text into sections, in order."""
    position = 0
    while begin := _BEGIN.search(text, position):
        if begin.start() > position:
            yield Section(True, text[position : begin.start()])
        end = _end_of_details(text, begin.end()) if begin["details"] else _end_of_directive(text, begin.end())
        position = end
        yield Section(False, text[begin.start() : end], is_reasoning=_REASONING.search(text, begin.start(), begin.end() + 200) is not None)
    if position < len(text):
        yield Section(True, text[position:])


def _end_of_details(text: str, position: int) -> int:
    # Reasoning may mention the tag: an end tag counts only at the beginning of a line, where Open WebUI writes it; a start tag counts
    # anywhere.
    depth = 1
    for found in _DETAILS.finditer(text, position):
        depth += 1 if found["opening"] else -1
        if not depth:
            return found.end()
    return len(text)


def _end_of_directive(text: str, position: int) -> int:
    # Reasoning may contain such blocks itself.
    depth = 1
    for found in _DIRECTIVES.finditer(text, position):
        depth += 1 if found["opening"] else -1
        if not depth:
            return found.end()
    return len(text)


# A document that LibreChat shows beside the conversation (:::artifact) is meant for people; every other block of that kind is not.
# LibreChat finds its own in the middle of a line, too. Each run of colons is examined once, so that the cost stays linear.
_BEGIN = re.compile(
    r"(?P<details><details(?![\w-]))|(?<!:):::++[ \t]*+(?=think|reason|thought|analysis)|^[ \t>|*+-]*+:::++[ \t]*+(?!artifact\b)[a-z]",
    re.IGNORECASE | re.MULTILINE,
)
_DETAILS = re.compile(r"(?P<opening><details(?![\w-]))|^[ \t]*</details[ \t]*>", re.IGNORECASE | re.MULTILINE)
_DIRECTIVES = re.compile(r"(?<!:):::++[ \t]*+(?:(?P<opening>[a-z])|$)", re.IGNORECASE | re.MULTILINE)
_REASONING = re.compile(r"reason|think|thought|analysis", re.IGNORECASE)
