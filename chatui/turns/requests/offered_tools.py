"""The tools that a program lets the model call: its own functions, and the product's tools that its key allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatui.tools.tool import Tool

FUNCTIONS = "functions."


@dataclass(frozen=True, slots=True)
class Offer:
    """``functions``: the program's functions that may be called, by the name that the model reads. ``names``: the program's own names for
    all functions that it sent, by the name that the model reads.

    ``own_tools``: names of the product's tools. ``must_call``: an answer without a call does not count. ``is_parallel``: several calls may
    be made at once. ``max_calls``: limit for the calls in the whole answer, to functions and tools; None for the operator's limit.
    """

    functions: Mapping[str, Tool] = field(default_factory=dict, repr=False)
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    own_tools: frozenset[str] = frozenset()
    must_call: bool = False
    is_parallel: bool = True
    max_calls: int | None = None

    @property
    def recipients(self) -> frozenset[str]:
        """The recipients in calls to the program's functions."""
        return frozenset(f"{FUNCTIONS}{name}" for name in self.functions)

    @property
    def words(self) -> str:
        """Extra instructions for the model, because not every server can force a call."""
        if not self.must_call:
            return ""
        named = f"the function `{next(iter(self.functions))}`" if len(self.functions) == 1 else "one of the functions"
        return f"Do not answer before you have called {named}. Your next message after thinking must be the call."
