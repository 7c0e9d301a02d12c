"""The tools that the model may call in a program's turn: the program's functions, and the product's tools that its key allows."""

from __future__ import annotations

from chatui.env import environment
from chatui.permissions.tools import tools_in
from chatui.tools import available
from chatui.tools.tool import Tool
from chatui.turns.calls.handing_back import TurnTools
from chatui.turns.requests.by_program import ProgramAsk
from chatui.turns.start import Started


def tools_of(started: Started, program: ProgramAsk, *, is_demo: bool) -> TurnTools:
    """All these tools. Reads the database if the key names any of the product's tools."""
    own = _own(started, program, is_demo=is_demo) if program.offer.own_tools else {}
    return TurnTools({**own, **program.offer.functions}, program)


def _own(started: Started, program: ProgramAsk, *, is_demo: bool) -> dict[str, Tool]:
    """The product's tools that run without approval: nobody is there to approve a call, so tools that need approval are not offered.

    A program's function replaces a tool of the same name. Functions may return text by strangers, and send data out. So beside them only
    tools are offered that neither read private data nor send data outside, unless the operator allows all combinations.
    """
    turn = started.turn
    found = tools_in(turn.asked_by, turn.conversation, is_demo=is_demo).offered
    allowed = {name: tool for name, tool in found.items() if name in program.offer.own_tools and not available.needs_approval(tool)}
    if program.offer.functions and environment().tool_combinations != "any":
        allowed = {name: tool for name, tool in allowed.items() if not (tool.reads_private_data or tool.sends_outside)}
    return {name: tool for name, tool in allowed.items() if name not in program.offer.names}
