"""Loads a window of a branch: some neighbouring exchanges, at a cost that does not depend on the branch's length.

An exchange is a question with everything that follows it up to the next question. A window is defined by a message, its anchor, and a range
of exchanges relative to it: 0 is the anchor's own, 1 the one above it, -1 the one below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from chatui.store.branch_walk import as_parameter, as_uuid

_WINDOW = (
    "WITH RECURSIVE up(id, parent_id, depth, is_shown, is_question, below, anchor) AS ("
    "SELECT id, parent_id, 0, is_visible, role = 'user' AND is_visible, 0, CASE WHEN id = %(anchor)s THEN 0 END "
    "FROM chatui_message WHERE id = %(leaf)s AND conversation_id = %(conversation)s "
    "UNION ALL "
    "SELECT above.id, above.parent_id, up.depth + 1, above.is_visible, above.role = 'user' AND above.is_visible, "
    "up.below + CASE WHEN up.is_question THEN 1 ELSE 0 END, "
    "COALESCE(up.anchor, CASE WHEN above.id = %(anchor)s THEN up.below + CASE WHEN up.is_question THEN 1 ELSE 0 END END) "
    "FROM up JOIN chatui_message above ON above.id = up.parent_id "
    # The recursion ends at the first visible message above the window, which shows that there is more.
    "WHERE up.anchor IS NULL OR NOT up.is_shown OR up.below < up.anchor + %(stop)s) "
    "SELECT id, below, is_shown, (SELECT MAX(anchor) FROM up) FROM up "
    "WHERE below >= (SELECT MAX(anchor) FROM up) + %(start)s ORDER BY depth DESC"
)

_EVERYTHING = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """Some exchanges of a branch: the keys of their messages, in order, exchange by exchange.

    ``anchored``: the number of exchanges below the anchor's own. ``has_earlier`` and ``has_later``: whether the branch has more visible
    messages above and below.
    """

    exchanges: tuple[tuple[UUID, ...], ...]
    anchored: int
    has_earlier: bool
    has_later: bool

    @property
    def keys(self) -> list[UUID]:
        """The keys of all messages, in order."""
        return [key for exchange in self.exchanges for key in exchange]


def window(conversation_id: UUID, leaf_id: UUID, anchor_id: UUID, reach: range) -> Window | None:
    """The exchanges in ``reach`` around a message of the branch that ends in ``leaf_id``.

    None if the message is not on it. The query starts at the leaf: with the anchor itself as the leaf, loading the exchanges above it takes
    the same time in every conversation.
    """
    parameters = {
        "conversation": as_parameter(conversation_id),
        "leaf": as_parameter(leaf_id),
        "anchor": as_parameter(anchor_id),
        "start": reach.start,
        "stop": reach.stop,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WINDOW, parameters)
        rows: Sequence[tuple[object, int, object, int | None]] = cursor.fetchall()
    if not rows or rows[0][3] is None:
        return None
    anchor = rows[0][3]
    return Window(
        exchanges=tuple(_exchanges([(as_uuid(key), below) for key, below, _, _ in rows if below < anchor + reach.stop])),
        anchored=anchor,
        has_earlier=any(is_shown and below >= anchor + reach.stop for _, below, is_shown, _ in rows),
        has_later=anchor + reach.start > 0,
    )


def whole(conversation_id: UUID, leaf_id: UUID) -> Window | None:
    """The whole branch that ends in ``leaf_id``. None if there is no such message."""
    return window(conversation_id, leaf_id, leaf_id, range(_EVERYTHING))


def _exchanges(rows: Sequence[tuple[UUID, int]]) -> Iterator[tuple[UUID, ...]]:
    together: list[UUID] = []
    for index, (key, below) in enumerate(rows):
        together.append(key)
        if index + 1 == len(rows) or rows[index + 1][1] != below:
            yield tuple(together)
            together = []
