"""Recorded streams of real servers, replayed over HTTP in each wire format: the answer is visible, the reasoning is not."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.backends.door import PROVED, Door, Row, Told, at_random
from tests.backends.recorded import (
    CHAT,
    CUT_BEFORE_PROOF,
    GREETING,
    IN_ONE_PIECE,
    REASONING,
    RESPONSES,
    TOKEN_IDS,
    TOKYO,
    Said,
    recorded,
)
from tests.support.places import RECORDINGS
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

CUT_AT_TOKENS = 20
UNTIMED = {"llamacpp/x-chat-langs.sse": "chat", "vllm/v-chat-langs.sse": "chat"} | {
    f"responses-{name}-langs.sse": "responses" for name in ("llamacpp", "vllm")
}
"""Of these only some words are compared."""


def calls_of(told: Told) -> list[tuple[str, str]]:
    """Name and body of each."""
    found = (re.fullmatch(r"call (\S+) [^ ,:]+(?:, no JSON)?: (.*)", line, re.DOTALL) for line in told.lines)
    return [(call[1], call[2]) for call in found if call]


async def replayed(door: Door, column: str, raw: bytes, seed: object = None, **more: Any) -> Told:
    row = Row("", raw, columns=(column,), **{"server": PROVED, **more})
    return await door.told(row, column, None if seed is None else at_random(str(seed)))


async def assert_says(door: Door, column: str, name: str, said: Said, **more: Any) -> None:
    for seed in (None, 1, 2):
        told = await replayed(door, column, recorded(name), seed, **more)
        assert (told.visible, told.lines[-1].partition(",")[0], calls_of(told)) == said, seed


@pytest.mark.parametrize("name", CHAT)
async def test_exactly_the_answer_of_a_stream_of_chat_completions_is_visible(name: str) -> None:
    await assert_says(Door(), "chat", name, CHAT[name])


@pytest.mark.parametrize("name", RESPONSES)
async def test_exactly_the_answer_of_a_stream_of_responses_is_visible(name: str) -> None:
    # Two of the servers do not report that their token limit cut an answer; the request shows it.
    asks = {"max_tokens": CUT_AT_TOKENS} if name.endswith("-cut.sse") else {}
    server = {} if name in CUT_BEFORE_PROOF else PROVED
    await assert_says(Door(), "responses", f"responses-{name}", RESPONSES[name], asks=asks, server=server)


@pytest.mark.parametrize("name", TOKEN_IDS)
async def test_exactly_the_answer_of_a_stream_of_token_ids_is_visible(vocabulary: Any, name: str) -> None:
    column = f"harmony-{name.partition('/')[0]}"
    await assert_says(Door(vocabulary), column, name, TOKEN_IDS[name])
    assert " written" in (await replayed(Door(vocabulary), column, recorded(name))).lines[-1], "its tokens are counted"


@pytest.mark.parametrize("name", IN_ONE_PIECE)
async def test_an_answer_of_token_ids_in_one_piece_is_read_as_well(vocabulary: Any, name: str) -> None:
    told = await replayed(Door(vocabulary), f"harmony-{name.partition('/')[0]}", recorded(name), is_json=True)
    assert told.lines[:2] == [f"thought: {REASONING}", f"answer: {GREETING}"] and told.lines[-1].startswith("stop")


def test_every_recording_is_tested_here() -> None:
    lying = {path.name for path in RECORDINGS.glob("responses-*")}
    lying |= {f"{path.parent.name}/{path.name}" for path in RECORDINGS.glob("*/*")}
    tested = {*CHAT, *TOKEN_IDS, *IN_ONE_PIECE, *UNTIMED, *(f"responses-{name}" for name in RESPONSES)}
    assert lying - tested == {
        "vllm/v-chat-long-cut-in-final.sse",
        "responses-vllm-weather-tool-nostream.json",
        "llamacpp/x-raw-completion-greet.req.json",  # what was asked
        "vllm/v-raw-completions-greet-text-default.sse",  # without ids
    }


@pytest.mark.parametrize("name", UNTIMED)
async def test_characters_split_between_tokens_arrive_whole(name: str) -> None:
    visible = (await replayed(Door(), UNTIMED[name], recorded(name), 3)).visible
    assert "한국어: 안녕하세요!" in visible
    assert "👨\u200d👩\u200d👧\u200d👦" in visible
    assert "\ufffd" not in visible


async def test_an_answer_cut_by_its_length_limit_is_kept_and_marked() -> None:
    told = await replayed(Door(), "chat", recorded("vllm/v-chat-long-cut-in-final.sse"))
    assert told.visible.startswith("# How a transistor works")
    assert told.lines[-2].endswith(" [E-X-LENGTH] [cut]") and told.lines[-1].startswith("length")


async def test_a_plain_json_response_is_read_too() -> None:
    told = await replayed(Door(), "responses", recorded("responses-vllm-weather-tool-nostream.json"), is_json=True)
    assert (told.visible, calls_of(told)) == ("", [TOKYO])
    assert told.lines[0].startswith("thought: ") and told.lines[-1].startswith("tool_calls")


async def test_a_secret_in_the_reasoning_is_hidden_and_stored() -> None:
    told = await replayed(Door(), "responses", recorded("responses-vllm-longthink.sse"), 5)
    assert "RAW-COT-CANARY-7391" in "".join(told.lines)
    assert "RAW-COT-CANARY-7391" not in told.shown


async def test_reasoning_is_hidden_under_every_name() -> None:
    told = await replayed(Door(), "responses", recorded("responses-synth_01_openresponses_reasoning_events_spec_order.txt"), 6)
    assert "RAW-COT-SECRET" in "".join(told.lines)
    assert "Checked the units." in "".join(told.lines)
    assert told.shown == "It is 4."


async def test_a_preamble_is_recognized_by_its_phase() -> None:
    told = await replayed(Door(), "responses", recorded("responses-synth_13_phase_commentary_then_call.txt"))
    assert [line.partition(" ")[0] for line in told.lines[:-1]] == ["preamble:", "call"]


async def test_a_chain_of_thought_sent_as_a_summary_is_hidden(shared_dir: Path) -> None:
    raw = (shared_dir / "data" / "streams" / "resp_60_litellm_RAW_COT_AS_SUMMARY.txt").read_bytes()
    told = await replayed(Door(), "responses", raw, 7)
    assert "The user wants a greeting." in "".join(told.lines)
    assert told.shown == "Hello there!"


@pytest.mark.served
@pytest.mark.parametrize(("column", "least"), [("chat", 20), ("responses", 40)])
async def test_larger_recordings_of_other_servers_show_the_expected_text(shared_dir: Path, column: str, least: int) -> None:
    streams = shared_dir / "data" / "streams"
    seen = 0
    for name, want in json.loads((streams / "expected.json").read_text("utf-8")).items():
        path = streams / f"{name}.txt"
        if want.get("api") != column or not path.exists():
            continue
        for seed in (None, seen):
            # An answer that was cut is shown only where the server is known to separate its reasoning.
            server = PROVED if column == "chat" or want["status"] == "completed" else {}
            told = await replayed(Door(), column, path.read_bytes(), seed, server=server)
            assert (name, _as_wanted(told, column)) == (name, _wanted(want, column))
        seen += 1
    assert seen > least


def _wanted(want: dict[str, Any], column: str) -> list[object]:
    if column == "chat":
        return [want["visible"].strip(), want["status"] == "completed", want["tool_calls"]]
    return [want["visible"], want["status"], want["tool_calls"]]


def _as_wanted(told: Told, column: str) -> list[object]:
    end = told.lines[-1].partition(",")[0]
    calls = [[name.removeprefix("functions."), body] for name, body in calls_of(told)]
    if column == "chat":
        return [told.visible.strip(), not end.startswith("E-"), calls]
    said = [re.fullmatch(r"(preamble|answer)(?: so far)?: (.*?)(?: \[E-[A-Z-]+\])?(?: \[cut\])?", line, re.DOTALL) for line in told.lines]
    visible = [["preamble" if each[1] == "preamble" else "final", each[2]] for each in said if each]
    state = "interrupted" if end == "E-STREAM-TRUNCATED" else "failed" if end.startswith("E-") else "completed"
    named = [[*call, call_id] for call, call_id in zip(calls, told.call_ids, strict=True)]
    return [visible, "incomplete" if end in ("length", "content_filter") else state, named]
