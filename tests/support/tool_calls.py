"""Calls tools as a turn does: with what a model writes, checked by the tool's schema, and out comes what the model is told.

Whoever changes how a turn finds, begins and runs a tool changes it here, and in no test.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from chatui.env import environment
from chatui.tools import catalogue
from chatui.tools.execution import Execution, ToolFailedError, ToolsBusyError, cancel_all, is_cancelled
from chatui.tools.tool import CallingTurn, Tool, ToolError
from chatui.turns.calls.requested import Requested, requested
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.markup.citations import CitableSource
from tests.support.offering import made

__all__ = ["BusyError", "FailedError", "RefusedError", "ToolTurn", "end_process", "is_cancelled", "turn_with"]


class RefusedError(Exception):
    """The tool, or what checks its arguments, says why there is no result. The text is what the model is told."""


class FailedError(Exception):
    """The tool failed in a way that it does not explain."""


class BusyError(Exception):
    """The call could not even begin."""


def call_in(frame: Frame, tools: Mapping[str, Tool], *, over_ids: bool = True) -> Any:
    """What a model asks for in a frame: the tool with its arguments, or the reply that says what is wrong with them."""
    return requested(frame, tools, over_ids=over_ids)


@dataclass
class ToolTurn:
    """A turn of a person who wrote these ``questions``."""

    questions: tuple[str, ...] = ()
    pages: dict[int, CitableSource] = field(default_factory=dict)
    """Those that may be cited, by cursor: of earlier answers, and those that this turn opens."""
    person_id: UUID = field(default_factory=uuid4)
    tools: Mapping[str, Tool] | None = None
    """Those that are offered; None: what everybody is offered."""
    files: Any = None
    """The ``TurnFiles``; None if files are off."""
    conversation_id: UUID = field(default_factory=uuid4)

    def __post_init__(self) -> None:
        turn = CallingTurn(uuid4(), self.conversation_id, self.person_id, self.questions, pages=self.pages, files=self.files)
        self._offered = catalogue.offered_to((), is_demo=False) if self.tools is None else self.tools
        self._turn = turn
        self._tools = {name: tool.for_turn(turn) for name, tool in self._offered.items()}

    @property
    def names(self) -> list[str]:
        """By which a model calls what is offered."""
        return [tool.recipient or name for name, tool in self._tools.items()]

    def of(self, person_id: UUID) -> "ToolTurn":
        """Another person's turn, who is offered the same."""
        return ToolTurn(person_id=person_id, tools=self._offered)

    async def call(self, name: str, seconds: float = 60, **arguments: Any) -> Any:
        """What the tool returns, or a text of the built-in ones. ``name``: as in ``names``.

        Raises RefusedError, FailedError, BusyError, and TimeoutError after so many ``seconds``.
        """
        asked = self._asked(name, arguments)
        try:
            return json.loads(await Execution(asked.tool, asked.arguments, environment().tool_reply_chars).result(seconds))
        except ToolError as error:
            raise RefusedError(str(error)) from None
        except ToolFailedError as error:
            raise FailedError(str(error)) from None
        except ToolsBusyError:
            raise BusyError from None

    def foreseen(self, name: str, **arguments: Any) -> tuple[Mapping[str, Any], str]:
        """What a person who is asked about this call sees: its arguments, and who receives them. Raises RefusedError: it would be in
        vain."""
        asked = self._asked(name, arguments)
        assert asked.tool.foresees is not None
        try:
            found = asked.tool.foresees(self._turn, asked.arguments)
        except ToolError as error:
            raise RefusedError(str(error)) from None
        return found.arguments, found.receiver

    def _asked(self, name: str, arguments: Mapping[str, Any]) -> Requested:
        recipient = name if "." in name or name == "python" else f"functions.{name}"
        # A model writes bare code to python, and arguments to all others.
        kind, body = ("code", str(arguments["code"])) if name == "python" else ("json", json.dumps(arguments))
        header = Header(Role.ASSISTANT, channel=Channel.COMMENTARY, recipient=recipient, content_type=kind, call_id=f"c-{uuid4()}")
        found = requested(Frame(header, body, Terminator.CALL), self._tools, over_ids=False)
        if isinstance(found, Requested):
            return found
        raise RefusedError(found.text)


def turn_with(function: Callable[..., Any], **turn: Any) -> ToolTurn:
    """A turn that is offered nothing but this function of a package, under its own name."""
    return ToolTurn(tools={function.__name__: made(function)}, **turn)


def end_process() -> None:
    """Cancel what runs, as a process does that ends."""
    cancel_all()
