"""The summary frame: the lines of a reasoning summary that people were shown, as one frame of a transcript."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from renderer.errors import ErrorCode
from renderer.events import Finished
from renderer.frame_kinds import SUMMARY, SUMMARY_NAME
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, VisibleText, show
from renderer.summary.check import Reason

ASIDE = Header(Role.ASSISTANT, Channel.ANALYSIS, name=SUMMARY_NAME, intent=Intent.DEBUG)
"""What staff see of summaries: those that were blocked, each with its reason, and what a server sent by that name."""

_KEPT_OF_BLOCKED = 500


@dataclass(frozen=True, slots=True)
class Blocked:
    """A line that is not shown, and why."""

    line: str = field(repr=False)
    reason: Reason


def shown(line: str) -> VisibleText:
    """A line that was allowed, as people get it: the text of a frame that the gate lets through."""
    return show(Frame(SUMMARY, line), Audience.END_USER)


def frames(steps: Iterable[str], blocked: Iterable[Blocked], code: ErrorCode) -> list[Finished]:
    """What is kept of a turn's summary: what was blocked, for staff and with that code, then the steps, where there are any."""
    hidden = (Frame(ASIDE, f"{item.reason.capitalize()}:\n\n{item.line[:_KEPT_OF_BLOCKED]}") for item in blocked)
    kept = [Finished(frame, error=code) for frame in hidden]
    body = "\n".join(f"- {_as_markdown(step)}" for step in steps)
    return [*kept, Finished(Frame(SUMMARY, body))] if body else kept


def steps_of(body: str) -> list[str]:
    """The steps in the body of a summary frame of ours, as they were shown."""
    return [_ESCAPED.sub(r"\1", line[2:]) for line in body.splitlines() if line.startswith("- ")]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$^=])")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>()#+!|~&$^=])")


def _as_markdown(step: str) -> str:
    return _SPECIAL.sub(r"\\\1", step)
