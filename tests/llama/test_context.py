"""A conversation that outgrows the context of a real llama.cpp server can continue, over all three wire formats."""

from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from chatui.backends import registry
from chatui.backends.base import Backend, Endpoint, EndReason, SampleEnded, SampleRequest
from chatui.codes import ProductCode
from renderer.frame_kinds import ANSWER
from renderer.frames import Frame, Header, Role
from renderer.harmony.vocabulary import Vocabulary
from tests.llama.asked import LIMITS
from tests.llama.fixture import SMALL_CONTEXT
from tests.support.cases import extended
from tests.support.sampling import outcome, sample_request

pytestmark = pytest.mark.llama

KINDS = ["chat", "responses", "harmony"]
INSTRUCTIONS = Frame(Header(Role.DEVELOPER), "Be kind.")
Make = Callable[..., Backend]


@pytest.fixture(params=KINDS)
async def make(request: pytest.FixtureRequest, llama_server_with_a_small_context: str, vocabulary: Vocabulary) -> AsyncIterator[Make]:
    """A factory of backends of each kind; ``is_silent``: the server does not report its context size."""
    backends: list[Backend] = []

    def one(*, is_silent: bool = False) -> Backend:
        endpoint = Endpoint(llama_server_with_a_small_context, model="gpt-oss-tiny", limits=LIMITS)
        kind = "harmony-llamacpp" if request.param == "harmony" else request.param
        backend = registry.build(endpoint, kind=kind, vocabulary=lambda: vocabulary)
        if is_silent:
            hide_properties(backend)
        backends.append(backend)
        return backend

    yield one
    for backend in backends:
        await backend.aclose()


def hide_properties(backend: Backend) -> None:
    async def nothing(path: str) -> tuple[httpx.Headers, object]:
        return httpx.Headers({"server": "llama.cpp"}), None

    backend._upstream.get = nothing  # type: ignore[attr-defined]


async def end_of_sample(backend: Backend, request: SampleRequest) -> SampleEnded:
    """The end of the first sample without an error: the server cannot always parse the tiny model's output on an unknown conversation."""
    for _ in range(8):
        result = await outcome(backend, request)
        if result.ended is not None:
            return result.ended
        assert result.error is not None and "peg-native" in result.error.detail, result.error
    raise AssertionError("the model wrote nothing that the server could read")


def turns(count: int, words: int = 30) -> tuple[Frame, ...]:
    return tuple(frame for _ in range(count) for frame in (Frame(Header(Role.USER), "word " * words), Frame(ANSWER, "Yes.")))


@pytest.mark.parametrize("is_silent", [False, extended(True)])
async def test_a_conversation_that_keeps_growing_continues(make: Make, is_silent: bool) -> None:
    backend, left_out, used = make(is_silent=is_silent), [], []
    for count in (0, 4, 8, 16, 32, 33):
        ended = await end_of_sample(backend, sample_request("ping", INSTRUCTIONS, *turns(count), max_tokens=20))
        left_out.append(ended.turns_left_out)
        assert ended.usage is not None and (ended.usage.prompt_tokens or SMALL_CONTEXT) < SMALL_CONTEXT
        if ended.context is not None:
            used.append(ended.context)
    assert left_out[0] == 0 and left_out == sorted(left_out) and left_out[-1] > 20
    assert used and {use.size for use in used} == {SMALL_CONTEXT} and SMALL_CONTEXT / 3 < used[-1].used < SMALL_CONTEXT


@pytest.mark.parametrize("is_silent", [False, True])
async def test_a_question_that_is_too_long_is_reported_as_such(make: Make, is_silent: bool) -> None:
    backend = make(is_silent=is_silent)
    result = await outcome(backend, sample_request("word " * 700, INSTRUCTIONS, *turns(3)))
    assert result.error is not None and result.error.code is ProductCode.QUESTION_TOO_LONG, result.error
    use = result.error.context
    assert use is not None and 200 < use.size < SMALL_CONTEXT and 500 < use.used < 1400
    assert (await outcome(backend, sample_request("ping"))).visible == "pong"


async def test_an_answer_that_fills_the_context_says_so_and_is_continued(make: Make) -> None:
    backend = make()
    request = sample_request("Explain in detail how a transistor works.")
    first = await outcome(backend, request)
    assert first.ended is not None and first.ended.reason is EndReason.LENGTH and first.ended.is_context_full, first.error
    assert first.visible.startswith("# How a transistor works") and first.finished[-1].error is ProductCode.LENGTH
    text = first.visible
    for _ in range(4):
        rest = await end_of_sample(backend, SampleRequest(request.frames, cut_answer=Frame(ANSWER, text), max_tokens=20))
        assert rest.usage is not None
        assert (rest.usage.prompt_tokens or SMALL_CONTEXT) < SMALL_CONTEXT, "the request fits, though with all of the answer it would not"
        text += first.visible[-400:]
