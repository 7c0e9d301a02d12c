"""Recorded Responses streams of real servers, replayed over HTTP: the answer is visible, and none of the reasoning."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatui.backends.base import Endpoint, EndReason
from chatui.backends.responses.backend import ResponsesBackend
from chatui.backends.separation import Separates
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.frames import Intent
from renderer.gate import Audience, may_see
from tests.chatui.backends.chat.test_recordings import GREETING, ITINERARY, LITERAL, PARIS, PLAN, TOKYO
from tests.support import stub
from tests.support.places import RECORDINGS
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request

WEEKEND = ITINERARY.split("Write the itinerary")[1]
UNKNOWN = "I am a tiny test model and I only know a few prompts."
BICYCLE = "Take the **bicycle**: about 8 minutes and free. Bring a lock."
SPACED_TOKYO = ("functions.get_weather", '{"location": "Tokyo", "unit": "celsius"}')
STOP, LENGTH, CALLS, REFUSAL = EndReason.STOP, EndReason.LENGTH, EndReason.TOOL_CALLS, EndReason.REFUSAL

# recording: visible text, end reason, calls
EXPECTED: dict[str, tuple[str, EndReason | ErrorCode, list[tuple[str, str]]]] = {
    "gptoss-reference-badheader.sse": ("", Code.STREAM_TRUNCATED, []),
    "gptoss-reference-cut.sse": ("", LENGTH, []),
    "gptoss-reference-greet.sse": (GREETING, STOP, []),
    "gptoss-reference-literal.sse": (LITERAL, STOP, []),
    "gptoss-reference-python.sse": ("", STOP, []),
    "gptoss-reference-trip-preamble-tool.sse": ("", CALLS, [PARIS]),
    "gptoss-reference-weather-tool.sse": ("", CALLS, [TOKYO]),
    "llamacpp-badheader.sse": ("", ProductCode.BACKEND, []),
    "llamacpp-cut.sse": ("", LENGTH, []),
    "llamacpp-greet.sse": (GREETING, STOP, []),
    "llamacpp-trip-preamble-notools.sse": (ITINERARY, STOP, []),
    "llamacpp-trip-preamble-tool.sse": (PLAN, CALLS, [PARIS]),
    "llamacpp-weather-tool.sse": ("", CALLS, [TOKYO]),
    "transformers-cut.sse": ("", LENGTH, []),
    "transformers-greet.sse": (GREETING, STOP, []),
    "transformers-trip-preamble-notools.sse": (WEEKEND, STOP, []),
    "transformers-weather-tool.sse": ("", STOP, []),
    "transformers-template-cut.sse": ("", LENGTH, []),
    "transformers-template-greet.sse": (GREETING, STOP, []),
    "transformers-template-weather-tool.sse": ("", CALLS, [SPACED_TOKYO]),
    "vllm-badheader.sse": ("", STOP, []),
    "vllm-browser.sse": ("", STOP, []),
    "vllm-cut.sse": ("", LENGTH, []),
    "vllm-greet.sse": (GREETING, STOP, []),
    "vllm-literal.sse": (LITERAL, STOP, []),
    "vllm-longthink.sse": (BICYCLE, STOP, []),
    "vllm-python.sse": ("", STOP, []),
    "vllm-trip-preamble-notools.sse": (ITINERARY.replace("itinerary**", "itinerary\n\n**"), STOP, []),  # two messages
    "vllm-trip-preamble-tool.sse": (PLAN, CALLS, [PARIS]),
    "vllm-unknown.sse": (UNKNOWN, STOP, []),
    "vllm-weather-tool.sse": ("", CALLS, [TOKYO]),
    "synth_01_openresponses_reasoning_events_spec_order.txt": ("It is 4.", STOP, []),
    "synth_02_llamacpp_style_no_indices.txt": ("Hello", CALLS, [("functions.get_weather", '{"a":1}')]),
    "synth_04_refusal.txt": ("I can't help with that.", REFUSAL, []),
    "synth_06_flat_error_then_failed.txt": ("Par", ProductCode.BACKEND, []),
    "synth_08_eof_without_terminal_event.txt": ("Half an ans", Code.STREAM_TRUNCATED, []),
    "synth_10_sse_framing_torture.txt": ("Grüße 👋", STOP, []),
    "synth_13_phase_commentary_then_call.txt": ("Let me check the weather.", CALLS, [("functions.get_weather", '{"city":"Paris"}')]),
    "synth_14_completed_event_with_incomplete_status.txt": ("Once upon a", LENGTH, []),
}
CUT_AT_TOKENS = 20
CUT_BEFORE_PROOF = tuple(f"synth_{name}.txt" for name in (
    "06_flat_error_then_failed", "08_eof_without_terminal_event", "14_completed_event_with_incomplete_status",
))  # fmt: skip
"""Answers that were cut, of servers that did not show by reasoning that they separate it."""


def recorded(name: str) -> bytes:
    return (RECORDINGS / f"responses-{name}").read_bytes()


async def replayed(
    raw: bytes,
    seed: int | None = None,
    *,
    max_tokens: int | None = None,
    separates: Separates = "proved",
    **options: Any,
) -> Outcome:
    async with stub.running(stub.plays(raw, seed=seed)) as server:
        backend = ResponsesBackend(Endpoint(server.url, limits=PATIENT, separates=separates, **options))
        result = await outcome(backend, sample_request("Hello!", max_tokens=max_tokens))
        await backend.aclose()
    return result


@pytest.mark.parametrize("name", EXPECTED)
async def test_exactly_the_answer_of_a_recorded_stream_is_visible(name: str) -> None:
    visible, end, calls = EXPECTED[name]
    # Two of the servers do not report that their token limit cut an answer; the request shows it.
    max_tokens = CUT_AT_TOKENS if name.endswith("-cut.sse") else None
    for seed in (None, 1, 2):
        result = await replayed(recorded(name), seed, max_tokens=max_tokens, separates="always" if name in CUT_BEFORE_PROOF else "proved")
        assert result.visible == visible
        assert result.calls == calls
        assert (result.ended.reason if result.ended else result.error and result.error.code) == end


async def test_every_recording_is_tested_here() -> None:
    lying = {path.name.removeprefix("responses-") for path in RECORDINGS.glob("responses-*")}
    assert lying - set(EXPECTED) == {"llamacpp-langs.sse", "vllm-langs.sse", "vllm-weather-tool-nostream.json"}


@pytest.mark.parametrize("name", ["llamacpp-langs.sse", "vllm-langs.sse"])
async def test_characters_split_between_tokens_arrive_whole(name: str) -> None:
    visible = (await replayed(recorded(name), 3)).visible
    assert "한국어: 안녕하세요!" in visible
    assert "👨\u200d👩\u200d👧\u200d👦" in visible
    assert "\ufffd" not in visible


async def test_a_plain_json_response_is_read_too() -> None:
    async with stub.running(stub.responds("200 OK", recorded("vllm-weather-tool-nostream.json"))) as server:
        backend = ResponsesBackend(Endpoint(server.url, limits=PATIENT))
        result = await outcome(backend, sample_request("What is the weather in Tokyo?"))
        await backend.aclose()
    assert (result.visible, result.calls) == ("", [TOKYO])
    assert result.hidden
    assert result.ended is not None
    assert result.ended.reason == CALLS


async def test_a_secret_in_the_reasoning_is_hidden_and_stored() -> None:
    result = await replayed(recorded("vllm-longthink.sse"), 5)
    assert "RAW-COT-CANARY-7391" in result.hidden
    assert "RAW-COT-CANARY-7391" not in result.visible


async def test_reasoning_is_hidden_under_every_name() -> None:
    result = await replayed(recorded("synth_01_openresponses_reasoning_events_spec_order.txt"), 6)
    assert "RAW-COT-SECRET" in result.hidden
    assert "Checked the units." in result.hidden
    assert result.visible == "It is 4."


async def test_a_preamble_is_recognized_by_its_phase() -> None:
    result = await replayed(recorded("synth_13_phase_commentary_then_call.txt"))
    assert [done.frame.header.intent for done in result.finished] == [Intent.PREAMBLE, None]


@pytest.mark.served
async def test_recordings_of_other_servers_show_the_expected_text(shared_dir: Path) -> None:
    streams = shared_dir / "data" / "streams"
    expected = json.loads((streams / "expected.json").read_text("utf-8"))
    seen = 0
    for name, want in expected.items():
        path = streams / f"{name}.txt"
        if want.get("api") != "responses" or not path.exists():
            continue
        for seed in (None, seen):
            # An answer that was cut is shown only where the server is known to separate its reasoning.
            result = await replayed(path.read_bytes(), seed, separates="proved" if want["status"] == "completed" else "always")
            assert (name, _status(result), _visible(result), _calls(result)) == (name, want["status"], want["visible"], want["tool_calls"])
        seen += 1
    assert seen > 40


async def test_a_chain_of_thought_sent_as_a_summary_is_hidden(shared_dir: Path) -> None:
    raw = (shared_dir / "data" / "streams" / "resp_60_litellm_RAW_COT_AS_SUMMARY.txt").read_bytes()
    result = await replayed(raw, 7)
    assert "The user wants a greeting." in result.hidden
    assert result.visible == "Hello there!"


def _status(result: Outcome) -> str:
    if result.ended:
        return "incomplete" if result.ended.reason in (LENGTH, EndReason.CONTENT_FILTER) else "completed"
    assert result.error is not None
    return "interrupted" if result.error.code == Code.STREAM_TRUNCATED else "failed"


def _visible(result: Outcome) -> list[list[str]]:
    frames = [done.frame for done in result.finished if may_see(done.frame.header, Audience.END_USER)]
    return [["preamble" if frame.header.intent else "final", frame.body] for frame in frames]


def _calls(result: Outcome) -> list[list[str | None]]:
    frames = [done.frame for done in result.finished if done.frame.terminator == "<|call|>"]
    return [[(frame.header.recipient or "").removeprefix("functions."), frame.body, frame.header.call_id] for frame in frames]
