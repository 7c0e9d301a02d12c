"""Independent conformance suites for the API formats, run against the served product: with the demo, and with recordings of a real vLLM.

``tests/llama/formats/test_conformance.py`` runs them with a real llama.cpp server as well.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import llm_comply
import pytest
from llm_comply import result, runner
from llm_comply.config import ComplianceConfig
from llm_comply.schema import SpecLoader
from llm_comply.tests.anthropic import ANTHROPIC_TESTS
from llm_comply.tests.open_responses import OPEN_RESPONSES_TESTS
from llm_comply.tests.openai_chat import OPENAI_CHAT_TESTS
from openresponses_types import types

from tests.chatui.api.asking import api_patterns, events_of
from tests.chatui.api.deployed import key_at, served
from tests.chatui.api.deployed import place as place
from tests.clients.recorded_vllm import GREETING, RecordedVllm, recorded_vllm
from tests.support.served import Server

pytestmark = pytest.mark.served

SPECS = Path(llm_comply.__file__).parent / "specs"
SUITES: dict[str, tuple[list[Any], str]] = {
    "responses": (OPEN_RESPONSES_TESTS, "openresponses.json"),
    "chat": (OPENAI_CHAT_TESTS, "openai_chat.json"),
    "messages": (ANTHROPIC_TESTS, "anthropic.json"),
}
UNKNOWN_TO_IT = ["reasoning_summary_text"]
"""Events of the specification that the suite does not know."""


BACKENDS = """
[[backend]]
name = "demo"
kind = "demo"

[[backend]]
name = "vllm-chat"
kind = "chat"
url = "{url}"
models = ["gpt-oss-tiny"]

[[backend]]
name = "vllm-responses"
kind = "responses"
url = "{url}"
models = ["gpt-oss-tiny"]
"""
RECORDED = ["vllm-chat", "vllm-responses"]


@pytest.fixture(scope="module")
def vllm() -> Iterator[RecordedVllm]:
    with recorded_vllm() as played:
        yield played


@pytest.fixture(scope="module")
def server(place: Path, vllm: RecordedVllm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    assert vllm.server is not None
    backends = tmp_path_factory.mktemp("backends") / "backends.toml"
    backends.write_text(BACKENDS.format(url=vllm.server.url))
    yield from served(place, CHATUI_BACKENDS_FILE=str(backends))


@pytest.fixture(scope="module")
def key(server: Server, place: Path) -> str:
    return key_at(place)


def judged(name: str, server: Server, key: str, model: str, without: frozenset[str] = frozenset()) -> None:
    """Run one test of the suite and fail if it fails. ``without``: tests that the model cannot satisfy.

    The suite's function gets a second argument, the one that the function in the recordings has.
    """
    tests, spec = SUITES[name]
    config = ComplianceConfig(f"{server.url}/v1", key, model=model, ignore_errors=UNKNOWN_TO_IT, verbose=True)
    assert any("compact" in str(each.pattern) for each in api_patterns()), "the premise: what the format calls optional is served"
    tests = [replace(each, build_request=partial(_with_unit, each.build_request)) for each in tests if each.id not in without]
    suite = runner.TestRunner(config, tests, SpecLoader(str(SPECS / spec))).run_all()
    assert len(suite.results) > 6
    failed = {found.id: (found.errors, found.response) for found in suite.results if found.status is result.TestStatus.FAILED}
    # A status alone explains nothing: an error object has its code, and the log the reason.
    assert not failed, f"{failed}\n{server.console[-20_000:]}"
    skipped = {found.id for found in suite.results if found.status is result.TestStatus.SKIPPED}
    assert skipped <= {"reasoning-summary", "chat-reasoning-summary", "anth-thinking-display"}, (
        "it requests these of models of other names only"
    )


def _with_unit(build: Callable[[ComplianceConfig], dict[str, Any]], config: ComplianceConfig) -> dict[str, Any]:
    request = build(config)
    for tool in request.get("tools", ()):
        described = tool.get("function", tool)
        described.get("parameters", described.get("input_schema"))["properties"]["unit"] = {"type": "string"}
    return request


@pytest.mark.filterwarnings("ignore:jsonschema.RefResolver:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "model"),
    [
        *(("responses", "demo"), ("chat", "demo"), ("messages", "demo")),
        *(("responses", "vllm-chat"), ("chat", "vllm-responses"), ("messages", "vllm-chat"), ("messages", "vllm-responses")),
    ],
)
def test_every_test_of_llm_comply_passes(name: str, model: str, server: Server, key: str) -> None:
    judged(name, server, key, model)


@pytest.fixture
def client(server: Server, key: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{server.url}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
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
"""The specification's model of each event, by its type."""


def test_each_response_validates_against_the_specification(client: httpx.Client) -> None:
    for request in REQUESTS.values():
        assert complete(client, {"model": "demo"} | request), request


def complete(client: httpx.Client, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a response, which is validated as a whole and as a stream."""
    whole = client.post("/responses", json=body)
    assert whole.status_code == 200 and whole.json()["status"] == "completed" and whole.json()["output"], whole.text
    types.ResponseResource.model_validate(whole.json())
    events = events_of(client.post("/responses", json=body | {"stream": True}).content)
    for event in events:
        EVENTS[event["type"]].model_validate(event)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1]["type"] == "response.completed" and events[-1]["response"]["output"] == items_of(events)
    found: list[dict[str, Any]] = events[-1]["response"]["output"]
    assert [item["type"] for item in found if item["type"] != "reasoning"] == [
        item["type"] for item in whole.json()["output"] if item["type"] != "reasoning"
    ]
    return found


def items_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Build the items from their events. Fails if an event comes at an invalid place."""
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
            content = item.get("arguments", "".join(part["text"] for part in item.get("content", ())))
            assert content == "".join(text) and item["status"] == "completed"
            closed.append(item)
    return closed


@pytest.mark.parametrize("model", RECORDED)
def test_a_recorded_vllm_answer_becomes_a_complete_response(model: str, client: httpx.Client, vllm: RecordedVllm) -> None:
    for request in REQUESTS.values():
        before = len(vllm.requests)
        found = complete(client, {"model": model} | request)
        assert len(vllm.requests) == before + 2, "the premise: it was asked, and once for each"
        if "tools" in request:
            [call] = [item for item in found if item["type"] == "function_call"]
            assert (call["name"], json.loads(call["arguments"])["location"]) == ("get_weather", "Tokyo")
        else:
            assert [part["text"] for item in found if item["type"] == "message" for part in item["content"]] == [GREETING]


def test_both_phases_satisfy_the_suite(client: httpx.Client) -> None:
    found = client.post("/responses", json={"model": "demo", "input": "Suggest a day out for twelve."}).json()
    assert [item["phase"] for item in found["output"] if item["type"] == "message"] == ["commentary", "final_answer"]


def test_an_invalid_request_gets_an_error_object(client: httpx.Client) -> None:
    for body in ({"input": "?"}, {"model": "demo"}, {"model": "demo", "input": 3}, {"model": 3, "input": "?"}):
        refused = client.post("/responses", json=body)
        assert refused.status_code == 400 and set(refused.json()["error"]) == {"message", "type", "param", "code"}
