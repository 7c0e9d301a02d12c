"""The sources under an answer: the pages that its text cites, and those that its model server reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatui.models import Turn
from renderer.markup import citations
from renderer.markup.citations import CitableSource, Pages


def sources_of(answers: Sequence[str], pages: Pages, turns: Iterable[Turn]) -> tuple[CitableSource, ...]:
    """The sources, each once, in the order of the text; none if there is no answer. ``pages``: those opened in the conversation. ``turns``:
    those that wrote the answers."""
    if not answers:
        return ()
    reported = [source for turn in turns for source in _reported(turn.by_server)]
    return tuple(dict.fromkeys([*citations.cited("\n".join(answers), pages), *reported]))


def _reported(by_server: object) -> list[CitableSource]:
    sources = by_server.get("sources") if isinstance(by_server, dict) else None
    return [page for url, title in sources or () if (page := CitableSource(url, title or url)).host]
