"""Writes and reads the frame that holds the lines of a reasoning summary in a transcript: a Markdown list of English sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable

from renderer.activities.activity import Activity
from renderer.frame_kinds import SUMMARY
from renderer.frames import Frame

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$^=])")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>()#+!|~&$^=])")


def frame_of(lines: Iterable[Activity]) -> Frame:
    """The frame of these lines, of which there is at least one."""
    return Frame(SUMMARY, "\n".join("- " + _SPECIAL.sub(r"\\\1", line.sentence) for line in lines))


def sentences_in(body: str) -> list[str]:
    """The sentences in the body of such a frame, as plain text."""
    return [_ESCAPED.sub(r"\1", line[2:]) for line in body.splitlines() if line.startswith("- ")]
