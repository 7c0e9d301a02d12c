"""Writes and reads the frame that holds the lines of a reasoning summary in a transcript: a Markdown list of English sentences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from renderer.activities.activity import Activity, from_sentence
from renderer.activities.kinds import KINDS
from renderer.activities.lines import MOST_LINES
from renderer.frame_kinds import SUMMARY
from renderer.frames import Frame

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$^=])")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>()#+!|~&$^=])")


_LINE_CHARS = 300
"""The longest line that is read as one of ours, with its escapes: work on a longer one would grow with the square of its length."""


def frame_of(lines: Iterable[Activity]) -> Frame:
    """The frame of these lines, of which there is at least one."""
    return Frame(SUMMARY, "\n".join("- " + _SPECIAL.sub(r"\\\1", line.sentence) for line in lines))


def lines_in(body: str, texts: Collection[str]) -> tuple[Activity, ...] | None:
    """The lines in the body of such a frame, whoever wrote it. ``texts``: what the person wrote, from which alone a line may quote.

    None unless every line is one of our sentences, there are no more than a turn can have, and no kind is there twice. The name of a file
    is left out, because a transcript does not hold it.
    """
    items = body.strip().splitlines()
    if not items or len(items) > MOST_LINES or not all(item.startswith("- ") and len(item) <= _LINE_CHARS for item in items):
        return None
    lines = [_line(_ESCAPED.sub(r"\1", item[2:]), texts) for item in items]
    known = tuple(line for line in lines if line is not None)
    return known if len({line.doing for line in known}) == len(items) else None


def _line(sentence: str, texts: Collection[str]) -> Activity | None:
    if (line := from_sentence(sentence, texts)) is not None:
        return line
    named = from_sentence(sentence, [sentence])
    return replace(named, about=()) if named is not None and KINDS[named.doing].about == "file" else None
