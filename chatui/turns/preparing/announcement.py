"""The event that tells pages that a turn has begun."""

from __future__ import annotations

import logging

from chatui import wire
from chatui.display import fragments
from chatui.error_reports import log_without_content
from chatui.turns.start import Kind, Started
from renderer.markup.html import SafeHtml

log = logging.getLogger(__name__)


def created(started: Started) -> wire.TurnCreated:
    """The event, with the question if it is new."""
    language = fragments.language_of(started.language)
    html = _shown_question(started, language)
    return wire.TurnCreated(
        str(started.turn.conversation_id),
        str(started.turn.question_id),
        str(started.after) if started.after else None,
        started.kind,
        str(started.continued_turn) if started.continued_turn else None,
        html,
        language if html else None,
    )


def _shown_question(started: Started, language: str) -> SafeHtml | None:
    if started.kind not in (Kind.SEND, Kind.EDIT):
        return None
    try:
        return fragments.question(started.turn.question, started.versions, language, started.documents)
    except Exception as error:  # noqa: BLE001 - the question is answered all the same, and the page loads it from where it is stored
        log_without_content(log, started.turn.pk, error)
        return None
