"""A person's request for a turn, from any interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from chatui.accounts.sessions import SignedIn
from chatui.json_schemas.answer_format import AnswerFormat
from chatui.store.documents.attached import FileUse as FileUse  # who asks, makes it
from chatui.store.documents.attached import PreparedDocument


class Kind(StrEnum):
    """How a question relates to the tree: a new one at the end, a sibling of an old one, an old one again, or one whose answer is
    continued."""

    SEND = "send"
    EDIT = "edit"
    REGENERATE = "regenerate"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person asks for. ``client_id`` makes it idempotent; ``conversation`` None starts a new one, in ``folder``.

    ``continued_turn``: the turn whose answer is to be continued, with the settings of that turn; with a ``question``, the answer to it goes
    on behind what is stored, with the settings of this ask. ``choice``: a back end or one of its models; empty for the person's default,
    None for the conversation's current choice. ``tools_off``: names of tools that a new conversation does without. ``answer_format``: what
    the answers of a new conversation have to be. ``temporary``: it is in no list and no folder, and soon gone. ``files``: those that come
    with the question, and ``documents`` what is stored of them. ``has_own_files``: a question that is edited comes with these and no
    others; otherwise it keeps the documents of the old one.
    """

    kind: Kind
    client_id: UUID
    effort: str
    conversation: UUID | None = None
    question: object | None = None
    continued_turn: object | None = None
    choice: str | None = None
    folder: UUID | None = None
    tools_off: frozenset[str] = frozenset()
    answer_format: AnswerFormat | None = None
    temporary: bool = False
    files: tuple[FileUse, ...] = ()
    has_own_files: bool = False
    documents: tuple[PreparedDocument, ...] = field(default=(), repr=False)
    text: str = field(default="", repr=False)
    session: SignedIn | None = field(default=None, repr=False)
    """Checked once more where it is given."""
    language: str = ""
    """The asking page's."""
    key: UUID | None = None
    """With which a program asks."""
    tokens_before: int = 0
    """About how many tokens a program gives besides its question."""
