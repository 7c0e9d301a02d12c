"""The built-in tools of gpt-oss: offered in the trained format, called from analysis or commentary, and answered on the same channel."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from chatui.models.user import User
from chatui.tools import catalogue, replies
from chatui.tools.replies import ToolReply
from chatui.tools.tool import CallingTurn, Tool
from renderer.frames import Frame, Header, Terminator
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.formats import format_of
from tests.chatui.backends.wire import VLLM, day_in, ids_of, posts, sse, vllm
from tests.chatui.turns.calls.test_wire_formats import ANSWER, model, model_of, transcript
from tests.renderer.harmony.test_prompt import of_oracle
from tests.support import environment
from tests.support.offering import install
from tests.support.stub import DONE
from tests.support.tool_calls import call_in
from tests.support.turns import ask, run

TURNS: list[CallingTurn] = []


SEARCHING = "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant"
SEARCHING += '<|channel|>analysis to=browser.search code<|message|>{"query":"tea"}<|call|>'


def one_text(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name], "additionalProperties": False}


async def _search(arguments: Mapping[str, Any]) -> str:
    return f"[0] Results for {arguments['query']}"


async def _run(arguments: Mapping[str, Any]) -> str:
    return f"ran {arguments['code']}"


def begin(turn: CallingTurn) -> Any:
    TURNS.append(turn)
    return _search


SEARCH = Tool(
    "browser_search", "Searches.", one_text("query"), _search, is_async=True, label="Searching", recipient="browser.search", begin=begin
)
FIND = Tool("browser_find", "Finds.", one_text("pattern"), _search, is_async=True, recipient="browser.find")
PYTHON = Tool(
    "run_python", "Runs code.", one_text("code"), _run, is_async=True, label="Computing", recipient="python", code_argument="code"
)
TOOLS = {each.name: each for each in (SEARCH, FIND, PYTHON)}


def written(recipient: str, body: str, channel: str = "analysis", **more: Any) -> Frame:
    return Frame(Header("assistant", channel=channel, recipient=recipient, call_id="c", **more), body, Terminator.CALL)


@pytest.mark.parametrize(
    ("frame", "arguments"),
    [
        (written("browser.search", '{"query": "a"}', content_type="code"), {"query": "a"}),
        (written("browser.search", '{"query": "a"}', "commentary", constrain="json"), {"query": "a"}),
        (written("functions.browser_search", '{"query": "a"}', "commentary"), {"query": "a"}),
        (written("functions.browser.search", '{"query": "a"}', "commentary", constrain="json"), {"query": "a"}),
        (written("python", "1 + 1\n", content_type="code"), {"code": "1 + 1\n"}),
        (written("python", '{"code": 1}'), {"code": '{"code": 1}'}),
        (written("python", '{"code": "1"}', constrain="json"), {"code": "1"}),
        (written("functions.python", "print()", "commentary"), {"code": "print()"}),
        (written("functions.run_python", '{"code": "2"}', "commentary", constrain="json"), {"code": "2"}),
    ],
)
def test_a_built_in_tool_can_be_called_by_its_recipient_or_as_a_function(frame: Frame, arguments: dict[str, str]) -> None:
    assert call_in(frame, TOOLS).arguments == arguments


@pytest.mark.parametrize(
    "frame",
    [
        written("functions.browser_search", '{"query": "a"}', "analysis"),
        written("browser.search", '{"query": "a"}', "final"),
        written("browser.search", "no json", content_type="code"),
        written("browser.search", "[]"),
        written("browser.open", "{}"),
        written("browser", "{}"),
        written("browser_search", '{"query": "a"}'),
        written("functions.run_python", "1 + 1", "commentary"),
    ],
)
def test_an_invalid_call_of_a_built_in_tool_is_refused_with_an_explanation(frame: Frame) -> None:
    assert isinstance(call_in(frame, TOOLS), ToolReply)


@pytest.mark.parametrize("recipient", ["browser.open", "functions.open"])
def test_the_refusal_lists_the_names_in_the_prompt(recipient: str) -> None:
    over_ids, as_function = (call_in(written(recipient, "{}"), TOOLS, over_ids=each) for each in (True, False))
    assert isinstance(over_ids, ToolReply) and "The tools are: browser.search, browser.find, python." in over_ids.text
    named = "The tools are: functions.browser_search, functions.browser_find, functions.run_python."
    assert isinstance(as_function, ToolReply) and named in as_function.text


def test_tools_of_one_namespace_are_offered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, *TOOLS.values())
    environment.change(monkeypatch, {"tools": {"browser": (), "python": ("staff",)}, "tools_without_approval": ["browser", "python"]})
    assert list(catalogue.offered_to((), is_demo=False)) == ["browser_find", "browser_search"]
    assert list(catalogue.offered_to({"staff"}, is_demo=False)) == ["browser_find", "browser_search", "run_python"]


def test_plain_text_output_is_passed_on_unchanged() -> None:
    assert replies.plain_text_reply(replies.bounded_json('L0: "a"\nL1: b', 100)).text == 'L0: "a"\nL1: b'
    assert replies.plain_text_reply(replies.bounded_json([1], 100)).text == "[1]"


def offer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer these tools and a plain function."""
    install(monkeypatch, *catalogue.tools().values(), *TOOLS.values())
    names = ["get_weather", "browser", "python"]
    environment.change(monkeypatch, {"tools": dict.fromkeys(names, ()), "tools_without_approval": names, "tool_combinations": "any"})


@pytest.mark.django_db(transaction=True)
@pytest.mark.served
async def test_over_token_ids_the_loop_matches_openai_harmony(
    ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary, oracle: Any
) -> None:
    import openai_harmony as oh

    texts = [
        (SEARCHING, 200012),
        ("<|channel|>analysis to=python code<|message|>6*7<|call|>", 200012),
        (f"<|channel|>final<|message|>{ANSWER}<|return|>", 200002),
    ]  # fmt: skip
    answers = [sse(vllm(*ids_of(vocabulary, text), finish="stop", stop=stop)) + DONE for text, stop in texts]

    async with model(monkeypatch, "harmony", *answers, vocabulary=vocabulary, **VLLM) as server:
        offer(monkeypatch)
        TURNS.clear()
        turn = await run(ada, ask())
        assert (turn.state, turn.error_code) == ("completed", "")
    assert [(turn_context.turn_id, turn_context.questions) for turn_context in TURNS] == [(turn.pk, (ask().text,))]
    frames, seen = await transcript(turn)
    assert [name for name, _ in seen[1:]] == ["tool_activity", "tool_activity", ""] and seen[-1][1] == ANSWER
    traffic = [(frame.header.role, frame.header.channel, frame.header.name, frame.body) for frame in frames if frame.header.role == "tool"]
    assert traffic == [
        ("tool", "analysis", "browser.search", "[0] Results for tea"), ("tool", "analysis", "python", "ran 6*7"),
    ]  # fmt: skip
    prompts = [post["prompt"] for post in posts(server)]
    browser = oh.ToolNamespaceConfig.browser()
    browser = oh.ToolNamespaceConfig(
        name="browser", description=browser.description, tools=[each for each in browser.tools if each.name in ("search", "find")]
    )
    system = (
        oh.SystemContent.new().with_conversation_start_date(day_in(vocabulary, prompts[0])).with_reasoning_effort(oh.ReasoningEffort.MEDIUM)
    )
    system = system.with_tools(browser).with_python_tool()
    schema = one_text("city")
    weather = oh.ToolDescription.new("get_weather", "Gets the current weather in a city.", parameters=schema)
    developer = oh.DeveloperContent.new().with_function_tools([weather])
    recorded = [frame for frame in frames if frame.header.name != "tool_activity"]
    assert len(prompts) == 3
    for prompt, length in zip(prompts, (1, 4, 6), strict=True):
        assert prompt == of_oracle(oracle, recorded[:length], system, developer), length


@pytest.mark.django_db(transaction=True)
@pytest.mark.served
@pytest.mark.parametrize("kind", ["chat", "responses"])
@pytest.mark.parametrize(
    ("name", "arguments", "reply"),
    [("run_python", {"code": "6*7"}, "ran 6*7"), ("browser_search", {"query": "tea"}, "[0] Results for tea")],
)
async def test_other_formats_offer_built_ins_as_functions(
    kind: str, name: str, arguments: dict[str, str], reply: str, ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary
) -> None:
    of = format_of(vocabulary, kind)
    async with model_of(monkeypatch, of, of.called(name, arguments), of.says(ANSWER)) as server:
        offer(monkeypatch)
        assert (await run(ada, ask())).state == "completed"
    first, second = posts(server)
    assert of.offered(first) == ["browser_find", "browser_search", "get_weather", "run_python"]
    assert json.dumps(PYTHON.parameters) in json.dumps(first["tools"])
    assert of.replies(second) == [reply] and name in of.sent(second) and json.dumps(json.dumps(arguments)) in of.sent(second)
