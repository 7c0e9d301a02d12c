"""Reads answers in memory, as the two formats of text do: for tests of thousands of answers, which a server in between would make slow."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from chatui.backends.chat.deltas import Deltas
from chatui.backends.hosted_tools import HostedTools
from chatui.backends.leaks.labels import Asked
from chatui.backends.responses.reducer import Reducer
from chatui.backends.responses.speech import ServerTools
from renderer.events import RawEvent
from renderer.harmony.prompt import FunctionTool

Raws = tuple[list[RawEvent], list[RawEvent]]
"""What came of the events of the answer, and what of its end."""


def over_chat(
    chunks: Iterable[Mapping[str, Any]], *, breaks: bool = False, tools: Sequence[FunctionTool] = (), max_chars: int = 100_000, **known: Any
) -> Raws:
    """Read the chunks of Chat Completions. ``breaks``: without an end. ``tools``: those that were offered. ``known``: of the server."""
    numbers = count(1)
    reader = Deltas(lambda: f"call_{next(numbers)}", max_chars=max_chars, asked=Asked(tools=tuple(tools)), **known)
    begun = [raw for chunk in chunks for raw in reader.feed(dict(chunk))]
    return begun, reader.break_off() if breaks else reader.finish()[0]


def over_responses(
    events: Iterable[Mapping[str, Any]],
    *,
    breaks: bool = False,
    tools: Sequence[FunctionTool] = (),
    hosted: HostedTools | None = None,
    **known: Any,
) -> Raws:
    """Read the events of Responses. ``hosted``: the tools that the server runs by itself."""
    numbers = count(1)
    reader = Reducer(lambda: f"call_{next(numbers)}", max_chars=100_000, asked=Asked(tools=tuple(tools)), **known)
    reader.server_tools = ServerTools(hosted)
    begun = [raw for event in events for raw in reader.feed(event["type"], dict(event))]
    return begun, reader.break_off() if breaks else reader.finish()[0]
