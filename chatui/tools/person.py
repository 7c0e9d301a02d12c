"""The interface by which a tool speaks to the person in whose turn it is called, beside its result, which is for the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from chatui.tools.forms import Form, Value

THE_MODEL = ""
"""The speaker of what the model itself asks. No tool server has this name."""


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """What a person did with a form: sent it (``accept``), refused it (``decline``), or did neither (``cancel``). ``values``: what they
    filled in, by the asker's names."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, Value] = field(default_factory=dict, repr=False)


class TurnPerson(Protocol):
    """The owner of the conversation. What is said to them, nobody else gets: no model, link, file or program. All methods may be called
    from any event loop."""

    async def tell(self, speaker: str, text: str) -> bool:
        """Show the person a text, as it is and under the name of ``speaker``, below the answer. Returns whether it will be shown: a turn
        has room for a bounded number of them."""

    async def ask(self, speaker: str, form: Form) -> FormAnswer:
        """Ask the person to fill in a form, below the answer and under the name of ``speaker``, and wait. One form is shown at a time, and
        a bounded number in a turn; ``cancel`` if there is no room, or nobody answers in time. What ``THE_MODEL`` asks, and what it is
        answered, is a part of the conversation.

        Raises:
            ToolError: the model's form holds what may be reasoning, and was not shown.
        """

    def report(self, speaker: str, percent: int | None, words: str) -> None:
        """Show how far a call is, in the line of work, while it runs. ``words``: of the server's, on one line, or empty."""
