"""If a person has a token limit, reserves tokens for a turn that is about to start, estimated from the conversation."""

from __future__ import annotations

from uuid import UUID

from chatui.models import Turn, User
from chatui.turns.requests.refusal import AskRefusedError
from chatui.usage import estimates, reserving
from chatui.usage.limits import limits_of
from chatui.usage.reserving import LimitReachedError, Reserved


def reserved_for(person: User, conversation: UUID | None, text: str, tokens_before: int) -> Reserved | None:
    """The reservation; None if the person has no limit. If nobody has one, this takes no statement. Call with the person's row locked.

    Raises:
        AskRefusedError: a limit is reached.
    """
    limits = limits_of(person)
    if not limits:
        return None
    before = tokens_before
    if conversation is not None and not limits.day_tokens == limits.month_tokens is None:
        # The next answer reads about as much as the last one read and wrote.
        last = Turn.objects.filter(conversation=conversation, asked_by=person).order_by("-started_at")
        before += sum(number or 0 for number in last.values_list("input_tokens", "output_tokens").first() or ())
    try:
        return reserving.reserve(person, limits, estimates.tokens_to_reserve(text, before))
    except LimitReachedError as reached:
        raise AskRefusedError(reached.code, reached.until) from None
