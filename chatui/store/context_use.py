"""How full a model's context window is, and how much of it documents may use.

The former is rounded for people, because the window contains instructions whose exact length is private. All arithmetic about the room for
documents is here.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatui.backends.base import BackendError, ContextUse
from chatui.backends.context_window import FRAME_TOKENS, MARGIN, TEMPLATE_TOKENS, reserved_tokens, weight
from chatui.codes import ProductCode
from chatui.env import environment
from chatui.instructions import instructions_for
from chatui.model_servers import connected
from chatui.models.turn import Turn
from chatui.models.user import User
from renderer.errors import ErrorCode

STEP = 5


def of_turn(turn: Turn) -> ContextUse | None:
    """The context use stored with a turn; None if unknown."""
    if not turn.context_size or turn.context_used is None:
        return None
    return ContextUse(turn.context_size, turn.context_used)


def percent(use: ContextUse | None, code: ErrorCode | None = None) -> int | None:
    """How full the context is after a turn that ended with ``code``, in steps of STEP per cent; None if unknown, or almost empty."""
    if use is None or code in (ProductCode.QUESTION_TOO_LONG, ProductCode.CONVERSATION_TOO_LONG):
        return None
    return min(round(100 * use.used / use.size / STEP) * STEP, 100) or None


USUAL_CONTEXT = 131_072
"""The context of a gpt-oss model, used if neither the operator nor the server gives one."""
ANSWER_TOKENS = 16_384
"""Reserved for reasoning and the answer; never more than a quarter of the context."""
TOOLS_TOKENS = 1_000
"""Reserved for the definitions of tools, and the first lines of documents."""
_MIN_FOR_TOOLS = 16
"""A fraction of the context, for small contexts."""


@dataclass(frozen=True, slots=True)
class Room:
    """The part of a model's context for the ``documents`` of one question, besides the question, in tokens."""

    documents: int

    def fits(self, tokens: int) -> bool:
        return tokens <= self.documents

    def percent(self, tokens: int) -> float:
        """The percentage of the room that ``tokens`` take; more than 100 if they do not fit."""
        return 100 * tokens / self.documents if self.documents > 0 else 999


def room(person: User, context: int, question: str = "") -> Room:
    """The room in a context for the documents of this question. Earlier turns do not count: they are dropped, the oldest first."""
    most = environment().max_answer_tokens
    answer = min(most or ANSWER_TOKENS, context // 4)
    instructions = instructions_for(person.group_names)
    orders = weight(instructions) + FRAME_TOKENS if instructions else 0.0
    tools = min(TOOLS_TOKENS, context // _MIN_FOR_TOOLS)
    other = TEMPLATE_TOKENS + orders + tools + FRAME_TOKENS + weight(question)
    # The request is fitted again, with a margin: what fits here must fit there.
    return Room(max(0, int(min(context - answer, MARGIN * (context - reserved_tokens(most, context))) - other)))


def can_search(choice: str) -> bool:
    """Whether the chosen model can use the document search tool: the built-in demo has only its own tools."""
    try:
        return not connected.spec_of(choice).is_demo
    except BackendError:
        return False


def context_of(person: User, choice: str) -> int:
    """The chosen model's context: from the operator or the server, else the last one seen."""
    if known := connected.known_context(choice):
        return known
    seen = Turn.objects.filter(asked_by=person, choice=choice, context_size__gt=0).order_by("-started_at")
    return seen.values_list("context_size", flat=True).first() or USUAL_CONTEXT
