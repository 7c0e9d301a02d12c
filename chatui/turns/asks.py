"""A person's or a program's request for a turn, from any interface, and the error for one that is refused before anything is stored.

A program also sends earlier messages, instructions and settings, in any API format. It lets the model call its own functions, and the
product's tools that its key allows. Characters that a database or UTF-8 cannot store are removed from its texts and names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from chatui.accounts.sessions import SignedIn
from chatui.answer_formats import AnswerFormat
from chatui.backends.context_window import SEEN_CHARS as SEEN_CHARS
from chatui.backends.spec import SAMPLING as SAMPLING
from chatui.store.documents import PreparedDocument
from chatui.store.documents import QuestionFile as QuestionFile
from chatui.tools.tool import Tool
from chatui.turns.streams.program import ProgramStream
from renderer.errors import ErrorCode


class AskKind(StrEnum):
    """How a request relates to the tree: a new question at the end, a sibling of an old question, a new answer to an old question, or the
    continuation of an answer."""

    SEND = "send"
    EDIT = "edit"
    REGENERATE = "regenerate"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person or a program asks for."""

    kind: AskKind
    client_id: UUID
    """Makes it idempotent. That of a program becomes the answer's id."""
    effort: str
    conversation: UUID | None = None
    """None starts a new one."""
    question: object | None = None
    """The stored question that it is about; None for a new one."""
    continued_turn: object | None = None
    """The turn whose answer is to be continued, with the settings of that turn. If ``question`` is set too, its answer continues after the
    last stored message instead, with the settings of this request."""
    choice: str | None = None
    """A model server or one of its models; empty or None for the one that the conversation stays with, or the default of a new one."""
    stays_with: str | None = None
    """The choice that the conversation keeps, if ``choice`` is for this answer alone."""
    folder: UUID | None = None
    """Where a new conversation is put."""
    assistant: UUID | None = None
    """A new conversation begins with its newest version."""
    collections: tuple[UUID, ...] = ()
    """Those that a new conversation asks."""
    tools_off: frozenset[str] = frozenset()
    """Names of tools that are off in a new conversation."""
    answer_format: AnswerFormat | None = None
    """The required format of the answers in a new conversation; of a program, that of this answer."""
    temporary: bool = False
    """A new conversation is in no list or folder, and is soon erased."""
    files: tuple[QuestionFile, ...] = ()
    """Those that come with the question."""
    has_own_files: bool = False
    """An edited question has only these files; otherwise it keeps the documents of the old version."""
    documents: tuple[PreparedDocument, ...] = field(default=(), repr=False)
    """These files, ready to be stored."""
    text: str = field(default="", repr=False)
    session: SignedIn | None = field(default=None, repr=False)
    """If set, checked again when the turn is stored."""
    language: str = ""
    """The language of the asking page."""
    key: UUID | None = None
    """The API key with which a program asks."""
    program: ProgramAsk | None = field(default=None, repr=False)
    """What only a program asks for."""


class AskRefusedError(Exception):
    """The request was refused, and nothing was stored."""

    def __init__(self, code: ErrorCode, until: datetime | None = None, retry_after: int | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        """Has the message for the person."""
        self.until = until
        """When a limit ends; None if no limit is reached, or if it ends with an answer."""
        self.retry_after = retry_after
        """The seconds after which it may be asked again, if they are known."""


FUNCTIONS = "functions."


@dataclass(frozen=True, slots=True)
class FunctionOffer:
    """What a model may call for a program: the program's functions, and tools of the product."""

    functions: Mapping[str, Tool] = field(default_factory=dict, repr=False)
    """The program's functions that may be called, by the name that the model reads."""
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The program's own names for all functions that it sent, by the name that the model reads."""
    own_tools: frozenset[str] = frozenset()
    """Names of the product's tools."""
    hosted: Mapping[str, str] = field(default_factory=dict)
    """The labels of these tools, by recipient."""
    must_call: bool = False
    """An answer without a call does not count."""
    is_parallel: bool = True
    """Several calls may be made at once."""
    max_calls: int | None = None
    """Limit for the calls in the whole answer, to functions and tools; None for the operator's limit."""

    @property
    def recipients(self) -> frozenset[str]:
        return frozenset(f"{FUNCTIONS}{name}" for name in self.functions)

    @property
    def other_recipients(self) -> dict[str, str]:
        """How else a model may call the functions, which the program's texts name as it does: by the program's own name, with or without
        the prefix. Without it, a name of a tool of ours that may be called here is that tool's."""
        renamed = {name: f"{FUNCTIONS}{model}" for model, name in self.names.items() if model in self.functions and model != name}
        bare = {name: recipient for name, recipient in renamed.items() if name not in self.hosted}
        return {**bare, **{f"{FUNCTIONS}{name}": recipient for name, recipient in renamed.items()}}

    @property
    def words(self) -> str:
        """Extra instructions for the model, because not every server can force a call."""
        if not self.must_call:
            return ""
        named = f"the function `{next(iter(self.functions))}`" if len(self.functions) == 1 else "one of the functions"
        return f"Do not answer before you have called {named}. Your next message after thinking must be the call."


@dataclass(frozen=True, slots=True)
class EarlierMessage:
    """A message before the question, as the program sends it: a person's, an answer, or a preamble."""

    text: str = field(repr=False)
    is_person: bool = False
    is_preamble: bool = False
    is_thought: bool = False
    """Whether it is reasoning, out of a sealed token or as the program sends it."""
    sealed: str = field(default="", repr=False)
    """A token in place of a text, possibly from this server (``chatui.turns.sealed``)."""
    is_compacted: bool = False
    """Whether the token, or the text that came out of it, summarizes a whole conversation."""


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call to one of its functions, as the program sends it."""

    call_id: str
    function: str
    """The name that the model reads."""
    arguments: str = field(repr=False)
    """JSON."""


@dataclass(frozen=True, slots=True)
class EarlierReply:
    """The reply of one of the program's functions. ``call_id``: that of an earlier call here, or in the answer that the program continues
    from."""

    call_id: str
    output: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ProgramAsk:
    """What only a program asks for. Without a question, the last messages are function replies, and the answer continues after them."""

    stream: ProgramStream = field(repr=False)
    before: tuple[EarlierMessage | EarlierCall | EarlierReply, ...] = field(default=(), repr=False)
    """The messages that it sends before the question."""
    offer: FunctionOffer = field(default_factory=FunctionOffer, repr=False)
    previous: UUID | None = None
    """The answer that it continues from; ``before`` then follows it."""
    conversation: UUID | None = None
    """The one of its key that it continues instead."""
    only_key: UUID | None = None
    """The key of the answer that it continues from; None for any key of its owner."""
    instructions: str = field(default="", repr=False)
    """Its instructions for this answer alone."""
    standing_instructions: str = field(default="", repr=False)
    """The text of its system and developer messages, which also apply to later turns."""
    max_tokens: int | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    """Its sampling parameters."""
    must_fit: bool = True
    is_kept: bool = True
    """Whether the turn stays stored after the answer."""
    settings_as_sent: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Its settings in the format of its API."""
    at_once: int | None = None
    """How many answers may be written at once with its key; None: as many as for its owner."""
    stop: tuple[str, ...] = field(default=(), repr=False)
    """Texts that end the answer where the first of them begins."""
    is_prefilled: bool = False
    """The last of ``before`` is the beginning of the answer, which the model continues."""

    @property
    def all_instructions(self) -> str:
        return "\n\n".join(filter(None, (self.standing_instructions, self.instructions, self.offer.words)))
