"""Continuing a cut answer against a real llama.cpp server: both pieces together are exactly the uncut answer."""

import os
from dataclasses import replace

import pytest

from chatui.backends.base import Backend, EndReason, SampleRequest
from renderer.frame_kinds import ANALYSIS, ANSWER
from renderer.frames import Channel, Frame, Header, Role
from renderer.harmony.vocabulary import Vocabulary
from tests.backends.recorded import LANGUAGES
from tests.llama.asked import BICYCLE, CANARY, COUNTED, THINK_HARD, backend_of, over
from tests.support.sampling import Outcome, outcome, sample_request

pytestmark = pytest.mark.llama

FINAL = Header(Role.ASSISTANT, Channel.FINAL)
ANYWHERE = over("harmony", "chat")
COUNT = "Count from 1 to 200."
ANSWERS = {COUNT: COUNTED, THINK_HARD: BICYCLE, "Say hello in many languages.": LANGUAGES}


def continued(request: SampleRequest, cut: Outcome) -> SampleRequest:
    """The product's request to continue ``cut``: the reasoning so far, then the unfinished answer."""
    frames = [done.frame for done in cut.finished]
    text = next((frame.body for frame in frames if frame.header == FINAL), "")
    seen = [frame for frame in frames if frame.header.channel == Channel.ANALYSIS and frame.header.intent is None]
    return replace(request, frames=(*request.frames, *seen), cut_answer=Frame(FINAL, text), max_tokens=None)


@pytest.mark.parametrize(("question", "limit"), [(COUNT, 40), (COUNT, 41), (THINK_HARD, 194), (THINK_HARD, 200)])
@ANYWHERE
async def test_a_cut_answer_continues_exactly_where_it_was_cut(backend: Backend, question: str, limit: int) -> None:
    await continues_exactly(backend, question, limit)


@pytest.mark.parametrize("limit", [60, 61, 62])
async def test_over_token_ids_an_answer_cut_between_the_bytes_of_a_word_continues_exactly_there(
    llama_server: str, vocabulary: Vocabulary, limit: int
) -> None:
    """The server tokenizes the text of some writing systems differently from how the model wrote it, so that only ids are exact."""
    backend = backend_of("harmony", llama_server, vocabulary)
    await continues_exactly(backend, "Say hello in many languages.", limit)
    await backend.aclose()


async def continues_exactly(backend: Backend, question: str, limit: int) -> None:
    request = sample_request(question)
    cut = await outcome(backend, replace(request, max_tokens=limit))
    assert cut.ended is not None and cut.ended.reason is EndReason.LENGTH and cut.visible, "the premise: the answer was cut"
    is_long = question == COUNT  # of which some is enough
    rest = await outcome(backend, replace(continued(request, cut), max_tokens=60 if is_long else None))
    whole = cut.visible + rest.visible
    assert whole == ANSWERS[question][: len(whole) if is_long else None] and len(whole) > len(cut.visible)
    assert rest.ended is not None and rest.ended.reason is (EndReason.LENGTH if is_long else EndReason.STOP)
    assert rest.hidden == ""


@ANYWHERE
async def test_an_answer_that_is_cut_twice_is_continued_twice(backend: Backend) -> None:
    request = sample_request(COUNT)
    cut = await outcome(backend, replace(request, max_tokens=100))
    request, text = continued(request, cut), cut.visible
    for limit in (80, 80, None):
        text += (await outcome(backend, replace(request, cut_answer=Frame(FINAL, text), max_tokens=limit))).visible
    assert text == COUNTED


@ANYWHERE
async def test_a_secret_that_was_thought_before_the_cut_does_not_come_with_the_rest(backend: Backend) -> None:
    request = sample_request(THINK_HARD)
    cut = await outcome(backend, replace(request, max_tokens=198))
    assert CANARY in cut.hidden and cut.visible
    rest = await outcome(backend, continued(request, cut))
    assert CANARY not in rest.visible + rest.hidden


async def test_over_responses_the_model_is_asked_in_plain_text(llama_server: str) -> None:
    backend = backend_of("responses", llama_server, None)
    rest = await outcome(backend, replace(sample_request("Hello!"), cut_answer=Frame(FINAL, "Hello! How can")))
    await backend.aclose()
    assert rest.error is None
    assert CANARY not in rest.visible


# Finishing an answer that was cut during its reasoning, against a real llama.cpp server: no raw reasoning shows, and an answer comes.


CUTS = 200 if os.environ.get("CHATUI_TEST_LONG") else 20
"""How many places of the reasoning are cut; ``make faults`` tries more."""


def finishing(request: SampleRequest, thought: str) -> SampleRequest:
    """The product's request after a turn was cut in its reasoning: the reasoning ends the history, and the answer has no text yet."""
    return replace(request, frames=(*request.frames, Frame(ANALYSIS, thought)), cut_answer=Frame(ANSWER, ""))


@over("harmony", "chat")
async def test_no_reasoning_shows_wherever_it_was_cut_and_an_answer_comes(backend: Backend) -> None:
    """Stop can cut at any character, and a limit at any token; the places include both."""
    request = sample_request(THINK_HARD)
    whole = await outcome(backend, request)
    thought = whole.hidden
    assert CANARY in thought and len(thought) > 400 and whole.visible, "the premise: long reasoning with a secret, then an answer"
    answered, leaks = 0, []
    for number in range(CUTS):
        cut = thought[: 1 + number * (len(thought) - 1) // (CUTS - 1)]
        rest = await outcome(backend, finishing(request, cut))
        assert rest.error is None and rest.ended is not None and rest.ended.reason is EndReason.STOP, len(cut)
        shown = " ".join(rest.visible.split())
        if CANARY in shown or any(part in shown for part in sentences(thought)):
            leaks.append(len(cut))
        answered += any(done.frame.header == ANSWER for done in rest.finished)
    print(f"{type(backend).__name__}: {CUTS} cuts, {len(leaks)} leaks, {answered} with an answer")
    assert leaks == []
    assert answered == CUTS


def sentences(text: str) -> list[str]:
    """Overlapping pieces of five words of the reasoning, which would be recognized in an answer."""
    words = text.split()
    return [" ".join(words[place : place + 5]) for place in range(0, max(len(words) - 4, 1), 3)]
