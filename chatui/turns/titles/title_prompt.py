"""The prompt for a title: the first question, with as much of the answer as people see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from chatui import prompts
from chatui.backends.base import SampleRequest
from chatui.models import Conversation
from chatui.store import transcripts
from chatui.turns.start import Started, first_title
from renderer.frame_kinds import is_answer
from renderer.frames import Frame, Header, Role
from renderer.gate import Audience, VisibleText, show, visible

MAX_QUESTION_CHARS = 2_000
MAX_ANSWER_CHARS = 2_000
MAX_TOKENS = 400
"""A title has about ten tokens; the rest is for a model that thinks first. If it needs more, there is no title."""


@dataclass(frozen=True, slots=True)
class FirstExchange:
    """The first question of a conversation, with its answer. ``row``: the conversation as it was when the turn began."""

    row: Conversation
    question: VisibleText = field(repr=False)
    answer: VisibleText = field(repr=False)

    def request(self, model: str | None) -> SampleRequest:
        """The request for a title. It contains neither the operator's instructions nor any hidden text."""
        asked = f"## Question\n\n{self.question[:MAX_QUESTION_CHARS]}\n\n## Answer\n\n{self.answer[:MAX_ANSWER_CHARS]}"
        frames = (Frame(Header(Role.DEVELOPER), prompts.read("title")), Frame(Header(Role.USER), asked))
        return SampleRequest(frames, model=model, effort="low", max_tokens=MAX_TOKENS)


def untitled(started: Started, written: Iterable[Frame]) -> FirstExchange | None:
    """The exchange of an ended turn that wrote these frames, if its conversation needs a title: the turn answered the first question, and
    the title is still the start of that question. Reads nothing from the database.

    Titles by a person, of an import, or already written by a model stay.
    """
    row = started.turn.conversation
    if started.after is not None or row.title_is_custom or row.imported_at is not None or row.temporary_until is not None:
        return None
    question = transcripts.frame_of(started.turn.question)
    answers = [frame for frame in visible(written, Audience.END_USER) if is_answer(frame.header) and frame.body.strip()]
    if not answers or row.title != first_title(question.body):
        return None
    return FirstExchange(row, show(question, Audience.END_USER), show(answers[-1], Audience.END_USER))
