"""Token ids with a real llama.cpp server and a tiny gpt-oss model: the exact answer to every prompt that it knows."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from chatui.backends.base import EndReason, SampleEnded
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.backends.harmony.dialects import CompletionRequest
from renderer.events import Assembler
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.gate import Audience, show, visible
from renderer.harmony.prompt import DeveloperMessage, Prompt, SystemMessage, build
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.chat.test_recordings import PARIS, PLAN, TOKYO
from tests.llama.asked import CANARY, KNOWN, THINK_HARD, WEATHER, over
from tests.support.sampling import outcome, sample_request

pytestmark = [pytest.mark.llama, pytest.mark.asyncio, over("harmony")]


@pytest.mark.parametrize("question", KNOWN)
async def test_each_question_that_the_model_knows_shows_exactly_its_answer(backend: HarmonyCompletionsBackend, question: str) -> None:
    visible, reason, calls = KNOWN[question]
    result = await outcome(backend, sample_request(question))
    assert (result.visible, result.calls) == (visible, calls)
    assert result.ended is not None and result.ended.reason is reason
    assert (CANARY in result.hidden) == (question == THINK_HARD)


async def test_a_preamble_is_told_from_the_answer_that_follows_it(backend: HarmonyCompletionsBackend) -> None:
    result = await outcome(backend, sample_request("Plan a weekend trip to Paris."))
    assert [(done.frame.header.channel, done.frame.header.intent) for done in result.finished] == [
        ("analysis", None),
        ("commentary", "preamble"),
        ("final", None),
    ]


@pytest.mark.parametrize(
    ("question", "seen", "call"), [("What is the weather in Tokyo?", "", TOKYO), ("Plan a weekend trip to Paris.", PLAN, PARIS)]
)
async def test_a_tool_that_the_prompt_offers_is_called(
    backend: HarmonyCompletionsBackend, vocabulary: Vocabulary, question: str, seen: str, call: tuple[str, str]
) -> None:
    prompt = Prompt((Frame(Header(Role.USER), question),), SystemMessage(date="2026-11-20"), DeveloperMessage(functions=(WEATHER,)))
    assembler, frames, ended = Assembler(), [], None
    async with aclosing(backend.complete(CompletionRequest(build(prompt, vocabulary), 500))) as events:
        async for event in events:
            if isinstance(event, SampleEnded):
                ended = event
            elif done := assembler.feed(event):
                frames.append(done.frame)
    assert "".join(show(frame, Audience.END_USER) for frame in visible(frames, Audience.END_USER)) == seen
    assert [(frame.header.recipient, frame.body) for frame in frames if frame.terminator is Terminator.CALL] == [call]
    assert ended is not None and ended.reason is EndReason.TOOL_CALLS


async def test_oldest_turns_are_left_out_where_the_real_context_is_full(backend: HarmonyCompletionsBackend) -> None:
    turn = (Frame(Header(Role.USER), "word " * 400), Frame(Header(Role.ASSISTANT, Channel.FINAL), "Yes.", Terminator.RETURN))
    result = await outcome(backend, sample_request("Hello!", *turn * 20))
    assert result.ended is not None
    assert result.ended.turns_left_out > 10
    assert result.ended.usage is not None and (result.ended.usage.prompt_tokens or 0) < 4096
