"""What servers of token ids are asked for, where the next request goes on, when they are read, and what their operators are told."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.backends.asked_again import ARGUMENTS, FORCED, FORMATTED, SCHEMA, THOUGHT, VALUE
from tests.backends.door import IDS, Door, Row
from tests.backends.said import STOPS, Moment, Sends, Writes
from tests.backends.token_ids import CALL, FINAL, RETURN, begun, ended, more, spoken
from tests.chatui.backends.wire import VLLM, ids_of, sse, vllm
from tests.support.stub import SSE_HEAD, Answer
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
LLAMA_FIELDS = ["content", "tokens", "stop", "stop_type", "truncated", "model", "tokens_predicted", "tokens_evaluated"]
STOP_IDS = [RETURN, CALL]
COMMON: dict[str, dict[str, Any]] = {
    "harmony-llamacpp": {"cache_prompt": True, "return_tokens": True, "stop": [], "stream": True, "response_fields": LLAMA_FIELDS},
    "harmony-vllm": {
        "model": "tiny",
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "skip_special_tokens": False,
        "include_stop_str_in_output": True,
        "stop_token_ids": STOP_IDS,
    },
    "harmony-sglang": {"stream": True, "stop_token_ids": STOP_IDS, "skip_special_tokens": False, "no_stop_trim": True},
}
"""What each server is always asked, for ids and for the markers; of SGLang, with what it takes for the sampling."""
IN_A_SCHEMA: dict[str, dict[str, Any]] = {
    "harmony-llamacpp": {"json_schema": {**SCHEMA, "x-guidance": COMPACT}},
    "harmony-vllm": {"structured_outputs": {"json": SCHEMA}},
    "harmony-sglang": {"json_schema": '{"type": "object", "title": "Zoë", "properties": {"sum": {"type": "integer"}}}'},
}
ONE_OF_TWO: dict[str, dict[str, Any]] = {
    "harmony-llamacpp": {"grammar": 'root ::= "=functions.a.b" | "=functions.c"'},
    "harmony-vllm": {"structured_outputs": {"choice": ["=functions.a.b", "=functions.c"]}},
    "harmony-sglang": {"regex": r"=functions\.a\.b|=functions\.c"},
}


@pytest.fixture
def door(vocabulary: Any) -> Door:
    return Door(vocabulary)


@pytest.mark.parametrize("column", IDS)
@pytest.mark.parametrize("number", [-1, 201_089, 10**30])
async def test_ids_of_no_token_are_logged_once_for_an_answer(
    door: Door, column: str, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    server = column.removeprefix("harmony-")
    for numbers, times in (([0, 201_088], 0), ([number], 1)):
        caplog.clear()
        chunks = [*begun(server), more(server, numbers), more(server, numbers), *ended(server)]
        with caplog.at_level(logging.WARNING):
            await door.told(Row("", spoken(server, *chunks), columns=(column,)), column)
        logged = [line.getMessage().lower() for line in caplog.records if line.levelname == "WARNING"]
        assert [server in line for line in logged] == [True] * times, numbers


def asked(body: dict[str, Any]) -> tuple[dict[str, Any], int, int]:
    """All that a server is asked but the prompt and the limit of tokens; these two apart, the prompt as its length."""
    assert ("input_ids" in body) is (body.keys() == {"input_ids", "stream", "sampling_params"}), "of SGLang"
    fields = {**body, **body.get("sampling_params", {})}
    fields.pop("sampling_params", None)
    prompt = fields.pop("prompt", None) or fields.pop("input_ids")
    limit = next(fields.pop(name) for name in ("max_tokens", "n_predict", "max_new_tokens") if name in fields)
    return fields, len(prompt), limit


@pytest.mark.parametrize("column", IDS)
async def test_each_server_is_asked_for_ids_and_markers_and_for_a_schema_in_the_answer_alone(door: Door, column: str) -> None:
    row = Row("", (Writes(FINAL),), then=(VALUE,), asks={**FORMATTED, "max_tokens": 500, "sampling": {"temperature": 0.5}})
    told = await door.told(row, column)
    assert told.lines == ['answer: {"sum": 4}', "stop"]
    (first, before, limit), (second, after, rest) = map(asked, told.bodies)
    assert (first, second) == (COMMON[column] | {"temperature": 0.5}, first | IN_A_SCHEMA[column])
    assert after > before and (limit, rest) == (500, 500 - (after - before))


@pytest.mark.parametrize("column", IDS)
async def test_each_server_is_asked_for_one_of_the_names_where_a_call_is_required(door: Door, column: str) -> None:
    named = (Writes("=functions.c"), STOPS)
    told = await door.told(Row("", (Writes(FINAL),), then=(named, ARGUMENTS), tools=("a.b", "c"), asks=FORCED), column)
    assert told.lines == ["call functions.c new: {}", "tool_calls"]
    first, naming, last = (asked(body)[0] for body in told.bodies)
    assert (first, naming) == (COMMON[column], COMMON[column] | ONE_OF_TWO[column])
    assert last.keys() == (first | IN_A_SCHEMA[column]).keys(), "its arguments are JSON"


@pytest.mark.parametrize(
    ("about", "model", "sent"),
    [({}, None, {}), ({}, "tiny", {"model": "tiny"}), (VLLM, None, {"model": "tiny"})],
    ids=["none is known", "the operator's", "the server's own"],
)
async def test_vllm_is_asked_for_a_model_only_where_one_is_known(
    door: Door, about: dict[str, Any], model: str | None, sent: dict[str, str]
) -> None:
    told = await door.told(Row("", (Writes(f"{FINAL}Hi"), STOPS), about=about, server={"model": model}), "harmony-vllm")
    assert told.lines[0] == "answer: Hi"
    [body] = told.bodies
    assert {name: body[name] for name in body.keys() & {"model"}} == sent


JSON = "<|channel|>final <|constrain|>json<|message|>"
HEADERS: list[tuple[list[str], str]] = [
    ([FINAL], JSON),
    ([JSON], JSON),
    (["<|channel|>final<|constrain|><|message|>"], "<|channel|>final<|constrain|><|message|>"),
    (["<|channel|>", "fi", "nal", " ", "<|constrain|>", "js", "on", "<|message|>"], JSON),
    ([THOUGHT, FINAL], f"{THOUGHT}{JSON}"),
    (
        ["<|channel|>analysis <|constrain|>json<|message|>{}<|end|><|start|>assistant", FINAL],
        f"<|channel|>analysis <|constrain|>json<|message|>{{}}<|end|><|start|>assistant{JSON}",
    ),
]


@pytest.mark.parametrize(("written", "expected"), HEADERS)
async def test_the_next_request_begins_the_answer_as_json_however_its_header_came(
    door: Door, vocabulary: Any, written: list[str], expected: str
) -> None:
    said, number = tuple(map(Writes, written)), len(ids_of(vocabulary, expected))
    for most, rest in ((500, 500 - number), (number, 1)):
        told = await door.told(Row("", said, then=(VALUE,), asks={**FORMATTED, "max_tokens": most}), "harmony-vllm")
        first, second = told.bodies
        assert second["prompt"] == [*first["prompt"], *ids_of(vocabulary, expected)]
        assert (first["max_tokens"], second["max_tokens"]) == (most, rest)


async def test_a_token_without_a_name_is_left_out_of_the_next_request(door: Door, vocabulary: Any) -> None:
    before = ids_of(vocabulary, "<|channel|>analysis<|message|>a")
    behind, header = "b<|end|><|start|>assistant", ids_of(vocabulary, FINAL)
    written = sse(vllm(*before, 200_013, *ids_of(vocabulary, behind), *header))
    told = await door.told(Row("", (Sends(written),), then=(VALUE,), asks=FORMATTED), "harmony-vllm")
    first, second = told.bodies
    assert second["prompt"] == [*first["prompt"], *before, *ids_of(vocabulary, behind + JSON)]


async def test_only_reasoning_and_preambles_stand_before_the_call_that_is_begun(door: Door, vocabulary: Any) -> None:
    broken = "<|channel|>gossip<|message|>x<|end|><|start|>assistant"
    to_nobody = "<|channel|>analysis to=user<|message|>y<|end|><|start|>assistant"
    row = Row("", (Writes(f"{broken}{THOUGHT}{to_nobody}{FINAL}No."),), then=(ARGUMENTS,), tools=("look",), asks=FORCED)
    first, second = (await door.told(row, "harmony-vllm")).bodies
    kept = f"{THOUGHT} to=user<|channel|>analysis<|message|>y<|end|><|start|>assistant"
    header = " to=functions.look<|channel|>commentary <|constrain|>json<|message|>"
    assert second["prompt"] == [*first["prompt"], *ids_of(vocabulary, kept), *ids_of(vocabulary, header)]


def stays_open(said: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + said)
        await writer.drain()
        await asyncio.Event().wait()

    return answer


@pytest.mark.parametrize("column", IDS)
@pytest.mark.parametrize(
    ("asks", "rest", "told"), [(FORMATTED, VALUE, 'answer: {"sum": 4}'), (FORCED, ARGUMENTS, "call functions.look new: {}")]
)
async def test_a_response_is_closed_where_the_answer_begins_and_where_it_ends(
    door: Door, column: str, asks: dict[str, Any], rest: tuple[Moment, ...], told: str
) -> None:
    row = Row("", (Writes(f"{THOUGHT}{FINAL}"),), then=(rest,), tools=("look",), asks=asks)
    responses = [door.cell(row, column), door.cell(Row("", rest), column)]
    found = await door.asked(row, column, [stays_open(each or b"") for each in responses])
    assert found.lines[:-1] == ["thought: I think.", told]


def in_pieces(count: int) -> Callable[[bytes], Iterator[bytes]]:
    """Each event by itself, but the last ones together."""

    def cut(raw: bytes) -> Iterator[bytes]:
        *firsts, rest = raw.split(b"\n\n", count - 1)
        yield from (piece + b"\n\n" for piece in firsts)
        yield rest

    return cut


async def test_text_for_people_is_read_at_once_where_it_begins(door: Door) -> None:
    """Twice, as at the beginning; between other reads is an hour."""
    said = (Writes(THOUGHT), Writes(f"{FINAL}Hi"), Writes("!"), STOPS)
    told = await door.told(Row("", said, limits={"read_interval": 3600, "overall": 10}), "harmony-vllm", in_pieces(4))
    assert told.lines == ["thought: I think.", "answer: Hi!", "stop"]
    assert told.reads == 4, "the premise: each piece was read by itself"


async def test_a_call_that_is_being_written_is_no_text_for_people(door: Door) -> None:
    """So it is read at once where the answer begins, which is twice, and not again where the call does."""
    said = (Writes(" to=functions.look<|channel|>commentary <|constrain|>json<|message|>{"), Writes("}"), STOPS)
    pause, loop = 0.5, asyncio.get_running_loop()
    begun = loop.time()
    told = await door.told(Row("", said, tools=("look",), limits={"read_interval": pause}), "harmony-vllm", in_pieces(3))
    assert (told.lines, told.reads) == (["call functions.look new: {}", "tool_calls"], 3)
    assert loop.time() - begun >= pause, "before the third"
