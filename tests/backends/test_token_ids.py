"""What servers of token ids are asked for, and what their operators are told."""

import logging
from typing import Any

import pytest

from tests.backends.asked import FORCED, FORMATTED, SCHEMA
from tests.backends.door import IDS, Door, Row
from tests.backends.said import STOPS, Writes
from tests.backends.token_ids import CALL, FINAL, RETURN, begun, ended, more, spoken
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
    answer = (Writes('{"sum": 4}'), STOPS)
    row = Row("", (Writes(FINAL),), then=(answer,), asks={**FORMATTED, "max_tokens": 500, "sampling": {"temperature": 0.5}})
    told = await door.told(row, column)
    assert told.lines == ['answer: {"sum": 4}', "stop"]
    (first, before, limit), (second, after, rest) = map(asked, told.bodies)
    assert (first, second) == (COMMON[column] | {"temperature": 0.5}, first | IN_A_SCHEMA[column])
    assert after > before and (limit, rest) == (500, 500 - (after - before))


@pytest.mark.parametrize("column", IDS)
async def test_each_server_is_asked_for_one_of_the_names_where_a_call_is_required(door: Door, column: str) -> None:
    named, called = (Writes("=functions.c"), STOPS), (Writes("{}<|call|>"), STOPS)
    told = await door.told(Row("", (Writes(FINAL),), then=(named, called), tools=("a.b", "c"), asks=FORCED), column)
    assert told.lines == ["call functions.c new: {}", "tool_calls"]
    first, naming, last = (asked(body)[0] for body in told.bodies)
    assert (first, naming) == (COMMON[column], COMMON[column] | ONE_OF_TWO[column])
    assert last.keys() == (first | IN_A_SCHEMA[column]).keys(), "its arguments are JSON"
