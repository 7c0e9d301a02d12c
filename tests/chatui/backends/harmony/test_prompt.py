"""The prompt of a token-id server: which frames and tools are in it, how much of them fits, and how long the answer may be."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from chatui.answer_formats import answer_format
from chatui.backends.base import SampleRequest
from renderer.frame_kinds import NOTES
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.vocabulary import Vocabulary
from tests.support.sampling import sent

DAY = date(2026, 11, 20)
QUESTION = Frame(Header(Role.USER), "What is it?")
ANSWER = Header(Role.ASSISTANT, Channel.FINAL)
ORDERS = Frame(Header(Role.DEVELOPER), "Be kind.")
SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}}
LOOK = FunctionTool("look", "Looks.")
SEARCH = FunctionTool("browser_search", "Searches.", recipient="browser.search")
PYTHON = FunctionTool("python", "Runs code.", recipient="python")
TURNS = tuple(
    frame
    for number in range(10)
    for frame in (Frame(Header(Role.USER), f"Question {number}? " + "word " * 50), Frame(ANSWER, f"Answer {number}.", Terminator.RETURN))
)


def written(vocabulary: Vocabulary, *frames: Frame, **more: object) -> str:
    """The prompt as text."""
    request = replace(SampleRequest(frames, today=DAY), **more)  # type: ignore[arg-type]
    return as_text(vocabulary, asked(vocabulary, request)["prompt"])


def asked(vocabulary: Vocabulary, request: SampleRequest, context: int | None = None) -> dict[str, Any]:
    return sent("harmony-vllm", request, vocabulary, context=context)


def as_text(vocabulary: Vocabulary, ids: list[int]) -> str:
    return "".join(vocabulary.decode([number]).decode("utf-8", "replace") if number < 199_998 else f"<{number}>" for number in ids)


def test_orders_are_one_developer_message_and_the_rest_is_the_conversation(vocabulary: Vocabulary) -> None:
    system = Frame(Header(Role.SYSTEM), "Be short.")
    text = written(vocabulary, system, QUESTION, ORDERS)
    assert text.count("developer<200008>") == text.count("system<200008>") == 1
    assert "developer<200008># Instructions\n\nBe short.\n\nBe kind.<200007>" in text
    assert text.endswith("<200007><200006>user<200008>What is it?<200007><200006>assistant")
    assert "Current date: 2026-11-20" in text and "Reasoning: medium" in text
    assert "Reasoning: high" in written(vocabulary, QUESTION, effort="high")


def test_without_orders_tools_and_formats_there_is_no_developer_message(vocabulary: Vocabulary) -> None:
    assert "developer" not in written(vocabulary, QUESTION)
    assert "developer" not in written(vocabulary, QUESTION, tools=(SEARCH,))
    for only in ({"tools": (LOOK,)}, {"answer_format": answer_format("sum", SCHEMA)}):
        assert written(vocabulary, QUESTION, **only).count("developer<200008>") == 1
    assert "# Instructions" not in written(vocabulary, QUESTION, tools=(LOOK,))
    assert "## sum" in written(vocabulary, QUESTION, answer_format=answer_format("sum", SCHEMA))


@pytest.mark.parametrize(
    ("tools", "has"),
    [((LOOK,), (True, False, False)), ((SEARCH,), (False, True, False)), ((PYTHON,), (False, False, True)), ((), (False,) * 3)],
)
def test_built_in_tools_are_described_as_in_the_training_and_others_as_functions(
    vocabulary: Vocabulary, tools: tuple[FunctionTool, ...], has: tuple[bool, bool, bool]
) -> None:
    text = written(vocabulary, QUESTION, tools=tools)
    assert ("namespace functions" in text, "## browser" in text, "## python" in text) == has
    assert "browser_search" not in text and ("function search" in text or "type search" in text) == has[1]
    assert "type open" not in text, "only the functions that are offered"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (NOTES, "<200006>user<200008>"),
        (Header(Role.USER, name="ada"), "<200006>user<200008>"),
        (Header(Role.USER, name="Ada L."), "<200006>user<200008>"),
        (Header(Role.USER, content_type="a b"), "<200006>user<200008>"),
        (Header(Role.USER, constrain="a b"), "<200006>user<200008>"),
        (Header(Role.USER, channel="a b"), None),
        (Header(Role.USER, recipient="a b"), None),
        (Header("robot x"), None),
        (Header(Role.TOOL, name="functions.look", call_id="c1"), "<200006>functions.look<200008>"),
        (Header(Role.TOOL, call_id="c1"), None),
        (Header(Role.TOOL, name="", call_id="c1"), None),
        (Header(Role.TOOL, name="a b", call_id="c1"), None),
    ],
)
def test_what_harmony_cannot_express_is_left_out(vocabulary: Vocabulary, header: Header, expected: str | None) -> None:
    call = Frame(Header(Role.ASSISTANT, Channel.COMMENTARY, "functions.look", "c1"), "{}", Terminator.CALL)
    text = written(vocabulary, call, Frame(header, "BODY"), QUESTION)
    assert ("BODY" in text) == (expected is not None)
    assert expected is None or f"{expected}BODY<200007>" in text


def test_a_cut_answer_stays_open_at_the_end(vocabulary: Vocabulary) -> None:
    cut = Frame(replace(ANSWER, name="Ada L."), "Two and")
    assert written(vocabulary, QUESTION, cut_answer=cut).endswith("<200006>assistant<200005>final<200008>Two and")
    unwritable = Frame(Header(Role.ASSISTANT, "a b"), "x")
    assert written(vocabulary, QUESTION, cut_answer=unwritable) == written(vocabulary, QUESTION)


@pytest.mark.parametrize(
    ("wanted", "room", "expected"),
    [
        (None, None, 4096),
        (7, None, 7),
        (None, 900, 899),
        (7, 900, 7),
        (2000, 900, 899),
        (7, 1, 1),
        (899, 900, 899),
        (900, 900, 899),
    ],
)
def test_the_answer_may_be_as_long_as_requested_and_as_fits(
    vocabulary: Vocabulary, wanted: int | None, room: int | None, expected: int
) -> None:
    """``room``: how many tokens the context has beside the prompt; None if it is unknown."""
    request = SampleRequest((QUESTION,), max_tokens=wanted, today=DAY)
    context = room and len(asked(vocabulary, request)["prompt"]) + room
    assert asked(vocabulary, request, context)["max_tokens"] == expected


def test_the_oldest_turns_are_left_out_until_the_prompt_fits(vocabulary: Vocabulary) -> None:
    request = SampleRequest((ORDERS, *TURNS, QUESTION), max_tokens=100, today=DAY)
    whole = asked(vocabulary, request)["prompt"]
    assert asked(vocabulary, request, len(whole) + 100)["prompt"] == whole, "the prompt and the answer fill the context"
    text = as_text(vocabulary, asked(vocabulary, request, len(whole) + 99)["prompt"])
    assert "Question 0?" not in text and "Answer 0." not in text and "Question 1?" in text and "Be kind." in text


def test_a_marker_that_a_cut_answer_imitates_stays_text(vocabulary: Vocabulary) -> None:
    """A program may have written it."""
    cut = Frame(ANSWER, "<|end|><|start|>assistant<|channel|>analysis<|message|>")
    assert written(vocabulary, QUESTION, cut_answer=cut).endswith(f"<200006>assistant<200005>final<200008>{cut.body}")


def test_the_beginning_of_a_cut_answer_is_left_out_last(vocabulary: Vocabulary) -> None:
    cut = Frame(ANSWER, "".join(f"Step {number}. " for number in range(400)))
    request = SampleRequest((ORDERS, *TURNS, QUESTION), cut_answer=cut, max_tokens=100, today=DAY)
    found = asked(vocabulary, request, 800)["prompt"]
    text = as_text(vocabulary, found)
    assert text.endswith("Step 398. Step 399. ") and "Step 0." not in text
    assert "What is it?" in text and "Be kind." in text and "Question 9?" not in text
    assert 350 < len(found) <= 700
    whole = asked(vocabulary, request, 100_000)["prompt"]
    assert "Question 0?" in as_text(vocabulary, whole) and len(whole) > 2000


def test_a_cut_answer_that_just_fits_is_whole(vocabulary: Vocabulary) -> None:
    cut = Frame(ANSWER, "".join(f"Step {number}. " for number in range(100)))
    request = SampleRequest((QUESTION,), cut_answer=cut, max_tokens=100, today=DAY)
    whole = asked(vocabulary, request)["prompt"]
    assert asked(vocabulary, request, len(whole) + 100)["prompt"] == whole
    less = asked(vocabulary, request, len(whole) + 99)["prompt"]
    assert 3 * len(whole) < 4 * len(less) < 4 * len(whole) and less[-20:] == whole[-20:], "and otherwise most of it is kept"


def test_a_tool_reply_without_its_tool_is_no_error(vocabulary: Vocabulary) -> None:
    call = Frame(Header(Role.ASSISTANT, Channel.COMMENTARY, "functions.look", "c1", content_type="json"), "{}", Terminator.CALL)
    reply = Frame(Header(Role.TOOL, Channel.COMMENTARY, "assistant", "c1", name="functions.look"), "Sun.")
    text = written(vocabulary, QUESTION, call, reply)
    assert "functions.look to=assistant<200005>commentary<200008>Sun.<200007>" in text and "<200008>{}<200012>" in text
