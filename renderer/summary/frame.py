"""Writes and reads the frame that holds a reasoning summary in a transcript."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from renderer.errors import ErrorCode
from renderer.events import Finished
from renderer.frame_kinds import ASIDE, SUMMARY
from renderer.frames import Frame
from renderer.gate import Audience, VisibleText, show
from renderer.summary.reasons import Reason

_BLOCKED_CHARS = 500


@dataclass(frozen=True, slots=True)
class Blocked:
    """A line that is not shown, and why."""

    line: str = field(repr=False)
    reason: Reason


def shown(line: str) -> VisibleText:
    """An allowed line as people see it: the text of a frame that the gate allows."""
    return show(Frame(SUMMARY, line), Audience.END_USER)


def frames(steps: Iterable[str], blocked: Iterable[Blocked], code: ErrorCode) -> list[Finished]:
    """The frames that are stored for a turn's summary: blocked lines, for staff, with their error code; then the steps, if any."""
    hidden = (Frame(ASIDE, f"{item.reason.capitalize()}:\n\n{item.line[:_BLOCKED_CHARS]}") for item in blocked)
    finished = [Finished(frame, error=code) for frame in hidden]
    body = "\n".join(f"- {_as_markdown(step)}" for step in steps)
    return [*finished, Finished(Frame(SUMMARY, body))] if body else finished


def steps_of(body: str) -> list[str]:
    """The steps in the body of one of our summary frames, as they were shown."""
    return [_ESCAPED.sub(r"\1", line[2:]) for line in body.splitlines() if line.startswith("- ")]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$^=])")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>()#+!|~&$^=])")


def _as_markdown(step: str) -> str:
    return _SPECIAL.sub(r"\\\1", step)
