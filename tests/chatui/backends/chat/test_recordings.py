"""Recorded streams of real servers with a real (tiny) gpt-oss model, replayed over HTTP: the answer is visible, the reasoning is not."""

from pathlib import Path

import pytest

from chatui.backends.base import Endpoint, EndReason
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from tests.support import stub
from tests.support.places import RECORDINGS
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request

GREETING = "Hello! How can I help you today?"
PLAN = "**Plan**:\n1. Check the weather in Paris\n2. Pick the sights\n3. Write the itinerary\n\nI start with the weather."
ITINERARY = (
    "**Plan**:\n1. Pick the sights\n2. Write the itinerary"
    "**Saturday**: Louvre and a walk along the Seine.\n**Sunday**: Montmartre and a picnic."
)
PARIS = ("functions.get_weather", '{"location":"Paris","unit":"celsius"}')
TOKYO = ("functions.get_weather", '{"location":"Tokyo","unit":"celsius"}')
LITERAL = (
    "A Harmony message looks like this:\n\n<|start|>assistant<|channel|>analysis<|message|>This is only an example, not a real thought."
    "<|end|>\n\nand it stops with <|return|> or <|call|>. These are ordinary characters in my answer."
)
STOP, LENGTH, CALLS = EndReason.STOP, EndReason.LENGTH, EndReason.TOOL_CALLS

# recording: visible text, end reason, calls
EXPECTED: dict[str, tuple[str, EndReason | ErrorCode, list[tuple[str, str]]]] = {
    "llamacpp/x-chat-greet.sse": (GREETING, STOP, []),
    "llamacpp/x-chat-badheader.sse": ("", ProductCode.BACKEND, []),
    "llamacpp/x-chat-trip-preamble-notools.sse": (ITINERARY, STOP, []),
    "llamacpp/x-chat-trip-preamble-tool.sse": (PLAN, CALLS, [PARIS]),
    "llamacpp/x-chat-trip-reasoning-format-none.sse": (ITINERARY, STOP, []),
    "llamacpp/x-chat-weather-tool.sse": ("", CALLS, [TOKYO]),
    "vllm/v-chat-greet.sse": (GREETING, STOP, []),
    "vllm/v-chat-badheader.sse": ("", STOP, []),
    "vllm/v-chat-browser.sse": ("", STOP, []),
    "vllm/v-chat-literal.sse": (LITERAL, STOP, []),
    "vllm/v-chat-long-cut-in-analysis.sse": ("", LENGTH, []),
    "vllm/v-chat-ping.sse": ("pong", STOP, []),
    "vllm/v-chat-python.sse": ("", STOP, []),
    "vllm/v-chat-trip-preamble-notools.sse": (ITINERARY, STOP, []),
    "vllm/v-chat-trip-preamble-tool.sse": (PLAN, CALLS, [PARIS]),
    "vllm/v-chat-unknown.sse": ("I am a tiny test model and I only know a few prompts.", STOP, []),
    "vllm/v-chat-weather-tool.sse": ("", CALLS, [TOKYO]),
    "vllm/v-chat-weather-after-tool.sse": ("It is **20 °C** and sunny in Tokyo right now.", STOP, []),
    "transformers/t-chat-greet.sse": (GREETING, STOP, []),
    "transformers/t-chat-literal.sse": ("", STOP, []),
    "transformers/t-chat-python.sse": ("", STOP, []),
    "transformers/t-chat-trip-preamble-tool.sse": ("", STOP, []),
    "transformers/t-chat-long-cut-in-analysis.sse": ("", LENGTH, []),
    "transformers/tt-chat-greet.sse": (GREETING, STOP, []),
    "synthetic/synth_30_chat_harmony_tokens_leak.txt": ("Hello", STOP, []),
    "synthetic/synth_33_chat_both_reasoning_fields.txt": ("Hello", STOP, []),
    "synthetic/synth_34_chat_eof_without_done.txt": ("Half", Code.STREAM_TRUNCATED, []),
    "synthetic/synth_36_chat_parallel_tool_calls.txt": ("", CALLS, [("functions.a", '{"x":1}'), ("functions.b", "{}")]),
}


async def replayed(name: str, seed: int | None = None) -> Outcome:
    async with stub.running(stub.plays(recorded(name), seed=seed)) as server:
        backend = ChatCompletionsBackend(Endpoint(server.url, limits=PATIENT))
        result = await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    return result


def recorded(name: str) -> bytes:
    """The raw bytes; synthetic streams begin with two comment lines about their origin."""
    return (RECORDINGS / name).read_bytes()


@pytest.mark.parametrize("name", EXPECTED)
async def test_exactly_the_answer_of_a_recorded_stream_is_visible(name: str) -> None:
    visible, end, calls = EXPECTED[name]
    for seed in (None, 1, 2):
        result = await replayed(name, seed)
        assert result.visible == visible
        assert result.calls == calls
        assert (result.ended.reason if result.ended else result.error and result.error.code) == end


async def test_every_recording_is_tested_here() -> None:
    lying = {f"{path.parent.name}/{path.name}" for path in RECORDINGS.glob("*/*") if "-raw-" not in path.name}
    assert lying - set(EXPECTED) == {"llamacpp/x-chat-langs.sse", "vllm/v-chat-langs.sse", "vllm/v-chat-long-cut-in-final.sse"}


@pytest.mark.parametrize("name", ["llamacpp/x-chat-langs.sse", "vllm/v-chat-langs.sse"])
async def test_characters_split_between_tokens_arrive_whole(name: str) -> None:
    visible = (await replayed(name, 3)).visible
    assert "한국어: 안녕하세요!" in visible
    assert "👨\u200d👩\u200d👧\u200d👦" in visible
    assert "\ufffd" not in visible


async def test_an_answer_cut_by_its_length_limit_is_kept_and_marked() -> None:
    result = await replayed("vllm/v-chat-long-cut-in-final.sse")
    assert result.visible.startswith("# How a transistor works")
    assert result.ended is not None
    assert result.ended.reason == LENGTH
    assert (result.finished[-1].complete, result.finished[-1].error) == (False, ProductCode.LENGTH)


@pytest.mark.served
async def test_larger_recordings_of_other_servers_show_the_expected_text(shared_dir: Path) -> None:
    import json

    streams = shared_dir / "data" / "streams"
    expected = json.loads((streams / "expected.json").read_text("utf-8"))
    seen = 0
    for name, want in expected.items():
        path = streams / f"{name}.txt"
        if want.get("api") != "chat" or not path.exists():
            continue
        async with stub.running(stub.plays(path.read_bytes(), seed=seen)) as server:
            backend = ChatCompletionsBackend(Endpoint(server.url, limits=PATIENT))
            result = await outcome(backend, sample_request("Hello!"))
            await backend.aclose()
        seen += 1
        assert result.visible.strip() == want["visible"].strip(), name
        assert (result.error is None) == (want["status"] == "completed"), name
        assert [[call.removeprefix("functions.") if call else call, body] for call, body in result.calls] == want["tool_calls"], name
    assert seen > 20
