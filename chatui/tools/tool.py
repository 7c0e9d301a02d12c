"""A tool: its description for the model, its label for people, and the function that runs it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from chatui.tools.files import TurnDocuments, TurnFiles
from renderer.harmony.system_messages import FunctionTool
from renderer.markup.citations import Cited

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""A tool's name must match this in full: it becomes a type of the TypeScript that the model reads, and a part of headers."""

TRAINED_NAMES = frozenset({"assistant", "bash", "browser", "functions", "python", "system", "user"})
"""Names that gpt-oss was trained with for something else: a tool of such a name is called in another way."""

DESCRIPTION_CHARS = 300
LABEL_CHARS = 80


class ToolError(Exception):
    """A tool raises this to tell the model what went wrong.

    Its text is for the model alone; the model learns nothing about other exceptions.
    """


class ToolUnusableError(ValueError):
    """An installed or configured tool cannot be offered. The text is for the operator."""


@dataclass(frozen=True, slots=True)
class CallingTurn:
    """The context of a call, for tools of the product itself; other tools get none of it. ``questions``: the person's questions on this
    branch, oldest first. ``shared``: state that the tools of one turn share, such as a browser's open pages; it ends with the turn.
    ``pages``: the pages opened in this conversation, by cursor, which may be cited; a browser adds to them. ``files``: receives files for
    the person; None if files are off. ``documents``: the documents to search; None if there are none.
    """

    turn_id: UUID
    conversation_id: UUID
    asked_by_id: UUID
    questions: tuple[str, ...] = field(default=(), repr=False)
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    pages: dict[int, Cited] = field(default_factory=dict, repr=False)
    files: TurnFiles | None = field(default=None, repr=False)
    documents: TurnDocuments | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Tool:
    """``parameters``: a JSON Schema of an object. ``run``: gets the arguments, in a thread of its own or, if ``is_async``, on the
    event loop of the tools; what it returns must be JSON.

    ``label``: what people read while it is at work. ``{argument}`` in it stands for the value of an argument, which its author thereby
    allows people to see; nothing else of a call or a reply is shown. ``source``: the package that brought it. ``seconds``: its own limit,
    below that of the operator; None for that. ``is_for_demo``: offered with the built-in demo, and only there.

    A tool that gpt-oss was trained with has a ``recipient``, such as ``browser.search`` or ``python``: the model may call it so, from
    analysis or commentary, and it replies in plain text, as trained. ``code_argument``: such a call has code as its body, which becomes
    this argument. ``begin``: called once for each turn; returns the function to call instead of ``run``. ``is_ready``: whether it can be
    used at the moment; never waits. Otherwise it is not offered. ``title``: the title that people see; empty for its name in words.
    ``reads_private_data``: it can return data that not everybody may know. ``sends_outside``: its arguments can leave the organization. By
    default, a tool does both (``combinations``). ``revision``: a different one means that a call does something else, even if the
    definition is the same. ``is_callers``: a function of the calling program: its calls are handed back, and never run here.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Mapping[str, Any]], Any] = field(repr=False)
    is_async: bool = False
    label: str = ""
    source: str = ""
    seconds: float | None = None
    is_for_demo: bool = False
    recipient: str | None = None
    code_argument: str | None = None
    begin: Callable[[CallingTurn], Callable[[Mapping[str, Any]], Any]] | None = field(default=None, repr=False)
    is_ready: Callable[[], bool] | None = field(default=None, repr=False)
    title: str = ""
    reads_private_data: bool = True
    sends_outside: bool = True
    revision: str = ""
    is_callers: bool = False

    @property
    def shown_title(self) -> str:
        """The title that people see."""
        return self.title or self.name.replace("_", " ").capitalize()

    @property
    def fingerprint(self) -> str:
        """A hash of everything that the model is shown, and of the revision: a different hash means a different tool, even under the
        same name.
        """
        told = json.dumps([self.source, self.name, self.description, self.parameters, self.revision], sort_keys=True, default=str)
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    @property
    def definition(self) -> FunctionTool:
        """The definition that the model is shown."""
        parameters = self.parameters if self.parameters.get("properties") else None
        return FunctionTool(self.name, self.description, parameters, self.recipient)

    @property
    def offered_as(self) -> str:
        """Its name in settings: tools of one trained namespace, such as ``browser``, are offered together."""
        return self.recipient.split(".")[0] if self.recipient else self.name

    @property
    def is_usable(self) -> bool:
        """Whether it can be used at the moment."""
        return self.is_ready is None or self.is_ready()

    def begun(self, turn: CallingTurn) -> Tool:
        """The tool as this turn calls it."""
        return replace(self, run=self.begin(turn)) if self.begin else self
