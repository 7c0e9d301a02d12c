"""Pages through a conversation: the last exchanges first, then earlier or later ones on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chatui.display.conversation import ShownExchange, shown_exchanges
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.permissions import access
from chatui.store import exchanges
from chatui.store.exchanges import StoredExchanges

EXCHANGES = 20
"""How many exchanges are in a window."""


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """Consecutive exchanges."""

    exchanges: Sequence[ShownExchange]
    earlier: str = ""
    """The message before which there are more; empty if there are none."""
    later: str = ""
    """The message after which there are more; empty if there are none."""


def latest(row: Conversation) -> ShownWindow:
    """The end of the branch that its owner has open."""
    return _shown(exchanges.at(row, range(EXCHANGES)))


def around(row: Conversation, message: Message) -> ShownWindow:
    """The exchanges around a message on the branch that its owner has open. If the message is near the end of that branch, or not on it,
    the end of the branch."""
    found = exchanges.at(row, range(-EXCHANGES // 2, EXCHANGES // 2), anchor=message.pk)
    return _shown(found) if found and found.window and found.window.anchored >= EXCHANGES else latest(row)


def earlier(row: Conversation, message: Message) -> ShownWindow:
    """The exchanges above the one that contains a message. They are the same on every branch through it."""
    return _shown(exchanges.at(row, range(1, EXCHANGES + 1), anchor=message.pk, leaf=message.pk))


def later(row: Conversation, message: Message) -> ShownWindow:
    """The exchanges below the one that contains a message, on the branch that its owner has open. Raises NotFoundError if the message is
    not on that branch."""
    return _shown(access.existing(exchanges.at(row, range(-EXCHANGES, 0), anchor=message.pk)))


def whole(row: Conversation) -> Iterator[ShownWindow]:
    """The whole branch that its owner has open, in windows, from the start."""
    for found in exchanges.whole(row, EXCHANGES):
        yield ShownWindow(shown_exchanges(found))


def _shown(found: StoredExchanges | None) -> ShownWindow:
    shown = shown_exchanges(found) if found else []
    if not found or not found.window or not shown:
        return ShownWindow(shown)
    first, end = shown[0].question, shown[-1].question
    return ShownWindow(
        shown,
        earlier=first.message_id if first and found.window.has_earlier else "",
        later=end.message_id if end and found.window.has_later else "",
    )
