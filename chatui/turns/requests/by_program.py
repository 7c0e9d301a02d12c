"""A program's request for a turn: earlier messages, instructions and settings, in either API format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from chatui.json_schemas.answer_format import AnswerFormat
from chatui.turns.requests.offered_tools import Offer
from chatui.turns.streams.program import ProgramStream


@dataclass(frozen=True, slots=True)
class EarlierMessage:
    """A message before the question, as the program sends it: a person's, an answer, or a preamble. ``sealed``: a token in place of a text,
    possibly from this server (``chatui.turns.sealed``). ``is_thought``: reasoning, which comes only out of such a token. ``is_compacted``:
    the token, or the text that came out of it, summarizes a whole conversation."""

    text: str = field(repr=False)
    is_person: bool = False
    is_preamble: bool = False
    is_thought: bool = False
    sealed: str = field(default="", repr=False)
    is_compacted: bool = False


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call to one of its functions, as the program sends it. ``function``: the name that the model reads; ``arguments``: JSON."""

    call_id: str
    function: str
    arguments: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class EarlierReply:
    """The reply of one of the program's functions. ``call_id``: that of an earlier call here, or in the answer that the program continues
    from."""

    call_id: str
    output: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ProgramAsk:
    """A program's request. ``id`` becomes the answer's id. ``previous``: the answer that it continues from; ``before`` then follows it.

    ``question`` None: the last messages are function replies, and the answer continues after them. ``continue_after``: the message after
    which it then continues, once that is stored.

    ``standing_instructions``: the text of its system and developer messages, which also apply to later turns, unlike ``instructions``.
    ``sampling``: ``temperature`` and ``top_p``. ``is_kept``: whether the turn stays stored after the answer. ``reads_all``: whether it may
    also continue from answers of its owner's other keys. ``settings_as_sent``: its settings in the format of its API.
    """

    id: UUID
    key_id: UUID
    question: str | None = field(repr=False)
    stream: ProgramStream = field(repr=False)
    choice: str
    effort: str = "medium"
    before: tuple[EarlierMessage | EarlierCall | EarlierReply, ...] = field(default=(), repr=False)
    offer: Offer = field(default_factory=Offer, repr=False)
    continue_after: UUID | None = None
    previous: UUID | None = None
    instructions: str = field(default="", repr=False)
    standing_instructions: str = field(default="", repr=False)
    max_tokens: int | None = None
    answer_format: AnswerFormat | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    must_fit: bool = True
    is_kept: bool = True
    reads_all: bool = False
    settings_as_sent: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def only_key(self) -> UUID | None:
        """The key whose answers it may continue from; None for all keys of its owner."""
        return None if self.reads_all else self.key_id

    @property
    def all_instructions(self) -> str:
        """All of the program's instructions for the model."""
        return "\n\n".join(filter(None, (self.standing_instructions, self.instructions, self.offer.words)))
