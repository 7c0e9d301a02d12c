"""The interface that runs code for a conversation: in this machine's sandbox, or in the operator's own service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from chatui.tools.files import TurnFiles
from chatui.tools.python.data_files import Taken


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """Code to run for a conversation. ``person_id``: who asked; interpreters are counted for each person.

    ``files``: what is laid into a new interpreter's ``/mnt/data``; None where files neither go in nor come out. Of those that a call makes,
    ``most_files`` come out, each of at most ``most_file_bytes``.
    """

    conversation_id: UUID
    person_id: UUID
    code: str = field(repr=False)
    seconds: float
    most_chars: int
    files: TurnFiles | None = field(default=None, repr=False)
    most_files: int = 0
    most_file_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of running code. ``text``: what the code wrote, of bounded length. ``files``: names and sizes of what it made in
    ``/mnt/data``.

    ``taken``: those of them that came out. ``laid``: names of files of the conversation that were put there before the call; ``not_laid``:
    names of those that could not be; ``dropped``: names of those that were taken away.
    ``is_new``: nothing else of earlier calls was there. ``ended``: why nothing of this call is left for the next; empty if it is.
    """

    text: str = field(repr=False)
    has_failed: bool = False
    files: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    is_new: bool = False
    ended: str = ""
    taken: Taken = field(default_factory=Taken, repr=False)
    laid: tuple[str, ...] = field(default=(), repr=False)
    not_laid: tuple[str, ...] = field(default=(), repr=False)
    dropped: tuple[str, ...] = field(default=(), repr=False)


class Executor(Protocol):
    """Runs code, with state that lasts between the calls of a conversation."""

    async def run(self, asked: CodeRequest) -> Outcome:
        """Run code. Cancelled, it ends what runs within a second.

        Raises:
            ToolError: it could not be begun. The text is for the model.
        """
        ...

    async def forget(self, conversation_id: UUID) -> None:
        """End the interpreter of a conversation. Never raises."""
        ...

    async def take_away(self, conversation_id: UUID, names: Sequence[str]) -> None:
        """The person has deleted files of these names: of them, and of what code made of them, nothing is kept. Never raises."""
        ...

    def has(self, conversation_id: UUID) -> bool:
        """Whether code of that conversation may have run here, so that there may be an interpreter. In any thread."""
        ...
