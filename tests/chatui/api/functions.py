"""A function of an API client, and models that call it."""

import json
from collections.abc import Sequence
from typing import Any

from chatui.backends.base import EndReason
from chatui.tools.functions import model_name
from tests.chatui.api.asking import Program
from tests.chatui.turns.calls.calling import call
from tests.support.scripted import ANALYSIS, Step, ended, frame

CHAT = "/v1/chat/completions"
SECRET = "the hidden marmalade"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "name": "get-weather", "description": "The weather in a city.", "parameters": SCHEMA, "strict": True}
CLOCK = {"type": "function", "name": "clock", "parameters": None}


def nested(*tools: dict[str, Any]) -> list[dict[str, Any]]:
    """The functions in the format of Chat Completions."""
    return [{"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}} for tool in tools]


def calling(*steps: Sequence[Step], preamble: Sequence[Step] = ()) -> list[Step]:
    """A sampling that thinks and makes these calls."""
    all_steps = [step for each in steps for step in each]
    return [*frame(ANALYSIS, SECRET), *preamble, *all_steps, ended(EndReason.TOOL_CALLS)]


def ids_of(response: dict[str, Any]) -> list[str]:
    """The ids of the calls in a response: made here, whatever the model server calls them."""
    return [item["call_id"] for item in response["output"] if item["type"] == "function_call"]


def weather(call_id: str = "c1", **arguments: Any) -> list[Step]:
    return call(model_name("get-weather"), call_id, **(arguments or {"city": "Tokyo"}))


def calls_of(answer: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The name and arguments of each call in a response."""
    return [(item["name"], json.loads(item["arguments"])) for item in answer["output"] if item["type"] == "function_call"]


async def first_call(program: Program) -> dict[str, Any]:
    """A response that ends with a call."""
    return await program.ask({"input": "How is the weather in Tokyo?", "tools": [WEATHER]})
