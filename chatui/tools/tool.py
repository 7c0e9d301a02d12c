"""A tool: its description for the model, its label for people, and the function that runs it.

A call's arguments are validated against the tool's schema, in bounded time for any schema. The line that people see while a tool runs is
its label, with only those arguments that the tool's author made visible.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from chatui.tools.file_access import TurnDocuments, TurnFiles, TurnSessions
from chatui.tools.person import TurnPerson
from renderer import characters
from renderer.harmony.prompt import FunctionTool
from renderer.markup.citations import CitableSource

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""A tool's whole name must match this: it becomes a type in the TypeScript that the model reads, and a part of headers."""

TRAINED_NAMES = frozenset({"assistant", "bash", "browser", "functions", "python", "system", "user"})
"""Names to which gpt-oss's training gives another meaning: it would call a tool with such a name in another way."""

EFFECT_UNKNOWN = "Whether it had an effect is not known."
"""What the model is told of a call that began, and of whose end nothing is known."""

DESCRIPTION_CHARS = 300
LABEL_CHARS = 80


class ToolError(Exception):
    """A tool raises this to tell the model what went wrong.

    Its text is shown only to the model. Of other exceptions, the model is shown nothing.
    """


class CallNeedsSignInError(ToolError):
    """The person has to sign in at the tool's server first. ``server``: its name, which their page shows them with a button."""

    def __init__(self, text: str, server: str) -> None:
        super().__init__(text)
        self.server = server


@dataclass(frozen=True, slots=True)
class Noted:
    """A tool's result, with a sentence of the product's for the model, which the tool itself cannot write."""

    value: Any = field(repr=False)
    note: str


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What will happen if a call runs: with these ``arguments``, in which nothing depends on what happens before it runs. ``receiver``: who
    receives them, a host or the name of a tool server; empty if that is nobody outside, or is not known."""

    arguments: Mapping[str, Any] = field(repr=False)
    receiver: str = ""


@dataclass(frozen=True, slots=True)
class CallingTurn:
    """The turn that makes a call. Only the product's own code receives it, no package and no server."""

    turn_id: UUID
    conversation_id: UUID
    asked_by_id: UUID
    questions: tuple[str, ...] = field(default=(), repr=False)
    """The person's questions on this branch, oldest first."""
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    """State that the tools of one turn share, such as a browser's open pages; it is dropped after the turn."""
    pages: dict[int, CitableSource] = field(default_factory=dict, repr=False)
    """The pages opened in this conversation, by cursor, which may be cited; the browser adds to them."""
    files: TurnFiles | None = field(default=None, repr=False)
    """Stores files for the person; None if files are off."""
    documents: TurnDocuments | None = field(default=None, repr=False)
    """The documents to search; None if there are none."""
    sessions: TurnSessions | None = field(default=None, repr=False)
    """The sessions with tool servers."""
    person: TurnPerson | None = field(default=None, repr=False)
    """Whom a tool may speak to; None if a program asks, which has no page."""


def _only_in_a_turn(arguments: Mapping[str, Any]) -> object:
    raise ToolError("This tool can only be used in a conversation.")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON Schema of an object."""
    run: Callable[[Mapping[str, Any]], Any] = field(default=_only_in_a_turn, repr=False)
    """Receives the arguments, in its own thread or, if ``is_async``, on the event loop of the tools. It must return JSON."""
    is_async: bool = False
    label: str = ""
    """The line that people see while it runs. ``{argument}`` in it is replaced with the value of that argument, which the author thereby
    makes visible; nothing else of a call or a reply is shown."""
    source: str = ""
    """The package that it comes from."""
    seconds: float | None = None
    """Its own time limit, if that is lower than the operator's."""
    is_for_demo: bool = False
    """Whether it is offered with the built-in demo, and only there."""
    recipient: str | None = None
    """The name that gpt-oss was trained with for this tool, such as ``browser.search`` or ``python``: the model may call it by that name,
    from analysis or commentary, and the reply is plain text, as trained."""
    code_argument: str | None = None
    """The argument that the body of a call by ``recipient`` becomes, which is code."""
    begin: Callable[[CallingTurn], Callable[[Mapping[str, Any]], Any]] | None = field(default=None, repr=False)
    """Called once for each turn; returns the function to call instead of ``run``."""
    is_ready: Callable[[], bool] | None = field(default=None, repr=False)
    """Whether it can be used now; if not, it is not offered. It must not wait."""
    title: str = ""
    """The title that people see; by default, the name in words."""
    reads_private_data: bool = True
    """Whether it can return data that not everybody may know."""
    sends_outside: bool = True
    """Whether its arguments can leave the organization. By default, a tool does both (``tools.catalogue``)."""
    revision: str = ""
    """Which version of the tool it is: if it differs, a call does something else, even if the definition is the same."""
    is_run_by_caller: bool = False
    """Whether it is a function of the calling program. Its calls are handed back to that program, and never run here."""
    note: Callable[[], str] | None = field(default=None, repr=False)
    """A sentence that is added to the description, of what is known only while the product runs; empty if nothing is."""
    switched_with: str = ""
    """The name of a tool with which it goes on and off, as part of it for people."""
    fault: Callable[[Mapping[str, Any]], str | None] | None = field(default=None, repr=False)
    """What else is wrong with arguments that fit ``parameters``, as a message for the model; None if nothing is."""
    foresees: Callable[[CallingTurn, Mapping[str, Any]], Foreseen] | None = field(default=None, repr=False)
    """What will happen in this turn if a call with these arguments runs, for whoever decides about it. It must not wait, and raises
    ToolError if the call is in vain."""
    may_run: Callable[[], bool] | None = field(default=None, repr=False)
    """Whether the tool still may be called, although an answer that began before has it; None: it may. Called in a database thread before
    each call."""
    needs_person: bool = False
    """Whether all that it does is to ask the person: then no call waits for approval, and programs, which have no page, are never offered
    it. Without a ``label``, no line says that it runs: it writes its own."""
    keeps_replies: bool = True
    """If not, its replies are for the turn alone, and the record has a mark in their place: the person may lose the right to what they
    say."""

    @property
    def shown_title(self) -> str:
        return self.title or self.name.replace("_", " ").capitalize()

    @property
    def fingerprint(self) -> str:
        """A hash of everything that the model is shown, and of the revision: a different hash means a different tool, even under the
        same name.
        """
        offer = json.dumps([self.source, self.name, self.description, self.parameters, self.revision], sort_keys=True, default=str)
        return hashlib.sha256(offer.encode()).hexdigest()[:32]

    @property
    def definition(self) -> FunctionTool:
        parameters = self.parameters if self.parameters.get("properties") or self.parameters.get("description") else None
        note = self.note() if self.note else ""
        return FunctionTool(self.name, f"{self.description} {note}".strip(), parameters, self.recipient, note)

    @property
    def offered_as(self) -> str:
        """The tool's name in settings. All tools of a trained namespace, such as ``browser``, have one name there, and are offered
        together."""
        return self.recipient.split(".")[0] if self.recipient else self.name

    @property
    def is_usable(self) -> bool:
        return self.is_ready is None or self.is_ready()

    def for_turn(self, turn: CallingTurn) -> Tool:
        return replace(self, run=self.begin(turn)) if self.begin else self


def one_line(text: str) -> str:
    """The text on one line, without anything that could end the comment or type that contains it, or a message."""
    return re.sub(r" {2,}", " ", re.sub(r"[{}]|<\|", " ", characters.one_line(text))).strip()


VALUE_CHARS = 60
_NOT_PLAIN = re.compile(r"[^\w .,'°%+-]|_")
"""What may mean something in Markdown. The model wrote the argument, and the line is rendered: with any of these it is shown as code."""


def line_of(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """The line for a call, in which a missing argument is an ellipsis. The arguments have been checked against the tool's schema."""
    return tool.label.format_map(defaultdict(lambda: "…", {name: _shown(value) for name, value in arguments.items()}))


def _shown(value: object) -> str:
    text = characters.escape(" ".join(str(value).split()), is_prose=True)
    shown = text if len(text) <= VALUE_CHARS else text[: VALUE_CHARS - 1] + "…"
    return shown if not _NOT_PLAIN.search(text) else _as_code(shown)


_PICTURES = "\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200c\u200d"
"""Emoji, with the characters that join them: where nothing is joined, such a character has become a code already."""
_HARMLESS = re.compile(rf"""[\w .,'°%+?!;:()"“”„‘’«»—–…、。，：；？！（）「」『』《》{_PICTURES}-]*""")
"""Text in which nothing means anything in Markdown within a line, if it has no ``_`` and no address."""


def as_plain_markdown(text: str) -> str:
    """A stranger's text on one line, as a part of a line of Markdown: as it is, or as code if anything in it may mean something."""
    shown = characters.escape(" ".join(text.split()), is_prose=True)
    return shown if _HARMLESS.fullmatch(shown) and "_" not in shown and "www." not in shown.casefold() else _as_code(shown)


def _as_code(shown: str) -> str:
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}"  # Markdown drops the spaces, and without them a backtick at an end would belong to the fence
