"""Hands calls to a program's own functions back to it after checking them. They are never executed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chatui.codes import ProductCode
from chatui.tools import replies
from chatui.tools.replies import Provenance, Reply
from chatui.tools.tool import Tool
from chatui.turns.requests.by_program import ProgramAsk
from chatui.turns.requests.offered_tools import Offer
from renderer.errors import Code
from renderer.frames import Frame, Terminator
from renderer.gate import Audience, may_see
from renderer.harmony.system_messages import FunctionTool

_ONE_AT_A_TIME = "Only one call is possible at a time, so this one was not carried out. Make it again after the reply to the other one."

_IN_PLAIN_FORM = "A function is called with nothing in the header but its name."


@dataclass(frozen=True, slots=True)
class TurnTools:
    """The tools that the model may call in a turn, by name. ``program``: the program's request; None for a person."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    program: ProgramAsk | None = None

    @property
    def definitions(self) -> tuple[FunctionTool, ...]:
        """Their definitions, as the model reads them."""
        return tuple(tool.definition for tool in self.tools.values())

    @property
    def offer(self) -> Offer:
        """The program's offer; an empty one for a person."""
        return self.program.offer if self.program is not None else Offer()


class HandingBack:
    """Hands back the calls of one turn. ``take`` each call to a program's function; ``hand_back`` once no other call of the sampling is
    running."""

    def __init__(self, tools: TurnTools) -> None:
        self._program = tools.program
        self._offer = tools.offer
        self._taken: list[Frame] = []
        self.has_handed_back = False
        """Whether calls were handed back, so that the turn is over and their replies will come in another request."""

    def take(self, call: Frame) -> Reply | None:
        """Note a checked call, and return None. Or return a reply for the model, if the call has the wrong form, or the program wants one
        call at a time and already has one."""
        if not may_see(call.header, Audience.PROGRAM, self._offer.recipients):
            return replies.failed(Code.CALL_SCHEMA, _IN_PLAIN_FORM, Provenance("chatui"))
        if self._taken and not self._offer.is_parallel:
            return replies.failed(ProductCode.TOOL, _ONE_AT_A_TIME, Provenance("chatui"))
        self._taken.append(call)
        return None

    def hand_back(self) -> bool:
        """Hand back the noted calls. Returns whether there were any."""
        if self._program is not None and self._taken:
            self.has_handed_back = True
            for call in self._taken:
                self._program.stream.call(call, self._offer.names)
        return self.has_handed_back

    def is_handed_back(self, call: Frame) -> bool:
        """Whether the call was handed back, so that no reply to it is written here."""
        return self.has_handed_back and call in self._taken

    def misses_call(self, written: Sequence[Frame]) -> bool:
        """Whether the program required a call, and none was written."""
        return self._offer.must_call and not any(frame.terminator is Terminator.CALL for frame in written)
