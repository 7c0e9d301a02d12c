"""What the tests ask the tiny model over every wire format, and what it answers."""

import asyncio
import json
import urllib.request
from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import Backend, Endpoint, EndReason, SampleLimits
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.vocabulary import Vocabulary
from tests.backends.recorded import FIBONACCI, GREETING, ITINERARY, LANGUAGES, LITERAL

FORMATS = ("chat", "responses", "harmony")
LIMITS = SampleLimits(first=30, idle=10, overall=60)
CANARY = "RAW-COT-CANARY-7391"
THINK_HARD = "Think hard: how do I get to work fastest?"
COUNTED = ", ".join(map(str, range(1, 201))) + "."
BICYCLE = "Take the **bicycle**: about 8 minutes and free. Bring a lock."

ANSWERS = {"Hello!": GREETING, "What is 2 + 2?": "2 + 2 = 4.", "ping": "pong", THINK_HARD: BICYCLE}
"""Questions that the model answers the same over every format."""

Known = tuple[str, EndReason, list[tuple[str, str]]]
KNOWN: dict[str, Known] = {
    **{question: (answer, EndReason.STOP, []) for question, answer in ANSWERS.items()},
    "Thanks!": ("You're welcome! 😊", EndReason.STOP, []),
    "Say hello in many languages.": (LANGUAGES, EndReason.STOP, []),
    "Show me what a Harmony message looks like.": (LITERAL, EndReason.STOP, []),
    "Plan a weekend trip to Paris.": (ITINERARY, EndReason.STOP, []),
    "What is the weather in Tokyo?": ("I can't look up live weather here.", EndReason.STOP, []),
    "Use Python to compute the 10th Fibonacci number.": ("", EndReason.TOOL_CALLS, [FIBONACCI]),
    "Search the web for the Harmony format.": (
        "",
        EndReason.TOOL_CALLS,
        [("browser.search", '{"query":"Harmony response format","topn":3}')],
    ),
    "Break the header.": ("Recovered.", EndReason.STOP, []),
    "Who are you?": ("I am a tiny test model and I only know a few prompts.", EndReason.STOP, []),
}
"""What the model knows: the visible text, the end and the calls over token ids, where nothing stands between."""

WEATHER = FunctionTool(
    "get_weather",
    "Gets the current weather for a location.",
    {
        "type": "object",
        "properties": {
            "location": {"type": "string", "description": "The city"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["location"],
    },
)


def backend_of(wire_format: str, url: str, vocabulary: Vocabulary | None) -> Backend:
    """Our side of one wire format. ``vocabulary``: for token ids."""
    return registry.build(Endpoint(url, limits=LIMITS), kind=wire_format, vocabulary=(lambda: vocabulary) if vocabulary else None)


def over(*formats: str) -> pytest.MarkDecorator:
    """Marks a test that asks over some of the formats only."""
    return pytest.mark.parametrize("backend", formats, indirect=True)


async def fetched(url: str, body: object = None) -> Any:
    """The JSON that the server answers to a request that the product has no part in."""
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, {"Content-Type": "application/json"})

    def ask() -> Any:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    return await asyncio.to_thread(ask)


async def is_writing(url: str) -> bool:
    return any(slot["is_processing"] for slot in await fetched(f"{url}/slots"))


async def stopped(url: str) -> None:
    """Wait until the model has stopped writing, and check that this is long before it has counted to 200."""
    async with asyncio.timeout(20):
        while await is_writing(url):
            await asyncio.sleep(0.02)
    written = max(slot["next_token"][0]["n_decoded"] for slot in await fetched(f"{url}/slots") if "next_token" in slot)
    assert written < 600, "the model had written everything before it was stopped"
