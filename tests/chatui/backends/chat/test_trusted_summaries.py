"""Reasoning summaries over Chat Completions: hidden, unless the operator trusts that the server sends no raw reasoning as summaries."""

from typing import Any

import pytest

from chatui.backends.base import BackendError, Endpoint
from chatui.backends.chat.deltas import Deltas
from chatui.backends.registry import build
from chatui.backends.separation import Separation
from renderer.errors import Code
from renderer.events import Assembler, Finished, FrameWithdrawn
from renderer.frames import Frame
from renderer.gate import Audience, may_see
from renderer.history import frames_for_prompt
from tests.support import stub
from tests.support.sampling import HASTY, outcome, sample_request

RAW = "SECRET-RAW"


def part(kind: str, text: str) -> dict[str, str]:
    return {"type": f"reasoning.{kind}", "summary" if kind == "summary" else "text": text}


def details(*parts: dict[str, str], **delta: Any) -> dict[str, Any]:
    return {"reasoning_details": list(parts), **delta}


SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "by themselves": [details(part("summary", "I compared ")), details(part("summary", "routes.")), {"content": "By train."}],
    "sent twice": [details(part("summary", "I compared routes."), reasoning="I compared routes."), {"content": "By train."}],
    "with raw reasoning": [details(part("text", RAW), part("summary", "I compared routes.")), {"content": "By train."}],
    "before raw reasoning": [details(part("summary", "I compared routes.")), {"reasoning": RAW}, {"content": "By train."}],
    "in the same piece as raw reasoning": [details(part("summary", "I compared routes."), reasoning=RAW), {"content": "By train."}],
    "with encrypted reasoning": [
        details(part("summary", "I compared routes."), {"type": "reasoning.encrypted", "data": RAW}),
        {"content": "By train."},
    ],
    "among parts of other types": [
        {"reasoning_details": [5, "", None, part("summary", "I compared routes."), []]},
        {"content": "By train."},
    ],
    "of another name": [
        details({"type": "reasoning.summary2", "summary": RAW}, part("summary", "I compared routes.")),
        {"content": "By train."},
    ],
}


def read(deltas: list[dict[str, Any]], *, trusted: bool) -> list[Finished]:
    reader, assembler = Deltas(lambda: "c", max_chars=10_000, summaries_are_trusted=trusted), Assembler()
    events = [event for delta in deltas for event in reader.feed({"choices": [{"index": 0, "delta": delta}]})]
    events += reader.finish()[0]
    finished = [done for event in events if (done := assembler.feed(event))]
    assert assembler.finish() is None
    return finished


def visible(finished: list[Finished]) -> list[tuple[str | None, str]]:
    return [(done.frame.header.name, done.frame.body) for done in finished if may_see(done.frame.header, Audience.END_USER)]


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_untrusted_summary_is_hidden(script: str) -> None:
    assert visible(read(SCRIPTS[script], trusted=False)) == [(None, "By train.")]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_trusted_summary_is_shown_once_and_raw_reasoning_never(script: str) -> None:
    finished = read(SCRIPTS[script], trusted=True)
    hidden = [done.frame.body for done in finished if not may_see(done.frame.header, Audience.END_USER)]
    assert hidden == ([RAW] if RAW in str([delta for delta in SCRIPTS[script] if "encrypted" not in str(delta)]) else [])
    assert visible(finished) == [("reasoning_summary", "I compared routes."), (None, "By train.")]
    frames: list[Frame] = [done.frame for done in finished]
    assert all(done.complete and done.error is None for done in finished)
    assert [frame.body for frame in frames_for_prompt(frames)] == ["By train."], "the model does not see it again"


def test_only_details_labelled_as_summary_are_trusted() -> None:
    for delta in (
        {"reasoning": RAW},
        {"reasoning_content": RAW},
        {"thinking": RAW},
        details(part("text", RAW)),
        {"reasoning_details": RAW},
    ):
        assert visible(read([delta, {"content": "By train."}], trusted=True)) == [(None, "By train.")]


@pytest.mark.parametrize("trusted", [False, True])
async def test_the_operators_trust_setting_reaches_the_back_end(trusted: bool) -> None:
    raw = (
        stub.chunk(**details(part("summary", "I compared routes.")))
        + stub.chunk(content="By train.")
        + stub.chunk(finish="stop")
        + stub.DONE
    )
    async with stub.running(stub.plays(raw)) as server:
        backend = build(Endpoint(server.url, model="m", limits=HASTY, trusts_summaries=trusted))
        result = await outcome(backend, sample_request("How?"))
        await backend.aclose()
    assert result.visible == ("I compared routes." if trusted else "") + "By train."


async def test_an_interrupted_summary_is_closed_as_incomplete() -> None:
    async with stub.running(stub.plays(stub.chunk(**details(part("summary", "I comp"))))) as server:
        backend = build(Endpoint(server.url, model="m", limits=HASTY, trusts_summaries=True))
        result = await outcome(backend, sample_request("How?"))
        await backend.aclose()
    assert isinstance(result.error, BackendError)
    assert [(done.frame.body, done.error) for done in result.finished] == [("I comp", Code.STREAM_TRUNCATED)]


@pytest.mark.parametrize("separation", Separation)
@pytest.mark.parametrize("is_late", [False, True])
def test_a_summary_that_comes_again_as_the_answer_is_hidden(separation: Separation, *, is_late: bool) -> None:
    thought = f"The user asks for the fastest way, so I compare {RAW} first."
    summary, answer = details(part("summary", thought)), [{"content": thought}, {"content": " By train."}]
    deltas = [details(part("summary", "Routes.")), *answer, summary] if is_late else [summary, *answer]
    reader, assembler = Deltas(lambda: "c", max_chars=10_000, separation=separation, summaries_are_trusted=True), Assembler()
    events = [event for delta in deltas for event in reader.feed({"choices": [{"index": 0, "delta": delta}]})]
    events += reader.finish()[0]
    finished = [done for event in events if (done := assembler.feed(event))]
    assert [text.strip() for name, text in visible(finished) if name is None] == ["By train."]
    if not is_late:
        assert not any(isinstance(event, FrameWithdrawn) for event in events), "it was not shown for a moment"
