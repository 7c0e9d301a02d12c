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

MOST_QUESTION_CHARS = 2_000
MOST_ANSWER_CHARS = 2_000
MOST_TOKENS = 400
"""A title has about ten; the rest is for a model that thinks first. If it needs more, there is no title."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation whose first question has its answer. ``row`` is as it was when the turn began."""

    row: Conversation
    question: VisibleText = field(repr=False)
    answer: VisibleText = field(repr=False)

    def request(self, model: str | None) -> SampleRequest:
        """What a model is asked. Neither the operator's instructions nor anything hidden is in it."""
        asked = f"## Question\n\n{self.question[:MOST_QUESTION_CHARS]}\n\n## Answer\n\n{self.answer[:MOST_ANSWER_CHARS]}"
        frames = (Frame(Header(Role.DEVELOPER), prompts.read("title")), Frame(Header(Role.USER), asked))
        return SampleRequest(frames, model=model, effort="low", max_tokens=MOST_TOKENS)


def untitled(started: Started, written: Iterable[Frame]) -> Talk | None:
    """The talk of a turn that has ended and wrote these frames, if its conversation is to have a title: its first question was answered,
    and its title still is the beginning of that question. Reads nothing from the database.

    A title that a person wrote stays, and so does that of an import and one that a model wrote before.
    """
    row = started.turn.conversation
    if started.after is not None or row.title_is_custom or row.imported_at is not None or row.temporary_until is not None:
        return None
    question = transcripts.frame_of(started.turn.question)
    answers = [frame for frame in visible(written, Audience.END_USER) if is_answer(frame.header) and frame.body.strip()]
    if not answers or row.title != first_title(question.body):
        return None
    return Talk(row, show(question, Audience.END_USER), show(answers[-1], Audience.END_USER))
