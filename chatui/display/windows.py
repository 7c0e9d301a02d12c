"""Pages through a conversation: the last exchanges first, then earlier or later ones on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from chatui.display.conversation import ShownExchange, shown_exchanges
from chatui.display.ratings import verdicts_of
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import branches, continuation, transcripts
from chatui.store.branches import BranchWindow

EXCHANGES = 20
"""How many exchanges are in a window."""


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """Consecutive exchanges. ``earlier`` and ``later``: the message before or after which there are more; empty if there are none."""

    exchanges: Sequence[ShownExchange]
    earlier: str = ""
    later: str = ""


def with_ratings(row: Conversation, exchanges: Sequence[ShownExchange]) -> list[ShownExchange]:
    """The exchanges with their owner's ratings."""
    rated = {each.answer.rated.message_id: each for each in exchanges if each.answer and each.answer.rated}
    verdicts = verdicts_of(row, rated)
    return [_rated(each, verdicts) for each in exchanges]


def _rated(exchange: ShownExchange, verdicts: dict[str, str]) -> ShownExchange:
    answer = exchange.answer
    if answer is None or answer.rated is None or answer.rated.message_id not in verdicts:
        return exchange
    return replace(exchange, answer=replace(answer, rated=replace(answer.rated, verdict=verdicts[answer.rated.message_id])))


def latest(row: Conversation, person: User) -> ShownWindow:
    """The end of the branch that the person has open."""

    def find() -> BranchWindow | None:
        leaf = transcripts.active_leaf(row, person)
        return branches.window(row.pk, leaf.pk, leaf.pk, range(EXCHANGES)) if leaf else None

    return _shown(row, find)


def around(row: Conversation, person: User, message: Message) -> ShownWindow:
    """The exchanges around a message on the branch that the person has open. If the message is near the end of that branch, or not on it,
    the end of the branch."""
    leaf = transcripts.active_leaf(row, person)
    if leaf is None:
        return ShownWindow([])
    found = branches.window(row.pk, leaf.pk, message.pk, range(-EXCHANGES // 2, EXCHANGES // 2))
    if found is None or found.anchored < EXCHANGES:
        return latest(row, person)
    return _shown(row, lambda: found)


def earlier(row: Conversation, message: Message) -> ShownWindow:
    """The exchanges above the one that contains a message. They are the same on every branch through it."""
    found = branches.window(row.pk, message.pk, message.pk, range(1, EXCHANGES + 1))
    return _shown(row, lambda: found)


def later(row: Conversation, person: User, message: Message) -> ShownWindow:
    """The exchanges below the one that contains a message, on the branch that the person has open."""

    def find() -> BranchWindow | None:
        leaf = transcripts.active_leaf(row, person)
        return branches.window(row.pk, leaf.pk, message.pk, range(-EXCHANGES, 0)) if leaf else None

    if find() is None:
        raise access.NotFoundError
    return _shown(row, find)


def whole(row: Conversation, person: User) -> Iterator[ShownWindow]:
    """The whole branch that the person has open, in windows, from the start."""
    leaf = transcripts.active_leaf(row, person)
    found = branches.whole(row.pk, leaf.pk) if leaf else None
    exchanges = found.exchanges if found else ()
    for start in range(0, len(exchanges), EXCHANGES):
        keys = list(chain.from_iterable(exchanges[start : start + EXCHANGES]))
        yield ShownWindow(with_ratings(row, shown_exchanges(row, keys)))


def _shown(row: Conversation, find: Callable[[], BranchWindow | None]) -> ShownWindow:
    asked = find()
    if asked is None:
        return ShownWindow([])
    versions = continuation.Versions(asked.keys)
    found = find()  # again, so that messages added meanwhile are on the page
    exchanges = with_ratings(row, shown_exchanges(row, found.keys, versions)) if found else []
    if not found or not exchanges:
        return ShownWindow(exchanges)
    first, end = exchanges[0].question, exchanges[-1].question
    return ShownWindow(
        exchanges,
        earlier=first.message_id if first and found.has_earlier else "",
        later=end.message_id if end and found.has_later else "",
    )
