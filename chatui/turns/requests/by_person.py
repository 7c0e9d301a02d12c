"""A person's request for a turn, from any interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from chatui.accounts.sessions import SignedIn
from chatui.json_schemas.answer_format import AnswerFormat
from chatui.store.documents.attached import FileUse as FileUse  # for callers
from chatui.store.documents.attached import PreparedDocument


class Kind(StrEnum):
    """How a request relates to the tree: a new question at the end, a sibling of an old question, a new answer to an old question, or the
    continuation of an answer."""

    SEND = "send"
    EDIT = "edit"
    REGENERATE = "regenerate"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person asks for. ``client_id`` makes it idempotent; ``conversation`` None starts a new one, in ``folder``.

    ``continued_turn``: the turn whose answer is to be continued, with the settings of that turn. If ``question`` is set too, its answer
    continues after the last stored message instead, with the settings of this request. ``choice``: a back end or one of its models; empty
    for the person's default, None for the conversation's current choice. ``tools_off``: names of tools that are off in a new conversation.
    ``answer_format``: the required format of the answers in a new conversation. ``temporary``: a new conversation is in no list or folder,
    and is soon erased. ``files``: those that come with the question; ``documents``: those files, ready to be stored. ``has_own_files``: an
    edited question has only these files; otherwise it keeps the documents of the old version.
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
    """If set, checked again when the turn is stored."""
    language: str = ""
    """The language of the asking page."""
    is_queued: bool = False
    """There may be no slot for the turn when it is launched, so its row says from the start that it waits."""
    key: UUID | None = None
    """The API key with which a program asks."""
    tokens_before: int = 0
    """The approximate token count of a program's messages other than its question."""
