"""Writes the reply to a ``python`` call for the model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from chatui.tools.files import StoredFileInfo
from chatui.tools.python.executors import Outcome

_SILENT = "[No output. Only what is printed, and the value of the last expression, is output.]"
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that control a terminal, or that a database cannot store."""
DIRECTORY = "/mnt/data"


_DIGEST_CHARS = 12
"""The characters of a file's digest to show: enough to identify the file, at few tokens."""
_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class FileResults:
    """The results for a call's files: those ``stored`` for the person, and those ``left_out``, with the reason for each."""

    stored: tuple[StoredFileInfo, ...] = ()
    left_out: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def reply(outcome: Outcome, given: FileResults | None = None) -> str:
    """The output of the code, then notes in brackets."""
    parts = [
        _NOT_TEXT.sub("\ufffd", outcome.text.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n"),
        *_notes(outcome, given or FileResults()),
    ]
    return "\n".join(part for part in parts if part) or _SILENT


def _notes(outcome: Outcome, given: FileResults) -> list[str]:
    notes = []
    listed = {made.name for made in outcome.copied_out.made} | {name for name, _ in given.left_out}
    if others := [f"{name} ({size} bytes)" for name, size in outcome.files if name not in listed]:
        notes.append(f"[Files made or changed in {DIRECTORY}: {', '.join(others)}]")
    if given.stored:
        named = ", ".join(f"{file.name} ({file.size} bytes, sha256 {file.sha256[:_DIGEST_CHARS]})" for file in given.stored)
        notes.append(f"[The person now has these files: {named}]")
    if given.left_out:
        named = ", ".join(f"{_NOT_TEXT.sub('?', name)[:_NAME_CHARS]} ({why})" for name, why in given.left_out)
        notes.append(f"[The person does not get these files: {named}]")
    return notes + _notes_on_interpreter(outcome)


def _notes_on_interpreter(outcome: Outcome) -> list[str]:
    notes = []
    if outcome.not_copied_in:
        notes.append(f"[These files of the conversation could not be put into {DIRECTORY}: {', '.join(outcome.not_copied_in)}]")
    if outcome.deleted:
        notes.append(f"[The person deleted these files, and they are not in {DIRECTORY} any more: {', '.join(outcome.deleted)}]")
    if outcome.ended:
        notes.append(f"[The interpreter ended: {outcome.ended}. Its variables and files are lost; the next call begins with a new one.]")
    elif outcome.copied_in and outcome.is_new:
        notes.append(
            f"[This call began with a new interpreter. In {DIRECTORY} were the conversation's files: {', '.join(outcome.copied_in)}]"
        )
    elif outcome.copied_in:
        notes.append(f"[New files from the person in {DIRECTORY}: {', '.join(outcome.copied_in)}]")
    elif outcome.is_new and outcome.has_failed:
        notes.append("[This call began with a new interpreter, without the variables and files of earlier calls.]")
    return notes
