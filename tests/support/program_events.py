"""What a program gets of a turn while it runs, in the formats of the API, for turns that no model writes."""

from collections.abc import Iterable
from typing import Any

from chatui.api.message_events import MessageEvents
from chatui.api.recordings import BackgroundEvents
from chatui.api.response_events import ResponseEvents
from chatui.api.response_object import ResponseHead
from chatui.display import activities
from chatui.models.keys import new_key
from chatui.models.programs import ProgramAnswer
from chatui.turns.streams.program import Ended, ProgramStream
from renderer.activities.activity import Activity
from renderer.events import FrameOpened

Sent = tuple[list[dict[str, Any]], dict[str, Any]]
"""The events, and the whole answer at their end."""


async def over_responses(turn: Iterable[Any], answer: ProgramAnswer, *, wants_summary: bool = True, is_background: bool = False) -> Sent:
    """``turn``: raw events, and lines of the summary among them. ``answer``: whose id the response has."""
    events = (BackgroundEvents if is_background else ResponseEvents)(_head(answer), wants_summary=wants_summary)
    sent = await _live(turn, events)
    assert events.whole is not None
    return sent, events.whole


async def over_messages(turn: Iterable[Any], answer: ProgramAnswer, *, wants_lines: bool) -> Sent:
    """As ``over_responses``, in Anthropic's format."""
    events = MessageEvents(_head(answer), wants_thinking=True, wants_lines=wants_lines)
    return await _live(turn, events), events.whole()


def _head(answer: ProgramAnswer) -> ResponseHead:
    return ResponseHead(answer.pk, "demo", answer.turn.started_at, {})


async def _live(turn: Iterable[Any], events: ResponseEvents | MessageEvents) -> list[dict[str, Any]]:
    stream, key = ProgramStream(), new_key()
    for event in turn:
        if isinstance(event, Activity):
            stream.step(activities.english(event))
        else:
            key = new_key() if isinstance(event, FrameOpened) else key
            stream.take(event, key)
    stream.end(Ended("completed"))
    sent = list(events.begin())
    while events.ended is None:
        if (event := await stream.next()) is not None:
            sent += events.feed(event)
    return sent
