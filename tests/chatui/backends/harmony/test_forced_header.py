"""Required tool calls over token ids: which messages may stand before the call or are it, and how its function is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatui.backends.base import EndReason
from chatui.backends.harmony.backend import Forced
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.harmony.test_forced_calls import (
    CALL,
    CITY,
    CLOCK,
    HEADER,
    PYTHON,
    RETURN,
    SEARCH,
    SECRET,
    THOUGHT,
    WEATHER,
    all_text,
    forced,
    prompts,
    sample,
    stream,
    words_in,
)
from tests.chatui.backends.test_wire_formats import BUSY, REFUSED, schema_in
from tests.chatui.backends.wire import ids_of, sse, vllm
from tests.support.stub import DONE, SSE_HEAD

FINAL = f"<|channel|>final<|message|>{SECRET}"


def call(channel: str, recipient: str | None, **more: Any) -> Header:
    return Header("assistant", channel, recipient, **more)


@pytest.mark.parametrize(
    ("header", "misses"),
    [
        (ANALYSIS, False),
        (PREAMBLE, False),
        (BROKEN, False),
        (ANSWER, True),
        (Header("assistant", "commentary"), True),
        (call("analysis", "user"), False),
        (call("commentary", "user"), True),
        (call("commentary", "functions.weather"), False),
        (call("analysis", "functions.weather"), True),
        (call("final", "functions.weather"), True),
        (call("commentary", "functions.other"), True),
        (call("commentary", "weather"), True),
        (call("commentary", "browser.search"), False),
        (call("analysis", "browser.search"), False),
        (call("final", "browser.search"), True),
        (call("analysis", "browser.open"), True),
        (call("commentary", "functions.browser_search"), False),
        (call("analysis", "functions.browser_search"), True),
        (call("commentary", "browser_search"), True),
        (call("analysis", "python"), True),
    ],
)
def test_only_reasoning_preambles_and_calls_of_the_tools_are_read(header: Header, misses: bool) -> None:
    assert Forced([WEATHER, SEARCH]).misses(header) is misses


def test_each_tool_has_the_recipient_of_its_calls() -> None:
    assert Forced([WEATHER, SEARCH, PYTHON]).recipients == {"functions.weather": WEATHER, "browser.search": SEARCH, "python": PYTHON}


@pytest.mark.asyncio
@pytest.mark.parametrize("end", [DONE, b"", sse(vllm(finish="stop")), sse(vllm(finish="length"))])
async def test_a_name_is_read_however_the_output_ends(vocabulary: Vocabulary, end: bytes) -> None:
    name = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "=functions.clock"))) + end
    answers = stream("vLLM", vocabulary, FINAL), name, stream("vLLM", vocabulary, "{}", CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers)
    assert (result.error, result.calls, len(bodies)) == (None, [("functions.clock", "{}")], 3)


@pytest.mark.asyncio
async def test_nothing_behind_the_end_of_a_name_is_read(vocabulary: Vocabulary) -> None:
    name = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "=functions.clock"))) + DONE + sse(vllm(*ids_of(vocabulary, "work")))
    answers = stream("vLLM", vocabulary, FINAL), name, stream("vLLM", vocabulary, "{}", CALL)
    assert (await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers))[0].calls == [("functions.clock", "{}")]


@pytest.mark.asyncio
async def test_a_name_that_does_not_end_is_not_read_to_the_end(vocabulary: Vocabulary) -> None:
    def name(chars: int) -> bytes:
        """A name and white space, and then an event that cannot be read."""
        return SSE_HEAD + sse(vllm(*ids_of(vocabulary, "=functions.clock".ljust(chars)))) + b"data: {\n\n"

    answers = stream("vLLM", vocabulary, FINAL), name(201), stream("vLLM", vocabulary, "{}", CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers)
    assert (result.error, result.calls) == (None, [("functions.clock", "{}")])
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", answers[0], name(200))
    assert result.error is not None and len(bodies) == 2, "the premise: up to 200 characters, it is"


@pytest.mark.asyncio
@pytest.mark.parametrize(("before", "retryable"), [("", True), ("=functions.clock", False)])
async def test_a_failure_within_a_name_can_be_repeated_before_it_begins(vocabulary: Vocabulary, before: str, retryable: bool) -> None:
    begun = sse(vllm(*ids_of(vocabulary, before))) if before else b""
    failing = SSE_HEAD + begun + sse({"error": {"code": 500, "message": "x"}})
    result, _ = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", stream("vLLM", vocabulary, FINAL), failing)
    assert result.error is not None and result.error.retryable is retryable


@pytest.mark.asyncio
@pytest.mark.parametrize(("word", "is_name"), [(" =functions.clock", False), ("=functions.clock\n\nx", True), ("=functions.clock<", False)])
async def test_a_name_ends_at_white_space(vocabulary: Vocabulary, word: str, is_name: bool) -> None:
    naming = stream("vLLM", vocabulary, word, RETURN)
    answers = [stream("vLLM", vocabulary, FINAL), naming, *([] if is_name else [naming]), stream("vLLM", vocabulary, "{}", CALL)]
    result, _ = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers)
    assert result.calls == ([("functions.clock", "{}")] if is_name else [])


@pytest.mark.asyncio
async def test_a_name_is_asked_for_a_second_time_before_the_call_is_given_up(vocabulary: Vocabulary) -> None:
    wrong, right = stream("vLLM", vocabulary, "=other", RETURN), stream("vLLM", vocabulary, "=functions.clock", RETURN)
    answers = stream("vLLM", vocabulary, FINAL), wrong, right, stream("vLLM", vocabulary, "{}", CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers)
    assert result.calls == [("functions.clock", "{}")] and prompts(bodies)[1] == prompts(bodies)[2]


@pytest.mark.asyncio
async def test_a_call_that_fails_is_begun_once_more(vocabulary: Vocabulary) -> None:
    half = stream("vLLM", vocabulary, f'{{"ci<|end|><|start|>assistant{FINAL}<|return|>')
    answers = stream("vLLM", vocabulary, f"{THOUGHT}<|start|>assistant{FINAL}"), half, stream("vLLM", vocabulary, CITY, CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER), "vLLM", *answers)
    assert result.calls == [("functions.weather", CITY)] and len(bodies) == 3 and SECRET not in all_text(result)
    assert result.ended is not None and result.ended.reason is EndReason.TOOL_CALLS


@pytest.mark.asyncio
@pytest.mark.parametrize("max_tokens", [500, 90, 20, 3])
async def test_what_we_write_counts_towards_the_limit_of_the_answer(vocabulary: Vocabulary, max_tokens: int) -> None:
    answers = [stream("vLLM", vocabulary, text, stop) for text, stop in ((FINAL, None), ("=functions.clock", RETURN), ("{}", CALL))]
    request = replace(forced(WEATHER, CLOCK), max_tokens=max_tokens)
    _, bodies = await sample(vocabulary, request, "vLLM", *answers)
    opening, header = ids_of(vocabulary, " to"), ids_of(vocabulary, HEADER.replace("weather", "clock"))
    expected = [max_tokens, min(max(max_tokens - len(opening), 1), 80), max(max_tokens - len(header), 1)]
    assert [body["max_tokens"] for body in bodies] == expected


@pytest.mark.asyncio
async def test_a_function_without_parameters_takes_an_object(vocabulary: Vocabulary) -> None:
    answers = stream("vLLM", vocabulary, FINAL), stream("vLLM", vocabulary, "{}", CALL)
    result, bodies = await sample(vocabulary, forced(FunctionTool("ping")), "vLLM", *answers)
    assert result.calls == [("functions.ping", "{}")] and schema_in(bodies[1]) == {"type": "object"}


@pytest.mark.asyncio
async def test_a_refusal_of_a_free_name_is_not_asked_again(vocabulary: Vocabulary) -> None:
    longer = FunctionTool("weather_now", "Now.")
    result, bodies = await sample(vocabulary, forced(WEATHER, longer), "vLLM", stream("vLLM", vocabulary, FINAL), REFUSED, REFUSED)
    assert result.error is not None and len(bodies) == 2 and words_in(bodies[1]) is None


@pytest.mark.asyncio
async def test_a_failure_that_is_no_refusal_of_the_words_is_not_asked_again(vocabulary: Vocabulary) -> None:
    name, arguments = stream("vLLM", vocabulary, "=functions.clock", RETURN), stream("vLLM", vocabulary, "{}", CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", stream("vLLM", vocabulary, FINAL), BUSY, name, arguments)
    assert result.error is not None and len(bodies) == 2 and not result.calls


@pytest.mark.asyncio
async def test_a_stream_that_breaks_off_is_not_made_a_call(vocabulary: Vocabulary) -> None:
    cut = SSE_HEAD + sse(vllm(*ids_of(vocabulary, THOUGHT)))
    result, bodies = await sample(vocabulary, forced(WEATHER), "vLLM", cut, stream("vLLM", vocabulary, CITY, CALL))
    assert result.error is not None and len(bodies) == 1 and not result.calls
    for text in ('{"ci', '{"ci<|end|>'):
        half = SSE_HEAD + sse(vllm(*ids_of(vocabulary, text)))
        answers = stream("vLLM", vocabulary, FINAL), half, stream("vLLM", vocabulary, CITY, CALL)
        result, bodies = await sample(vocabulary, forced(WEATHER), "vLLM", *answers)
        assert result.error is not None and len(bodies) == 2 and not result.calls
