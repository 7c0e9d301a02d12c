"""The reply to a call of ``python``, in the words in which a model reads it."""

from __future__ import annotations

import re

from chatui.tools.python.executors import Outcome

_SILENT = "[No output. Only what is printed, and the value of the last expression, is output.]"
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that move a terminal, or that a database cannot store."""
DIRECTORY = "/mnt/data"


def reply(outcome: Outcome) -> str:
    """What the code wrote, then what else there is to know, in brackets."""
    parts = [_NOT_TEXT.sub("\ufffd", outcome.text.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n"), *_notes(outcome)]
    return "\n".join(part for part in parts if part) or _SILENT


def _notes(outcome: Outcome) -> list[str]:
    notes = []
    if outcome.files:
        named = ", ".join(f"{name} ({size} bytes)" for name, size in outcome.files)
        notes.append(f"[Files made or changed in {DIRECTORY}: {named}]")
    if outcome.ended:
        notes.append(f"[The interpreter ended: {outcome.ended}. Its variables and files are lost; the next call begins with a new one.]")
    elif outcome.is_new and outcome.has_failed:
        notes.append("[This call began with a new interpreter: nothing of earlier calls is there any more.]")
    return notes
