"""What independent suites for the formats say of the product, as it is served with the demo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import llm_comply
import pytest
from llm_comply import result, runner
from llm_comply.config import ComplianceConfig
from llm_comply.schema import SpecLoader
from llm_comply.tests.open_responses import OPEN_RESPONSES_TESTS
from llm_comply.tests.openai_chat import OPENAI_CHAT_TESTS
from openresponses_types import types

from chatui.api.urls import urlpatterns
from tests.chatui.api.asking import events_of
from tests.chatui.api.deployed import fast_key as fast_key
from tests.chatui.api.deployed import fast_server as fast_server
from tests.chatui.api.deployed import place as place
from tests.support.served import Server

pytestmark = pytest.mark.served

SPECS = Path(llm_comply.__file__).parent / "specs"
SUITES: dict[str, tuple[list[Any], str]] = {
    "responses": (OPEN_RESPONSES_TESTS, "openresponses.json"),
    "chat": (OPENAI_CHAT_TESTS, "openai_chat.json"),
}
UNKNOWN_TO_IT = ["reasoning_summary_text"]
"""Events of the specification that the suite does not know."""


@pytest.mark.filterwarnings("ignore:jsonschema.RefResolver:DeprecationWarning")
@pytest.mark.parametrize("name", SUITES)
def test_every_test_of_llm_comply_passes(name: str, fast_server: Server, fast_key: str) -> None:
    tests, spec = SUITES[name]
    config = ComplianceConfig(f"{fast_server.url}/v1", fast_key, model="demo", ignore_errors=UNKNOWN_TO_IT)
    if not any("compact" in str(each.pattern) for each in urlpatterns):
        tests = [each for each in tests if not each.id.startswith("compact")]  # what the format calls optional, and is not served
    suite = runner.TestRunner(config, tests, SpecLoader(str(SPECS / spec))).run_all()
    assert not {found.id: found.errors for found in suite.results if found.status is result.TestStatus.FAILED}
    skipped = {found.id for found in suite.results if found.status is result.TestStatus.SKIPPED}
    assert skipped <= {"reasoning-summary", "chat-reasoning-summary"}, "it asks for these of models of other names only"


@pytest.fixture
def client(fast_server: Server, fast_key: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{fast_server.url}/v1", headers={"Authorization": f"Bearer {fast_key}"}, timeout=60) as client:
        yield client


MESSAGE: dict[str, Any] = {"type": "message", "role": "user", "content": "How is the weather in Tokyo?"}
FUNCTION = {"type": "function", "name": "get_weather", "description": "The weather.", "parameters": {"type": "object", "properties": {}}}
REQUESTS: dict[str, dict[str, Any]] = {
    "basic-response": {"input": [MESSAGE]},
    "streaming-response": {"input": "Write a long text with a table.", "reasoning": {"summary": "auto"}},
    "system-prompt": {"input": [{"type": "message", "role": "system", "content": "Be brief."}, MESSAGE]},
    "tool-calling": {"input": [MESSAGE], "tools": [FUNCTION], "tool_choice": "required"},
    "image-input": {
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is it?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
                ],
            }
        ]
    },
    "multi-turn": {"input": [MESSAGE, {"type": "message", "role": "assistant", "content": "Sunny."}, MESSAGE]},
    "assistant-phase": {
        "input": [
            {"type": "message", "role": "assistant", "phase": "commentary", "content": "I look."},
            {"type": "message", "role": "assistant", "phase": "final_answer", "content": "Four."},
            MESSAGE,
        ]
    },
}
EVENTS = {
    str(next(iter(model.model_fields["type"].annotation)).value): model
    for name, model in vars(types).items()
    if name.endswith("StreamingEvent")
}
"""The model of each of the specification's events, by its type."""


@pytest.mark.parametrize("name", REQUESTS)
def test_each_response_is_complete_by_the_models_of_the_specification(name: str, client: httpx.Client) -> None:
    whole = client.post("/responses", json={"model": "demo"} | REQUESTS[name])
    assert whole.status_code == 200 and whole.json()["status"] == "completed" and whole.json()["output"]
    types.ResponseResource.model_validate(whole.json())
    events = events_of(client.post("/responses", json={"model": "demo", "stream": True} | REQUESTS[name]).content)
    for event in events:
        EVENTS[event["type"]].model_validate(event)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1]["type"] == "response.completed" and events[-1]["response"]["output"] == items_of(events)
    assert [item["type"] for item in events[-1]["response"]["output"] if item["type"] != "reasoning"] == [
        item["type"] for item in whole.json()["output"] if item["type"] != "reasoning"
    ]


def items_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items as their events build them. Fails where an event comes at a place where it may not."""
    closed: list[dict[str, Any]] = []
    text: list[str] = []
    for event in events[2:-1]:
        kind = event["type"].removeprefix("response.")
        assert event["output_index"] == len(closed), kind
        if kind == "output_item.added":
            text = []
        elif kind in ("output_text.delta", "function_call_arguments.delta"):
            text.append(event["delta"])
        elif kind in ("output_text.done", "function_call_arguments.done"):
            assert "".join(text) == event.get("text", event.get("arguments"))
        elif kind == "output_item.done":
            item = event["item"]
            said = item.get("arguments", "".join(part["text"] for part in item.get("content", ())))
            assert said == "".join(text) and item["status"] == "completed"
            closed.append(item)
    return closed


def test_both_kinds_of_phase_come_as_the_suite_wants_them(client: httpx.Client) -> None:
    found = client.post("/responses", json={"model": "demo", "input": "Make a plan, please."}).json()
    assert [item["phase"] for item in found["output"] if item["type"] == "message"] == ["commentary", "final_answer"]


@pytest.mark.parametrize("body", [{"input": "?"}, {"model": "demo"}, {"model": "demo", "input": 3}, {"model": 3, "input": "?"}])
def test_a_request_that_is_none_gets_an_error_object(body: object, client: httpx.Client) -> None:
    refused = client.post("/responses", json=body)
    assert refused.status_code == 400 and set(refused.json()["error"]) == {"message", "type", "param", "code"}
    with client.stream("POST", "/responses", json=body) as streamed:
        assert streamed.status_code == 400 and streamed.headers["Content-Type"] == "application/json"
