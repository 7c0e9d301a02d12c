"""The interface for running code for a conversation, in this machine's sandbox or in the operator's own service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from chatui.tools.file_access import TurnFiles
from chatui.tools.python.data_files import CopiedFiles


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """Code to run for a conversation. ``person_id``: the person who asked; interpreters are counted per person. ``files``: the files to
    copy into a new interpreter's ``/mnt/data``; None if files are off. Of the files that a call creates, up to ``max_files`` are copied
    out, each of at most ``max_file_bytes``.
    """

    conversation_id: UUID
    person_id: UUID
    code: str = field(repr=False)
    seconds: float
    max_chars: int
    files: TurnFiles | None = field(default=None, repr=False)
    max_files: int = 0
    max_file_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CodeOutcome:
    """The result of running code. ``text``: the output, of bounded length. ``files``: names and sizes of files created in ``/mnt/data``.
    ``copied_out``: the files copied out of the sandbox. ``copied_in``: names of the conversation's files copied in before the call;
    ``not_copied_in``: names of those that could not be; ``deleted``: names of those that were deleted. ``is_new``: the interpreter had no
    state of earlier calls. ``ended``: why the interpreter ended, and the next call has no state; empty if it still runs.
    """

    text: str = field(repr=False)
    has_failed: bool = False
    files: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    is_new: bool = False
    ended: str = ""
    copied_out: CopiedFiles = field(default_factory=CopiedFiles, repr=False)
    copied_in: tuple[str, ...] = field(default=(), repr=False)
    not_copied_in: tuple[str, ...] = field(default=(), repr=False)
    deleted: tuple[str, ...] = field(default=(), repr=False)


class Executor(Protocol):
    """Runs code, with state that lasts between the calls of a conversation."""

    async def run(self, asked: CodeRequest) -> CodeOutcome:
        """Run code. If this is cancelled, the code ends within a second.

        Raises:
            ToolError: the code could not be started. The text is for the model.
        """

    async def forget(self, conversation_id: UUID) -> None:
        """End the interpreter of a conversation. Never raises."""

    async def delete_files(self, conversation_id: UUID, names: Sequence[str]) -> None:
        """Remove files that the person has deleted, with everything that code derived from them. Never raises."""

    def has(self, conversation_id: UUID) -> bool:
        """Whether this process may have an interpreter for that conversation. May be called in any thread."""
