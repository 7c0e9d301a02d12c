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
from renderer import characters
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
    """What a person or a program asks for. ``client_id`` makes it idempotent; ``conversation`` None starts a new one, in ``folder``, with
    the newest version of ``assistant``, which asks the ``collections``.

    ``continued_turn``: the turn whose answer is to be continued, with the settings of that turn. If ``question`` is set too, its answer
    continues after the last stored message instead, with the settings of this request. ``choice``: a model server or one of its models;
    empty or None for the one that the conversation stays with, or the default of a new one. ``stays_with``: the choice that the
    conversation keeps, if ``choice`` is for this answer alone. ``tools_off``: names of tools that are off in a new
    conversation. ``answer_format``: the required format of the answers in a new conversation. ``temporary``: a new conversation is in no
    list or folder, and is soon erased. ``files``: those that come with the question; ``documents``: those files, ready to be stored.
    ``has_own_files``: an edited question has only these files; otherwise it keeps the documents of the old version. ``program``: what only
    a program asks for, with its ``key``. Its ``client_id`` becomes the answer's id, and its ``answer_format`` is for this answer.
    """

    kind: AskKind
    client_id: UUID
    effort: str
    conversation: UUID | None = None
    question: object | None = None
    continued_turn: object | None = None
    choice: str | None = None
    stays_with: str | None = None
    folder: UUID | None = None
    assistant: UUID | None = None
    collections: tuple[UUID, ...] = ()
    tools_off: frozenset[str] = frozenset()
    answer_format: AnswerFormat | None = None
    temporary: bool = False
    files: tuple[QuestionFile, ...] = ()
    has_own_files: bool = False
    documents: tuple[PreparedDocument, ...] = field(default=(), repr=False)
    text: str = field(default="", repr=False)
    session: SignedIn | None = field(default=None, repr=False)
    """If set, checked again when the turn is stored."""
    language: str = ""
    """The language of the asking page."""
    key: UUID | None = None
    """The API key with which a program asks."""
    program: ProgramAsk | None = field(default=None, repr=False)


class AskRefusedError(Exception):
    """The request was refused, and nothing was stored. ``code`` carries the message for the person; ``until`` is when a limit ends (None:
    no limit is reached, or it ends with an answer); ``retry_after``: the seconds after which it may be asked again, if they are known."""

    def __init__(self, code: ErrorCode, until: datetime | None = None, retry_after: int | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.until = until
        self.retry_after = retry_after


FUNCTIONS = "functions."


@dataclass(frozen=True, slots=True)
class FunctionOffer:
    """``functions``: the program's functions that may be called, by the name that the model reads. ``names``: the program's own names for
    all functions that it sent, by the name that the model reads.

    ``own_tools``: names of the product's tools; ``hosted``: their labels, by recipient. ``must_call``: an answer without a call does not
    count. ``is_parallel``: several calls may be made at once.
    ``max_calls``: limit for the calls in the whole answer, to functions and tools; None for the operator's limit.
    """

    functions: Mapping[str, Tool] = field(default_factory=dict, repr=False)
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    own_tools: frozenset[str] = frozenset()
    hosted: Mapping[str, str] = field(default_factory=dict)
    must_call: bool = False
    is_parallel: bool = True
    max_calls: int | None = None

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
    """A message before the question, as the program sends it: a person's, an answer, or a preamble. ``sealed``: a token in place of a text,
    possibly from this server (``chatui.turns.sealed``). ``is_thought``: reasoning, out of such a token or as the program sends it.
    ``is_compacted``: the token, or the text that came out of it, summarizes a whole conversation."""

    text: str = field(repr=False)
    is_person: bool = False
    is_preamble: bool = False
    is_thought: bool = False
    sealed: str = field(default="", repr=False)
    is_compacted: bool = False


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call to one of its functions, as the program sends it. ``function``: the name that the model reads; ``arguments``: JSON."""

    call_id: str
    function: str
    arguments: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class EarlierReply:
    """The reply of one of the program's functions. ``call_id``: that of an earlier call here, or in the answer that the program continues
    from."""

    call_id: str
    output: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ProgramAsk:
    """What only a program asks for. ``previous``: the answer that it continues from, of its key ``only_key``, or of any of its owner's;
    ``before`` then follows it. ``conversation``: the one of its key that it continues instead. Without a question, the last messages are
    function replies, and the answer continues after them.

    ``standing_instructions``: the text of its system and developer messages, which also apply to later turns, unlike ``instructions``.
    ``sampling``: its sampling parameters. ``is_kept``: whether the turn stays stored after the answer. ``settings_as_sent``: its
    settings in the format of its API. ``at_once``: how many answers may be written at once with its key; None: as many as for its owner.
    ``is_prefilled``: the last of ``before`` is the beginning of the answer, which the model continues.
    ``stop``: texts that end the answer where the first of them begins.
    """

    stream: ProgramStream = field(repr=False)
    before: tuple[EarlierMessage | EarlierCall | EarlierReply, ...] = field(default=(), repr=False)
    offer: FunctionOffer = field(default_factory=FunctionOffer, repr=False)
    previous: UUID | None = None
    conversation: UUID | None = None
    only_key: UUID | None = None
    instructions: str = field(default="", repr=False)
    standing_instructions: str = field(default="", repr=False)
    max_tokens: int | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    must_fit: bool = True
    is_kept: bool = True
    settings_as_sent: Mapping[str, Any] = field(default_factory=dict, repr=False)
    at_once: int | None = None
    stop: tuple[str, ...] = field(default=(), repr=False)
    is_prefilled: bool = False

    @property
    def all_instructions(self) -> str:
        return "\n\n".join(filter(None, (self.standing_instructions, self.instructions, self.offer.words)))


def storable(value: Any) -> Any:
    """The JSON value without characters that cannot be stored or sent."""
    match value:
        case str():
            return characters.storable(value)
        case list():
            return [storable(item) for item in value]
        case dict():
            return {characters.storable(name): storable(item) for name, item in value.items()}
        case _:
            return value
