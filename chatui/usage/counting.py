"""Counts the tokens that were used: how many, for what, and for whom.

The number for one request comes from the server's report, or from an estimate. That of a turn is estimated from its stored text, if its
process has died or its server reported none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Length

from chatui.backends.base import SampleRequest, Usage
from chatui.backends.context_window import ANSWER_TOKENS, SEEN_CHARS, weight, weight_of, weight_of_tools
from chatui.env import environment
from chatui.models.message import Author
from chatui.models.turn import Turn
from chatui.models.usage import UsageKind
from renderer.frame_kinds import DOCUMENT_NAME, SUMMARY_NAME
from renderer.frames import Intent, Role


@dataclass(frozen=True, slots=True)
class Spent:
    """Numbers of tokens."""

    input: int = 0
    cached: int = 0
    """Part of ``input``."""
    output: int = 0
    """With the reasoning."""
    is_estimate: bool = False
    """Whether the server did not report all of it."""

    @property
    def tokens(self) -> int:
        return self.input + self.output

    def __add__(self, other: Spent) -> Spent:
        either = self.is_estimate or other.is_estimate
        return Spent(self.input + other.input, self.cached + other.cached, self.output + other.output, either)


@dataclass(frozen=True, slots=True)
class Charge:
    """An entry for the ledger. ``turns``: 1 for an answer that counts as one."""

    kind: UsageKind
    spent: Spent
    choice: str = ""
    backend: str = ""
    model: str = ""
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who asked, on which day, with which key, and how many tokens were reserved; None if none were."""

    person_id: UUID
    day: date
    key_id: UUID | None = None
    reserved_tokens: int | None = None


MAX_TOKENS = 1_000_000_000
"""The largest plausible token count that a server may report."""


def spent_on(request: SampleRequest, usage: Usage | None, written: float) -> Spent:
    """The tokens spent on a request that the server accepted. ``written``: about how many tokens of output arrived."""
    reported = usage or Usage()
    read, wrote = plausible_count(reported.prompt_tokens), plausible_count(reported.completion_tokens)
    cached = plausible_count(reported.cached_tokens) or 0
    if read is None:
        others = (frame for frame in request.frames if frame not in request.counted)
        counted = sum(request.counted.get(frame, 0) for frame in request.frames)
        about = int(weight_of(others) + weight_of_tools(request.tools)) + counted
        return Spent(about, 0, int(written) if wrote is None else wrote, is_estimate=True)
    if wrote is None:
        return Spent(read, min(cached, read), int(written), is_estimate=True)
    return Spent(read, min(cached, read), wrote)


def plausible_count(reported: int | None) -> int | None:
    """A token count from a server; None if it reports none, or an implausible one."""
    return reported if reported is not None and not isinstance(reported, bool) and 0 <= reported <= MAX_TOKENS else None


_CHARS_PER_TOKEN = 3.6


def tokens_to_reserve(text: str, before: int) -> int:
    """How many tokens a question may take: the estimate for its text, ``before`` for the earlier conversation, and an answer."""
    return before + int(weight(text)) + (environment().max_answer_tokens or ANSWER_TOKENS)


def charge_of(turn: Turn) -> Charge:
    """The charge for a turn without any report. If nothing was written, nothing is charged."""
    # Tool replies and a program's messages were input, not output. Text that is stored as a message may still exist in pieces as well.
    stored = turn.messages.filter(author=Author.MODEL)
    lines = turn.pieces.filter(header__contains=f"name={SUMMARY_NAME} intent={Intent.PREAMBLE}")  # the product's own
    in_pieces = turn.pieces.exclude(frame__in=turn.messages.values("pk")).exclude(frame__in=lines.values("frame"))
    written = _chars(stored) + _chars(in_pieces)
    if not written:
        return Charge(UsageKind.ANSWER, Spent(is_estimate=True), turn.choice)
    # All branches count, because walking down one costs more than an estimate is worth. No model was sent more than SEEN_CHARS.
    seen = Q(is_visible=True) | Q(role=Role.USER, name=DOCUMENT_NAME)
    read = min(_chars(turn.conversation.messages.filter(seen, position__lte=turn.question.position)), SEEN_CHARS)
    return Charge(UsageKind.ANSWER, Spent(_tokens(read), 0, _tokens(written), is_estimate=True), turn.choice)


def _chars(rows: QuerySet[Any]) -> int:
    return rows.aggregate(chars=Sum(Length("text")))["chars"] or 0


def _tokens(chars: int) -> int:
    return -(-chars * 10 // int(_CHARS_PER_TOKEN * 10))
