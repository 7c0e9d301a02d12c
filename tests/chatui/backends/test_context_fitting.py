"""A conversation that outgrows the context continues, over Chat Completions and Responses, with each server's way to refuse."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends.base import ContextUse, EndReason, SampleRequest
from chatui.backends.context_window import weight
from chatui.codes import ProductCode
from renderer.frame_kinds import ANSWER
from renderer.frames import Channel, Frame, Header, Role
from tests.chatui.backends.limited import REFUSALS, Limited, error, served, texts, tokens
from tests.chatui.backends.test_context_window import INSTRUCTIONS, turn
from tests.support.context import learnt_factor
from tests.support.limits import set_limits
from tests.support.sampling import outcome, sample_request

pytestmark = pytest.mark.served

KINDS = ["chat", "responses"]


def conversation(turns: int = 30, question: str = "And now?", **options: Any) -> SampleRequest:
    return sample_request(question, INSTRUCTIONS, *(frame for number in range(turns) for frame in turn(number)), **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("product", ["vLLM", "Ollama"])
@pytest.mark.parametrize("counts", [True, False])
async def test_after_each_servers_refusal_the_oldest_turns_are_left_out(
    kind: str, product: str, counts: bool, caplog: pytest.LogCaptureFixture
) -> None:
    limited = Limited(kind, 1500, REFUSALS[product], counts=counts)
    caplog.set_level(logging.INFO)
    async with served(limited) as backend:
        first = await outcome(backend, conversation())
        refused = limited.refused
        again = await outcome(backend, conversation(31))
    assert (first.visible, again.visible) == ("It is.", "It is.")
    assert 1 <= refused <= 4 and limited.refused == refused, "the learnt limit is remembered"
    assert first.ended is not None and 5 < first.ended.turns_left_out < 28
    shown = texts(limited.server.posted)
    assert any(INSTRUCTIONS.body in text for text in shown) and any("Question 30?" in text for text in shown) and shown[-1] == "And now?"
    assert not any("Question 0?" in text for text in shown)
    assert caplog.text.count("did not fit") == refused and "Question" not in caplog.text


async def test_each_attempt_sends_less_and_staff_can_read_the_last_one() -> None:
    limited, sent = Limited("chat", 900, REFUSALS["Ollama"]), list[bytes]()
    request = SampleRequest(conversation().frames, on_sent=lambda path, body: sent.append(body))
    async with served(limited) as backend:
        result = await outcome(backend, request)
    assert result.visible == "It is." and 2 < len(sent) <= 5
    assert [len(body) for body in sent] == sorted({len(body) for body in sent}, reverse=True)
    bodies = [posted.body for posted in limited.server.requests if posted.method == "POST"]
    assert tokens(bodies[-1]) < 900 <= tokens(bodies[-2])


MESSAGES: list[tuple[dict[str, Any], str]] = [
    ({"models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 1500}]}}, "vLLM"),
    ({"models": {"data": [{"id": "m"}]}, "server_header": "llama.cpp",
      "extra": {"/props": {"default_generation_settings": {"n_ctx": 1500}}}}, "llama.cpp"),
    ({"models": {"data": [{"id": "m", "meta": {"n_ctx": 1500, "n_ctx_train": 131072}}]}, "server_header": "llama.cpp"}, "llama.cpp router"),
    ({"models": {"data": [{"id": "m", "owned_by": "library"}]}, "extra": {"/api/ps": {"models": [{"name": "m", "context_length": 1500}]}}},
     "Ollama"),
    ({"models": {"data": [{"id": "m"}]}, "extra": {"/api/v0/models": {"data": [{"id": "m", "loaded_context_length": 1500,
                                                                               "max_context_length": 131072}]}}}, "LM Studio"),
    ({"models": {"data": [{"id": "other", "context_length": 99}, {"id": "m", "context_length": 1500}]}}, "a gateway"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "product"), MESSAGES, ids=[product for _, product in MESSAGES])
async def test_a_server_that_reports_its_limit_is_never_sent_too_much(options: dict[str, Any], product: str) -> None:
    limited = Limited("chat", 1500, REFUSALS["vLLM"])
    async with served(limited, **options) as backend:
        for turns in (30, 31, 32):
            result = await outcome(backend, conversation(turns))
            assert result.visible == "It is." and result.ended is not None and result.ended.turns_left_out > 5
            assert result.ended.context is not None and result.ended.context.size == 1500
            assert 400 < result.ended.context.used < 1400
    assert limited.refused == 0
    gets = [request.path for request in limited.server.requests if request.method == "GET"]
    assert len(gets) == len(set(gets)), "asked again for each question"


async def test_a_configured_limit_takes_precedence_without_a_request() -> None:
    limited = Limited("chat", 100_000, REFUSALS["vLLM"])
    async with served(limited, context=1500, models={"data": [{"id": "m", "max_model_len": 100_000}]}) as backend:
        result = await outcome(backend, conversation())
    assert result.ended is not None and result.ended.turns_left_out > 5
    assert tokens(limited.server.posted) < 1500
    assert [request.method for request in limited.server.requests] == ["POST"]


async def test_a_smaller_limit_is_learnt_at_once_and_a_larger_one_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = Limited("chat", 2500, REFUSALS["vLLM"])
    async with served(limited) as backend:
        before = await outcome(backend, conversation())
        limited.limit = 1200
        smaller = await outcome(backend, conversation())
        limited.limit = 100_000
        limited.refused = 0
        still = await outcome(backend, conversation())
        assert limited.refused == 0
        limited.limit = 700
        set_limits(monkeypatch, "chatui.backends", LEARNED_SECONDS=0.0)
        assert (await outcome(backend, conversation())).ended is not None and limited.refused > 0, "learnt anew, for no time"
        limited.limit, limited.refused = 100_000, 0
        larger = await outcome(backend, conversation())
    ends = [result.ended for result in (before, smaller, still, larger)]
    left_out = [end.turns_left_out for end in ends if end is not None]
    assert len(left_out) == 4 and 0 < left_out[0] < left_out[1] <= left_out[2] + 2 and left_out[3] == 0
    assert limited.refused == 0


@pytest.mark.parametrize("product", ["vLLM", "Ollama"])
async def test_a_question_too_long_by_itself_is_an_error_with_its_length(product: str) -> None:
    limited = Limited("chat", 1500, REFUSALS[product])
    question = "word " * 1500
    async with served(limited) as backend:
        result = await outcome(backend, conversation(5, question))
        assert result.error is not None and result.error.code is ProductCode.QUESTION_TOO_LONG
        sent = limited.refused
        assert sent <= 5
        result = await outcome(backend, conversation(5, question))
    assert result.error is not None and result.error.code is ProductCode.QUESTION_TOO_LONG and not result.error.retryable
    if product == "vLLM":
        use = result.error.context
        assert use is not None and 0 < use.size < 1500 and abs(use.used - len(question) / 3) < 300
        assert limited.refused == sent + 1, "a limit learnt from a refusal is checked again once"


@pytest.mark.parametrize("context", [None, 1500])
async def test_a_conversation_of_which_nothing_may_be_left_out_is_refused_with_the_true_reason(context: int | None) -> None:
    limited = Limited("chat", 1500, REFUSALS["vLLM"])
    async with served(limited, context=context) as backend:
        codes = []
        for turns, question in ((1, "And now?"), (30, "And now?"), (30, "word " * 3000)):
            result = await outcome(backend, replace(conversation(turns, question), must_fit=True))
            codes.append(result.error and result.error.code)
    assert codes == [None, ProductCode.CONVERSATION_TOO_LONG, ProductCode.QUESTION_TOO_LONG]


async def test_a_question_over_the_configured_limit_is_not_sent() -> None:
    limited = Limited("chat", 1500, REFUSALS["vLLM"])
    async with served(limited, context=1500) as backend:
        result = await outcome(backend, conversation(5, "word " * 3000))
    assert result.error is not None and result.error.code is ProductCode.QUESTION_TOO_LONG
    assert limited.refused == 0


async def test_an_answer_that_fills_the_context_can_be_continued() -> None:
    limited = Limited("chat", 1500, REFUSALS["vLLM"])
    limited.says = "".join(f"Line {number} of a long answer.\n" for number in range(120))
    async with served(limited, models={"data": [{"id": "m", "max_model_len": 1500}]}) as backend:
        first = await outcome(backend, conversation(3, "Write a lot."))
        assert first.ended is not None and (first.ended.reason, first.ended.is_context_full) == (EndReason.LENGTH, True)
        text = first.visible
        for _ in range(6):
            before = conversation(3, "Write a lot.").frames
            rest = await outcome(backend, SampleRequest(before, cut_answer=Frame(ANSWER, text)))
            assert rest.ended is not None, rest.error
            text += rest.visible
        shown = texts(limited.server.posted)
    assert limited.refused == 0 and tokens(limited.server.posted) < 1500
    assert any(line == "Write a lot." for line in shown), "the question that is being answered stays"
    assert len(text) > len(first.visible)


@pytest.mark.parametrize("kind", KINDS)
async def test_the_requested_answer_length_fits_the_remaining_context(kind: str) -> None:
    limited = Limited(kind, 1500, REFUSALS["vLLM"])
    async with served(limited, models={"data": [{"id": "m", "max_model_len": 1500}]}) as backend:
        result = await outcome(backend, conversation(2, max_tokens=100_000))
    assert result.visible == "It is."
    max_tokens = limited.server.posted.get("max_tokens") or limited.server.posted["max_output_tokens"]
    assert 300 < max_tokens < 1500 - tokens(limited.server.posted)


async def test_a_refused_answer_length_is_retried_with_a_shorter_one() -> None:
    words = (
        "'max_tokens' is too large: 90000. This model's maximum context length is {limit} tokens and your request has {prompt} input tokens"
    )

    class Strict(Limited):
        async def answer(self, writer: Any) -> None:
            self.limit = 0 if self.server.posted.get("max_tokens", 0) > 3000 else 4000
            await super().answer(writer)

    def refusal(limit: int, prompt: int) -> bytes:
        return error(words)(4000, prompt)

    limited = Strict("chat", 4000, refusal)
    async with served(limited) as backend:
        result = await outcome(backend, conversation(10, max_tokens=90_000))
    assert result.visible == "It is." and limited.refused == 1
    assert result.ended is not None and result.ended.turns_left_out == 0, "the prompt was never too long"


async def test_an_unrelated_error_is_raised_at_once() -> None:
    limited = Limited("chat", 100, error("Invalid value for role"))
    async with served(limited) as backend:
        result = await outcome(backend, conversation())
    assert result.error is not None and result.error.code is ProductCode.BACKEND_REFUSED and limited.refused == 1


async def test_quoted_user_text_teaches_no_limit() -> None:
    """Text that a server quotes from one user must not limit what other users can send."""
    limited = Limited("chat", 1, REFUSALS["vLLM"])
    limited.refusal = lambda limit, prompt: REFUSALS["vLLM"](90_000, prompt)
    async with served(limited) as backend:
        refused = await outcome(backend, sample_request("Hello!"))
        limited.limit = 100_000
        result = await outcome(backend, conversation())
    assert refused.error is not None and refused.error.code is ProductCode.BACKEND_REFUSED and limited.refused == 1
    assert result.ended is not None and result.ended.turns_left_out == 0


@pytest.mark.parametrize("counts", [True, False])
async def test_a_refusal_that_quotes_a_person_affects_nobody_else(counts: bool) -> None:
    quoting = error("Failed to parse input at pos 12: This model's maximum context length is {limit} tokens")
    limited = Limited("chat", 10, quoting, counts=counts)
    async with served(limited) as backend:
        assert (await outcome(backend, sample_request("Say it."))).error is not None
        limited.limit = 100_000
        first = await outcome(backend, conversation(5))
        second = await outcome(backend, conversation(5))
    assert (first.visible, second.visible) == ("It is.", "It is.")
    assert second.ended is not None and second.ended.turns_left_out == 0, "the server accepted more, so the learnt limit was wrong"


@pytest.mark.parametrize("kind", KINDS)
async def test_context_use_does_not_reveal_the_length_of_reasoning(kind: str) -> None:
    used = []
    for thought in ("", "hm " * 900):
        limited = Limited(kind, 8000, REFUSALS["vLLM"])
        request = conversation(5)
        if thought:
            request = SampleRequest(
                (*request.frames, Frame(Header(Role.ASSISTANT, Channel.ANALYSIS), thought)), cut_answer=Frame(ANSWER, "It")
            )
        async with served(limited, models={"data": [{"id": "m", "max_model_len": 8000}]}) as backend:
            result = await outcome(backend, request)
        assert result.ended is not None and isinstance(result.ended.context, ContextUse)
        used.append(result.ended.context.used)
    assert abs(used[0] - used[1]) < weight("hm " * 900) / 4


def test_a_prompt_of_mostly_counted_documents_teaches_no_token_ratio() -> None:
    mostly_counted, estimated = (9_000, 3_000.0, 2_900.0), (6_000, 3_000.0, 100.0)
    assert (learnt_factor(mostly_counted), learnt_factor(mostly_counted, estimated)) == (1.0, 2.0)
