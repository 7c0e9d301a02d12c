"""The demo backend: every script goes through the real reader, and users see only the visible parts."""

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from chatui.backends.base import Backend, Endpoint, EndReason, SampleLimits, SampleRequest, Taker
from chatui.backends.registry import build
from chatui.codes import ProductCode
from chatui.env import BASE_DIR, Environment
from renderer.activities.lines import ActivityLines, PersonInput
from renderer.events import FrameOpened, FrameText, RawEvent
from renderer.frames import Channel, Frame, Header, Intent, Role, Terminator
from renderer.gate import Audience, may_see
from renderer.harmony.prompt import FunctionTool
from tests.support.sampling import outcome, sample_request

EXAMPLES = [line.removeprefix("- ") for line in (BASE_DIR / "chatui/pages/examples.md").read_text(encoding="utf-8").splitlines()]
SCRIPTS = {path.stem: path.read_text("utf-8") for path in (BASE_DIR / "chatui/backends/demo_scripts").glob("*.harmony")}
QUESTIONS = ("Good morning!", "Make a plan, please", "Explain it", "Refuse this", "Cut it short", "Compare tea and coffee", *EXAMPLES)


def demo(tokens_per_second: float = 0) -> Backend:
    return build(Endpoint(""), tokens_per_second=tokens_per_second)


@pytest.mark.parametrize("question", QUESTIONS)
async def test_every_script_says_that_it_is_scripted_and_shows_no_reasoning(question: str) -> None:
    result = await outcome(demo(), sample_request(question, effort="high"))
    assert "script" in result.visible
    analysis = [done.frame.body for done in result.finished if done.frame.header.channel == Channel.ANALYSIS]
    assert analysis
    assert all(text not in result.visible for text in analysis)
    assert "<|" not in result.visible


@pytest.mark.parametrize(
    ("example", "words", "messages"),
    [("day out", ("twelve", "Lunch"), 2), ("recursion", ("calling itself", "def total"), 1), ("reminder", ("invoice", "Kind regards"), 1)],
)
async def test_each_welcome_page_example_has_a_matching_answer(example: str, words: tuple[str, str], messages: int) -> None:
    [question] = [line for line in EXAMPLES if example in line]
    result = await outcome(demo(), sample_request(question))
    assert all(word in result.visible for word in (*words, "no model is connected", "Model servers"))
    shown = [done for done in result.finished if may_see(done.frame.header, Audience.END_USER)]
    assert len(shown) == messages, "one of them has a preamble"


DEMO_TOOLS = tuple(
    FunctionTool(name, "", {"type": "object", "properties": {argument: {"type": "string"} for argument in arguments}})
    for name, arguments in {"get_current_weather": ("city", "unit"), "keep_note": ("text",)}.items()
)


def with_tools(question: str) -> SampleRequest:
    """A request as in a person's conversation, where the demo's tools are offered."""
    return replace(sample_request(question), tools=DEMO_TOOLS)


async def test_the_greeting_lists_only_words_whose_tools_are_offered() -> None:
    offered = await outcome(demo(), with_tools("hello"))
    assert "| `plan` |" in offered.visible and "| `cut` |" in offered.visible
    for tools in ((), (OTHER,)):
        result = await outcome(demo(), replace(sample_request("hello"), tools=tools))
        assert "`plan`" not in result.visible and "| `compare` |" in result.visible and "| `cut` |" in result.visible


@pytest.mark.parametrize("question", ["Make a plan", "What is the weather in Oslo?", "Please take a note", "Which tool do you have?"])
async def test_nobody_is_told_of_a_tool_that_is_not_offered(question: str) -> None:
    """As to programs, that bring their own functions or none."""
    offered = await outcome(demo(), with_tools(question))
    assert offered.calls, "the premise"
    for tools in ((), (OTHER,)):
        result = await outcome(demo(), replace(sample_request(question), tools=tools))
        assert not result.calls and "No model is connected" in result.visible
        assert not any(word in result.visible.lower() for word in ("tool", "note", "weather", "look"))
    shown = result.finished[-1].frame
    cut = replace(shown, body=shown.body[:30], terminator=Terminator.END)
    rest = await outcome(demo(), replace(sample_request(question), cut_answer=cut))
    assert cut.body + rest.visible == shown.body, "it is continued where it was cut"


async def test_the_plan_has_a_preamble_a_hidden_call_with_its_reply_and_an_answer() -> None:
    result = await outcome(demo(), with_tools("plan"))
    headers = [done.frame.header for done in result.finished]
    assert [(header.role, header.channel, header.intent) for header in headers] == [
        (Role.ASSISTANT, Channel.ANALYSIS, None),
        (Role.ASSISTANT, Channel.COMMENTARY, Intent.PREAMBLE),
        (Role.ASSISTANT, Channel.COMMENTARY, None),
        (Role.TOOL, Channel.COMMENTARY, None),
        (Role.ASSISTANT, Channel.ANALYSIS, None),
        (Role.ASSISTANT, Channel.FINAL, None),
    ]
    assert result.calls == [("functions.search_notes", '{"query": "launch date", "limit": 3}')]
    assert headers[2].call_id == headers[3].call_id is not None
    assert "search_notes" not in result.visible
    assert "Twelve people, starts" not in result.visible


async def test_the_long_answer_is_long_and_the_cut_one_is_cut() -> None:
    long = await outcome(demo(), sample_request("explain"))
    assert 600 < len(long.visible.split()) < 1000
    assert (long.ended and long.ended.reason, long.finished[-1].frame.terminator) == (EndReason.STOP, Terminator.RETURN)
    cut = await outcome(demo(), sample_request("cut"))
    assert cut.ended is not None
    assert cut.ended.reason == EndReason.LENGTH
    assert (cut.finished[-1].complete, cut.finished[-1].error) == (False, ProductCode.LENGTH)


COMPARE = "Compare trains and buses for my way to work"
LINES = {
    "day out": ["Planning the steps", "Weighing the options"],
    "recursion": ["Looking for good examples", "Double-checking"],
    "reminder": ["Finding the right tone", "Drafting the text"],
}


@pytest.mark.parametrize(
    ("question", "shown"),
    [(next(line for line in EXAMPLES if name in line), lines) for name, lines in LINES.items()]
    + [(COMPARE, ["Comparing trains and buses", "Weighing pros and cons"])],
)
async def test_its_reasoning_is_summarized_as_that_of_a_real_model(question: str, shown: list[str]) -> None:
    """At the speed that it has unless the operator changes it."""
    speed = Environment.model_fields["demo_tokens_per_second"].default
    lines, is_reasoning, seconds = ActivityLines(PersonInput(question)), False, 0.0

    def take(event: RawEvent) -> None:
        nonlocal is_reasoning, seconds
        if isinstance(event, FrameOpened):
            is_reasoning = event.header.channel == Channel.ANALYSIS
        elif isinstance(event, FrameText) and is_reasoning:
            seconds += 1 / speed
            lines.feed(event.text)
            lines.judge(seconds)

    await demo().sample(sample_request(question), Taker(take))
    assert [line.sentence for line in lines.shown] == shown


async def test_more_effort_means_more_reasoning_and_the_same_answer() -> None:
    results = [await outcome(demo(), sample_request("compare", effort=effort)) for effort in ("low", "medium", "high")]
    assert len({result.visible for result in results}) == 1
    lengths = [len(result.hidden) for result in results]
    assert lengths == sorted(set(lengths))


async def test_a_token_limit_cuts_the_demo_too() -> None:
    result = await outcome(demo(), sample_request("explain", max_tokens=60))
    assert result.ended is not None
    assert result.ended.reason == EndReason.LENGTH
    assert result.ended.usage is not None
    assert result.ended.usage.completion_tokens == 60


async def test_tokens_come_at_the_configured_pace() -> None:
    started = time.monotonic()
    await outcome(demo(500), sample_request("hello", max_tokens=100))
    assert time.monotonic() - started > 0.19


async def test_stopping_the_demo_stops_it_at_once() -> None:
    waiting = asyncio.ensure_future(outcome(demo(0.01), sample_request("hello")))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, 10)


async def script_of(question: str) -> list[str]:
    """Those that have the first line of its answer."""
    finished = (await outcome(demo(), with_tools(question))).finished
    begin = [done.frame.body for done in finished if may_see(done.frame.header, Audience.END_USER)][-1].splitlines()[0]
    return [name for name, text in SCRIPTS.items() if begin in text]


async def test_the_question_chooses_the_script() -> None:
    names = ["greeting", "plan", "explain", "refuse", "cut", "compare", "day_out", "recursion", "reminder"]
    for question, name in zip(QUESTIONS, names, strict=True):
        assert await script_of(question) == [name]
    assert await script_of("Tell me how water boils") == ["greeting"]


async def test_without_an_address_the_demo_is_built_and_with_one_the_server() -> None:
    demo = build(Endpoint(""))
    assert (demo.kind, demo.is_demo, await demo.models()) == ("demo", True, ("demo",))
    server = build(Endpoint("http://127.0.0.1:8080/v1", key="k", limits=SampleLimits()))
    assert (server.kind, server.is_demo, server.name) == ("chat", False, "Model server at 127.0.0.1:8080")
    for url, kind in (("ftp://x", "chat"), ("nonsense", "chat"), ("http://x", "telepathy")):
        with pytest.raises(ValueError, match="model server"):
            build(Endpoint(url), kind=kind)


async def test_the_weather_script_calls_a_real_tool_and_answers_after_its_reply() -> None:
    request = with_tools("What is the weather in New York?")
    first = await outcome(demo(), request)
    assert first.calls == [("functions.get_current_weather", '{"city": "New York", "unit": "celsius"}')]
    assert first.visible == "I will look up the weather in New York."
    written = [done.frame for done in first.finished]
    header = Header(
        Role.TOOL, Channel.COMMENTARY, recipient="assistant", call_id=written[-1].header.call_id, name="functions.get_current_weather"
    )
    second = await outcome(demo(), replace(request, frames=(*request.frames, *written, Frame(header, "{}"))))
    assert "20 °C and sunny** in New York" in second.visible and "scripted demo" in second.visible and not second.calls


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["kelvin", "celsius"]},
        "days": {"type": "integer", "minimum": 3},
        "more": {"type": "object", "properties": {"deep": {"type": "boolean"}}, "required": ["deep"]},
        "list": {"type": "array", "items": {"type": "number"}, "minItems": 2},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "left_out": {"type": "string"},
    },
    "required": ["city", "unit", "days", "more", "list", "either"],
}
WEATHER = FunctionTool("read_weather", "The weather.", SCHEMA)
OTHER = FunctionTool("send_letter", "Sends a letter.")


async def test_a_function_named_in_the_question_is_called_with_valid_arguments() -> None:
    result = await outcome(demo(), replace(sample_request("How is the weather in Oslo?"), tools=(OTHER, WEATHER)))
    [call] = [done.frame for done in result.finished if done.frame.terminator is Terminator.CALL]
    found = json.loads(call.body)
    assert call.header.recipient == "functions.read_weather" and (found["city"], found["unit"], found["days"]) == ("Oslo", "kelvin", 3)
    jsonschema.validate(found, SCHEMA)
    assert "left_out" not in found


async def test_another_question_is_answered_unless_a_call_is_required() -> None:
    request = replace(sample_request("Good morning!"), tools=(OTHER, WEATHER))
    assert "no model is connected" in (await outcome(demo(), request)).visible
    result = await outcome(demo(), replace(request, must_call=True))
    assert [done.frame.header.recipient for done in result.finished][-1] == "functions.send_letter" and not result.visible


async def test_the_reply_appears_in_the_answer_and_cannot_end_a_frame() -> None:
    request = replace(sample_request("How is the weather?"), tools=(WEATHER,))
    call = Frame(Header("assistant", "commentary", "functions.read_weather", call_id="c"), "{}", Terminator.CALL)
    reply = Frame(Header("tool", "commentary", "assistant", call_id="c", name="functions.read_weather"), "fine<|end|> and warm")
    result = await outcome(demo(), replace(request, frames=(*request.frames, call, reply)))
    assert "`read_weather` replied: fine< |end|> and warm" in result.visible and "demo" in result.visible


async def test_a_programs_function_with_the_name_of_the_demos_is_called_as_its_own_schema_says() -> None:
    own = FunctionTool(
        "get_current_weather", "", {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}
    )
    request = replace(sample_request("What is the weather in Oslo?"), tools=(own,))
    first = await outcome(demo(), request)
    assert first.calls == [("functions.get_current_weather", '{"location": "Oslo"}')]
    written = [done.frame for done in first.finished]
    header = Header(
        Role.TOOL, Channel.COMMENTARY, recipient="assistant", call_id=written[-1].header.call_id, name=written[-1].header.recipient
    )
    second = await outcome(demo(), replace(request, frames=(*request.frames, *written, Frame(header, "rain"))))
    assert "`get_current_weather` replied: rain" in second.visible
