"""Required tool calls over token ids: anything else that the model opens is dropped and replaced by the header of a call."""

from dataclasses import replace
from typing import Any

import pytest

from chatui.backends.base import EndReason, SampleRequest
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.test_wire_formats import BUSY, REFUSED, SERVERS, WANTED, llama_stream, sampled, schema_in, sglang
from tests.chatui.backends.wire import VLLM, ids_of, sse, vllm
from tests.support.sampling import Outcome, sample_request
from tests.support.stub import DONE, SSE_HEAD

PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = FunctionTool("weather", "The weather.", PARAMETERS)
CLOCK = FunctionTool("clock", "The time.", {"type": "object", "properties": {}})
SEARCH = FunctionTool("browser_search", "Searches.", {"type": "object"}, recipient="browser.search")
PYTHON = FunctionTool("python", "Runs code.", {"type": "object"}, recipient="python")
THOUGHT = "<|channel|>analysis<|message|>I know it already. <|end|>"
SECRET = "the quiet marmalade"
HEADER = " to=functions.weather<|channel|>commentary <|constrain|>json<|message|>"
CITY = '{"city": "Oslo"}'
CALL, RETURN = 200012, 200002
INSTEAD = (
    "<|channel|>final<|message|>",
    "<|channel|>final <|constrain|>json<|message|>",
    "<|channel|>commentary <|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.other <|constrain|>json<|message|>",
    "<|channel|>analysis to=functions.weather code<|message|>",
    "<|channel|>final to=functions.weather<|message|>",
    " to=browser.search<|channel|>analysis code<|message|>",
)


def forced(*tools: FunctionTool) -> SampleRequest:
    return replace(sample_request("How is the weather?"), tools=tools, must_call=True, max_tokens=500)


def stream(dialect: str, words: Vocabulary, text: str, stop: int | None = None, *, is_cut: bool = False) -> bytes:
    """``stop``: the token at which the model stopped; without it the stream continues, unless it ``is_cut`` at the limit."""
    ids = [*ids_of(words, text), *([] if stop is None else [stop])]
    has_ended = is_cut or stop is not None
    if dialect == "llama.cpp":
        end = sse({"content": "", "tokens": [], "stop": True, "stop_type": "limit"}) if is_cut else b""
        return llama_stream(words, text, stop) + end
    if dialect == "vLLM":
        last = sse({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}) + DONE if has_ended else b""
        return SSE_HEAD + sse(vllm(*ids, finish="length" if is_cut else "stop" if stop else None)) + last
    finish = {"type": "length"} if is_cut else {"type": "stop", "matched": stop} if stop else None
    return SSE_HEAD + sse(sglang(ids, finish)) + (DONE if has_ended else b"")


async def sample(words: Vocabulary, request: SampleRequest, dialect: str, *answers: bytes) -> tuple[Outcome, list[Any]]:
    return await sampled("harmony", request, *answers, words=words, **SERVERS[dialect])


def all_text(result: Outcome) -> str:
    """All that was read, shown or hidden. A frame's own representation leaves its body out."""
    return result.visible + result.hidden


def prompts(bodies: list[Any]) -> list[list[int]]:
    return [body.get("prompt") or body.get("input_ids") for body in bodies]


def words_in(body: Any) -> object:
    """The words of which one must be sampled; None if sampling is free."""
    bound = body.get("structured_outputs") or {}
    return body.get("grammar") or bound.get("choice") or body.get("sampling_params", {}).get("regex")


@pytest.mark.parametrize("dialect", SERVERS)
@pytest.mark.parametrize("thought", [THOUGHT, ""])
@pytest.mark.parametrize("instead", INSTEAD)
async def test_other_output_is_dropped_and_replaced_by_a_call(vocabulary: Vocabulary, dialect: str, thought: str, instead: str) -> None:
    first = f"{thought}{'<|start|>assistant' if thought else ''}{instead}{SECRET}"
    answers = stream(dialect, vocabulary, first), stream(dialect, vocabulary, CITY, CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER), dialect, *answers)
    assert result.error is None and result.calls == [("functions.weather", CITY)]
    assert (result.visible, result.hidden.replace(CITY, "")) == ("", "I know it already. " if thought else "")
    assert SECRET not in all_text(result)
    assert [schema_in(body) for body in bodies] == [None, PARAMETERS]
    before, after = prompts(bodies)
    assert after == [*before, *ids_of(vocabulary, f"{thought}{'<|start|>assistant' if thought else ''}"), *ids_of(vocabulary, HEADER)]
    assert result.ended is not None and result.ended.reason is EndReason.TOOL_CALLS
    assert dialect != "vLLM" or (result.ended.usage and result.ended.usage.prompt_tokens == 100 - (len(after) - len(before)))


@pytest.mark.parametrize("dialect", SERVERS)
async def test_a_call_that_the_model_makes_itself_is_unchanged(vocabulary: Vocabulary, dialect: str) -> None:
    text = f"{THOUGHT}<|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{CITY}"
    result, [body] = await sample(vocabulary, forced(WEATHER, CLOCK), dialect, stream(dialect, vocabulary, text, CALL))
    assert result.calls == [("functions.weather", CITY)] and (schema_in(body), words_in(body)) == (None, None)


@pytest.mark.parametrize("dialect", SERVERS)
async def test_a_preamble_before_the_call_stays(vocabulary: Vocabulary, dialect: str) -> None:
    before = f"{THOUGHT}<|start|>assistant<|channel|>commentary<|message|>I look it up.<|end|><|start|>assistant"
    own = f"{before}<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{CITY}"
    result, [_] = await sample(vocabulary, forced(WEATHER), dialect, stream(dialect, vocabulary, own, CALL))
    assert (result.visible, result.calls) == ("I look it up.", [("functions.weather", CITY)])
    answers = stream(dialect, vocabulary, f"{before}<|channel|>final<|message|>{SECRET}"), stream(dialect, vocabulary, CITY, CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER), dialect, *answers)
    assert (result.visible, result.calls) == ("I look it up.", [("functions.weather", CITY)]) and SECRET not in all_text(result)
    first, second = prompts(bodies)
    assert second == [*first, *ids_of(vocabulary, before), *ids_of(vocabulary, HEADER)]


async def test_a_call_without_its_header_is_no_preamble(vocabulary: Vocabulary) -> None:
    lost = f'<|channel|>commentary<|message|>{{"{SECRET}": 1}}'
    answers = stream("vLLM", vocabulary, lost, RETURN), stream("vLLM", vocabulary, CITY, CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER), "vLLM", *answers)
    assert (result.visible, result.calls) == ("", [("functions.weather", CITY)]) and SECRET not in all_text(result)
    assert len(bodies) == 2


@pytest.mark.parametrize("dialect", SERVERS)
async def test_a_model_that_stops_after_its_reasoning_is_made_to_call(vocabulary: Vocabulary, dialect: str) -> None:
    thought = THOUGHT.removesuffix("<|end|>")
    answers = stream(dialect, vocabulary, thought, RETURN), stream(dialect, vocabulary, CITY, RETURN)
    result, bodies = await sample(vocabulary, forced(WEATHER), dialect, *answers)
    assert result.calls == [("functions.weather", CITY)]
    before, after = prompts(bodies)
    assert after == [*before, *ids_of(vocabulary, f"{THOUGHT}<|start|>assistant"), *ids_of(vocabulary, HEADER)]


@pytest.mark.parametrize("dialect", SERVERS)
async def test_a_sample_that_was_cut_is_not_asked_for_a_call(vocabulary: Vocabulary, dialect: str) -> None:
    cut = stream(dialect, vocabulary, "<|channel|>analysis<|message|>I think and", is_cut=True)
    result, bodies = await sample(vocabulary, forced(WEATHER), dialect, cut)
    assert len(bodies) == 1 and result.ended is not None and result.ended.reason is EndReason.LENGTH and not result.calls


@pytest.mark.parametrize("dialect", SERVERS)
async def test_of_several_functions_the_model_chooses_one(vocabulary: Vocabulary, dialect: str) -> None:
    answers = [
        stream(dialect, vocabulary, f"{THOUGHT}<|start|>assistant<|channel|>final<|message|>{SECRET}"),
        stream(dialect, vocabulary, "=functions.clock", RETURN),
        stream(dialect, vocabulary, "{}", CALL),
    ]
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK, SEARCH), dialect, *answers)
    assert result.calls == [("functions.clock", "{}")] and SECRET not in all_text(result)
    first, second, third = prompts(bodies)
    assert second == [*first, *ids_of(vocabulary, f"{THOUGHT}<|start|>assistant"), *ids_of(vocabulary, " to")]
    assert bodies[1].get("n_predict", 80) <= 80
    assert {
        "llama.cpp": 'root ::= "=functions.weather" | "=functions.clock" | "=browser.search"',
        "vLLM": ["=functions.weather", "=functions.clock", "=browser.search"],
        "SGLang": r"=functions\.weather|=functions\.clock|=browser\.search",
    }[dialect] == words_in(bodies[1])
    assert [words_in(body) is None for body in bodies] == [True, False, True] and schema_in(bodies[2]) == CLOCK.parameters
    ending = ids_of(vocabulary, " to=functions.clock<|channel|>commentary <|constrain|>json<|message|>")
    assert third[-len(ending) :] == ending


@pytest.mark.parametrize(
    ("recipient", "body", "schema"), [("browser.search", '{"query": "x"}', {"type": "object"}), ("python", "print(1)", None)]
)
async def test_a_built_in_tool_is_called_in_the_trained_format(vocabulary: Vocabulary, recipient: str, body: str, schema: Any) -> None:
    texts = (("<|channel|>final<|message|>No.", None), (f"={recipient}", RETURN), (body, CALL))
    answers = [stream("vLLM", vocabulary, text, stop) for text, stop in texts]
    result, bodies = await sample(vocabulary, forced(WEATHER, SEARCH, PYTHON), "vLLM", *answers)
    assert result.calls == [(recipient, body)] and schema_in(bodies[2]) == schema
    [call] = [done.frame.header for done in result.finished]
    assert (call.channel, call.content_type, call.constrain) == ("analysis", "code", None)
    ending = ids_of(vocabulary, f" to={recipient}<|channel|>analysis code<|message|>")
    assert bodies[2]["prompt"][-len(ending) :] == ending


async def test_without_grammars_sampling_is_free_and_the_name_is_checked(vocabulary: Vocabulary) -> None:
    final = stream("vLLM", vocabulary, f"<|channel|>final<|message|>{SECRET}")
    wrong = stream("vLLM", vocabulary, "=functions.other<|channel|>commentary")
    right = stream("vLLM", vocabulary, "=functions.weather<|channel|>commentary <|constrain|>json<|message|>{")
    arguments = stream("vLLM", vocabulary, CITY, CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", final, REFUSED, wrong, right, REFUSED, arguments)
    assert result.calls == [("functions.weather", CITY)]
    assert [bool(words_in(body)) for body in bodies] == [False, True, False, False, False, False]
    assert [bool(schema_in(body)) for body in bodies] == [False] * 4 + [True, False]


async def test_names_that_are_prefixes_of_others_are_not_constrained(vocabulary: Vocabulary) -> None:
    longer = FunctionTool("weather_now", "Now.", PARAMETERS)
    final, name = (stream("vLLM", vocabulary, text) for text in ("<|channel|>final<|message|>No", "=functions.weather<|channel|>"))
    result, bodies = await sample(vocabulary, forced(WEATHER, longer), "vLLM", final, name, stream("vLLM", vocabulary, CITY, CALL))
    assert result.calls == [("functions.weather", CITY)] and not any(map(words_in, bodies))


@pytest.mark.parametrize("word", ["=functions.other<|channel|>", "=assistant<|channel|>", " nothing", "=user<|message|>", "=" + "a" * 500])
async def test_an_unknown_function_name_is_retried_once_and_then_no_call_is_made(vocabulary: Vocabulary, word: str) -> None:
    final, named = stream("vLLM", vocabulary, f"{THOUGHT}<|channel|>final<|message|>{SECRET}"), stream("vLLM", vocabulary, word, RETURN)
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", final, named, named)
    assert len(bodies) == 3 and not result.calls and result.visible == "" and SECRET not in all_text(result)
    assert result.ended is not None and result.ended.reason is EndReason.STOP


async def test_an_answer_after_our_header_is_dropped_and_tries_are_counted(vocabulary: Vocabulary) -> None:
    """A server that does not constrain sampling, and a model that will not call."""
    final = stream("vLLM", vocabulary, f"{THOUGHT}<|start|>assistant<|channel|>final<|message|>{SECRET}")
    behind = stream("vLLM", vocabulary, f'{{"ci<|end|><|start|>assistant<|channel|>final<|message|>{SECRET}<|return|>')
    result, bodies = await sample(vocabulary, forced(WEATHER), "vLLM", final, behind, behind)
    assert len(bodies) == 3 and not result.calls and result.visible == "" and SECRET not in all_text(result)
    assert prompts(bodies)[1] == prompts(bodies)[2], "half a call is not sent to the model"


@pytest.mark.parametrize("dialect", ["vLLM", "SGLang"])
@pytest.mark.parametrize("behind", ["<|channel|>final<|message|>", "<|channel|>commentary to=functions.other <|constrain|>json<|message|>"])
@pytest.mark.parametrize("is_own", [True, False])
async def test_output_after_a_call_is_not_made_a_second_call(vocabulary: Vocabulary, dialect: str, behind: str, is_own: bool) -> None:
    """A server that does not stop at the end of a call: with a second call, the program would run twice what the model requested once."""
    rest = f"{CITY}<|call|><|start|>assistant{behind}{SECRET}"
    texts = [f"{THOUGHT}<|start|>assistant{HEADER}{rest}"] if is_own else [f"<|channel|>final<|message|>{SECRET}", rest]
    answers = [stream(dialect, vocabulary, text, RETURN) for text in texts]
    result, bodies = await sample(vocabulary, forced(WEATHER), dialect, *answers, stream(dialect, vocabulary, CITY, CALL))
    assert result.calls == [("functions.weather", CITY)] and len(bodies) == len(answers)
    assert SECRET not in all_text(result) and result.ended is not None and result.ended.reason is EndReason.TOOL_CALLS


@pytest.mark.parametrize("dialect", ["vLLM", "SGLang"])
async def test_an_answer_after_a_call_is_not_sampled_under_its_schema(vocabulary: Vocabulary, dialect: str) -> None:
    """With an answer format and an optional call: after a call, nothing sampled under the schema would be read."""
    request = replace(forced(WEATHER), must_call=False, answer_format=WANTED)
    text = f"{THOUGHT}<|start|>assistant{HEADER}{CITY}<|call|><|start|>assistant<|channel|>final<|message|>{SECRET}"
    answers = [stream(dialect, vocabulary, each, RETURN) for each in (text, '{"sum":4}')]
    result, bodies = await sample(vocabulary, request, dialect, *answers)
    assert result.calls == [("functions.weather", CITY)] and len(bodies) == 1
    assert SECRET not in all_text(result) and result.ended is not None and result.ended.reason is EndReason.TOOL_CALLS
    alone = stream(dialect, vocabulary, f"{THOUGHT}<|start|>assistant<|channel|>final<|message|>{SECRET}")
    result, bodies = await sample(vocabulary, request, dialect, alone, answers[1])
    assert len(bodies) == 2 and result.visible == '{"sum":4}', "the premise: its own answer is"


async def test_the_longest_name_is_read_completely(vocabulary: Vocabulary) -> None:
    tool = FunctionTool("q7" * 32, "Odd.", PARAMETERS)
    texts = (("<|channel|>final<|message|>No", None), (f"=functions.{tool.name}", RETURN), (CITY, CALL))
    result, bodies = await sample(vocabulary, forced(WEATHER, tool), "vLLM", *(stream("vLLM", vocabulary, *text) for text in texts))
    assert result.calls == [(f"functions.{tool.name}", CITY)]
    assert bodies[1]["max_tokens"] >= len(ids_of(vocabulary, f"=functions.{tool.name}")) > 64


async def test_an_unfinished_header_opens_no_answer(vocabulary: Vocabulary) -> None:
    first = stream("vLLM", vocabulary, f"<|channel|>final {SECRET}<|return|>", RETURN)
    result, _ = await sample(vocabulary, forced(WEATHER), "vLLM", first, stream("vLLM", vocabulary, CITY, CALL))
    assert result.calls == [("functions.weather", CITY)] and SECRET not in all_text(result)


@pytest.mark.parametrize("place", [1, 2])
async def test_a_server_failure_in_between_leaves_no_open_frame(vocabulary: Vocabulary, place: int) -> None:
    texts = (f"{THOUGHT}<|start|>assistant<|channel|>final<|message|>{SECRET}", "=functions.weather<|channel|>")
    answers = [stream("vLLM", vocabulary, text) for text in texts]
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers[:place], BUSY)
    assert result.error is not None and len(bodies) == place + 1 and result.visible == "" and SECRET not in all_text(result)


async def test_a_request_without_required_calls_is_answered(vocabulary: Vocabulary) -> None:
    answer = stream(
        "vLLM", vocabulary, "<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant<|channel|>final<|message|>Sun.", RETURN
    )
    for request in (replace(forced(WEATHER), must_call=False), forced()):
        result, [body] = await sample(vocabulary, request, "vLLM", answer)
        assert result.visible.endswith("Sun.") and words_in(body) is None
    assert VLLM


# Required tool calls over token ids: which messages may stand before the call or are it, and how its function is chosen.


FINAL = f"<|channel|>final<|message|>{SECRET}"


@pytest.mark.parametrize(
    ("header", "misses"),
    [
        ("<|channel|>analysis", False),
        ("<|channel|>commentary", False),
        ("<|channel|>gossip", False),
        ("<|channel|>final", True),
        ("<|channel|>commentary <|constrain|>json", True),
        (" to=user<|channel|>analysis", False),
        (" to=user<|channel|>commentary", False),
        (" to=functions.weather<|channel|>commentary", False),
        (" to=functions.weather<|channel|>analysis", True),
        (" to=functions.weather<|channel|>final", True),
        (" to=functions.other<|channel|>commentary", True),
        (" to=weather<|channel|>commentary", True),
        (" to=browser.search<|channel|>commentary", False),
        (" to=browser.search<|channel|>analysis", False),
        (" to=browser.search<|channel|>final", True),
        (" to=browser.open<|channel|>analysis", True),
        (" to=functions.browser_search<|channel|>commentary", False),
        (" to=functions.browser_search<|channel|>analysis", True),
        (" to=browser_search<|channel|>commentary", True),
        (" to=python<|channel|>analysis", True),
    ],
)
async def test_only_reasoning_preambles_and_calls_of_the_tools_are_read(vocabulary: Vocabulary, header: str, misses: bool) -> None:
    message = stream("vLLM", vocabulary, f"{header}<|message|>{SECRET}", CALL if "to=" in header else RETURN)
    rest = [stream("vLLM", vocabulary, "=functions.weather", RETURN), stream("vLLM", vocabulary, CITY, CALL)]
    result, _ = await sample(vocabulary, forced(WEATHER, SEARCH), "vLLM", message, *rest)
    assert result.error is None and (SECRET in all_text(result)) is not misses
    assert not misses or result.calls == [("functions.weather", CITY)], "what misses a call is replaced by one"


@pytest.mark.parametrize("end", [DONE, b"", sse(vllm(finish="stop")), sse(vllm(finish="length"))])
async def test_a_name_is_read_however_the_output_ends(vocabulary: Vocabulary, end: bytes) -> None:
    name = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "=functions.clock"))) + end
    answers = stream("vLLM", vocabulary, FINAL), name, stream("vLLM", vocabulary, "{}", CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers)
    assert (result.error, result.calls, len(bodies)) == (None, [("functions.clock", "{}")], 3)


async def test_nothing_behind_the_end_of_a_name_is_read(vocabulary: Vocabulary) -> None:
    name = SSE_HEAD + sse(vllm(*ids_of(vocabulary, "=functions.clock"))) + DONE + sse(vllm(*ids_of(vocabulary, "work")))
    answers = stream("vLLM", vocabulary, FINAL), name, stream("vLLM", vocabulary, "{}", CALL)
    assert (await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers))[0].calls == [("functions.clock", "{}")]


async def test_a_name_that_does_not_end_is_not_read_to_the_end(vocabulary: Vocabulary) -> None:
    def name(chars: int) -> bytes:
        """A name and white space, and then an event that cannot be read."""
        return SSE_HEAD + sse(vllm(*ids_of(vocabulary, "=functions.clock".ljust(chars)))) + b"data: {\n\n"

    answers = stream("vLLM", vocabulary, FINAL), name(201), stream("vLLM", vocabulary, "{}", CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers)
    assert (result.error, result.calls) == (None, [("functions.clock", "{}")])
    result, bodies = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", answers[0], name(200))
    assert result.error is not None and len(bodies) == 2, "the premise: up to 200 characters, it is"


@pytest.mark.parametrize(("before", "retryable"), [("", True), ("=functions.clock", False)])
async def test_a_failure_within_a_name_can_be_repeated_before_it_begins(vocabulary: Vocabulary, before: str, retryable: bool) -> None:
    begun = sse(vllm(*ids_of(vocabulary, before))) if before else b""
    failing = SSE_HEAD + begun + sse({"error": {"code": 500, "message": "x"}})
    result, _ = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", stream("vLLM", vocabulary, FINAL), failing)
    assert result.error is not None and result.error.retryable is retryable


@pytest.mark.parametrize(("word", "is_name"), [(" =functions.clock", False), ("=functions.clock\n\nx", True), ("=functions.clock<", False)])
async def test_a_name_ends_at_white_space(vocabulary: Vocabulary, word: str, is_name: bool) -> None:
    naming = stream("vLLM", vocabulary, word, RETURN)
    answers = [stream("vLLM", vocabulary, FINAL), naming, *([] if is_name else [naming]), stream("vLLM", vocabulary, "{}", CALL)]
    result, _ = await sample(vocabulary, forced(WEATHER, CLOCK), "vLLM", *answers)
    assert result.calls == ([("functions.clock", "{}")] if is_name else [])


async def test_a_call_that_fails_is_begun_once_more(vocabulary: Vocabulary) -> None:
    half = stream("vLLM", vocabulary, f'{{"ci<|end|><|start|>assistant{FINAL}<|return|>')
    answers = stream("vLLM", vocabulary, f"{THOUGHT}<|start|>assistant{FINAL}"), half, stream("vLLM", vocabulary, CITY, CALL)
    result, bodies = await sample(vocabulary, forced(WEATHER), "vLLM", *answers)
    assert result.calls == [("functions.weather", CITY)] and len(bodies) == 3 and SECRET not in all_text(result)
    assert result.ended is not None and result.ended.reason is EndReason.TOOL_CALLS


@pytest.mark.parametrize("max_tokens", [500, 90, 20, 3])
async def test_what_we_write_counts_towards_the_limit_of_the_answer(vocabulary: Vocabulary, max_tokens: int) -> None:
    answers = [stream("vLLM", vocabulary, text, stop) for text, stop in ((FINAL, None), ("=functions.clock", RETURN), ("{}", CALL))]
    request = replace(forced(WEATHER, CLOCK), max_tokens=max_tokens)
    _, bodies = await sample(vocabulary, request, "vLLM", *answers)
    opening, header = ids_of(vocabulary, " to"), ids_of(vocabulary, HEADER.replace("weather", "clock"))
    expected = [max_tokens, min(max(max_tokens - len(opening), 1), 80), max(max_tokens - len(header), 1)]
    assert [body["max_tokens"] for body in bodies] == expected


async def test_a_function_without_parameters_takes_an_object(vocabulary: Vocabulary) -> None:
    answers = stream("vLLM", vocabulary, FINAL), stream("vLLM", vocabulary, "{}", CALL)
    result, bodies = await sample(vocabulary, forced(FunctionTool("ping")), "vLLM", *answers)
    assert result.calls == [("functions.ping", "{}")] and schema_in(bodies[1]) == {"type": "object"}


async def test_a_refusal_of_a_free_name_is_not_asked_again(vocabulary: Vocabulary) -> None:
    longer = FunctionTool("weather_now", "Now.")
    result, bodies = await sample(vocabulary, forced(WEATHER, longer), "vLLM", stream("vLLM", vocabulary, FINAL), REFUSED, REFUSED)
    assert result.error is not None and len(bodies) == 2 and words_in(bodies[1]) is None


async def test_a_stream_that_breaks_off_is_not_made_a_call(vocabulary: Vocabulary) -> None:
    cut = SSE_HEAD + sse(vllm(*ids_of(vocabulary, THOUGHT)))
    result, bodies = await sample(vocabulary, forced(WEATHER), "vLLM", cut, stream("vLLM", vocabulary, CITY, CALL))
    assert result.error is not None and len(bodies) == 1 and not result.calls
    for text in ('{"ci', '{"ci<|end|>'):
        half = SSE_HEAD + sse(vllm(*ids_of(vocabulary, text)))
        answers = stream("vLLM", vocabulary, FINAL), half, stream("vLLM", vocabulary, CITY, CALL)
        result, bodies = await sample(vocabulary, forced(WEATHER), "vLLM", *answers)
        assert result.error is not None and len(bodies) == 2 and not result.calls
