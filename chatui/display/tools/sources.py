"""The sources under an answer: the pages that its text cites, and those that its model server reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatui.models import Turn
from renderer.markup import citations
from renderer.markup.citations import Cited, Pages


def sources_of(answers: Sequence[str], pages: Pages, turns: Iterable[Turn]) -> tuple[Cited, ...]:
    """Each once, in the order of the text; none where there is no answer. ``pages``: what was opened in the conversation. ``turns``: those
    that wrote the answers."""
    if not answers:
        return ()
    told = [source for turn in turns for source in _told(turn.by_server)]
    return tuple(dict.fromkeys([*citations.cited("\n".join(answers), pages), *told]))


def _told(by_server: object) -> list[Cited]:
    sources = by_server.get("sources") if isinstance(by_server, dict) else None
    return [page for url, title in sources or () if (page := Cited(url, title or url)).host]
