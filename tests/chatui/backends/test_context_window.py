"""Recognizing that a prompt was too long from each server's error message, without mistaking other errors for it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatui.backends.base import BackendError, SampleRequest
from chatui.backends.context_window import weight, weight_of
from chatui.codes import ProductCode
from renderer import history
from renderer.errors import Code
from renderer.frame_kinds import ANALYSIS, ANSWER, DOCUMENT
from renderer.frames import Channel, Frame, Header, Role, Terminator
from tests.support import context
from tests.support.cases import example_count
from tests.support.context import fit, overflow_in
from tests.support.cost import cost
from tests.support.sampling import sent


def refusal(body: object, status: int = 400) -> BackendError:
    return context.refusal(status, body if isinstance(body, str) else json.dumps(body))


def openai(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **fields}}


VLLM = (
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the "
    "completion). Please reduce the length of the messages or completion."
)
WORDINGS: dict[str, tuple[object, int, tuple[int | None, int | None]]] = {
    "llama.cpp": (
        {
            "error": {
                "code": 400,
                "message": "request (968 tokens) exceeds the available context size (512 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 968,
                "n_ctx": 512,
            }
        },
        400,
        (512, 968),
    ),
    "llama.cpp, older": (
        openai("the request exceeds the available context size. try increasing the context size or enable context shift"),
        400,
        (None, None),
    ),
    "llama-cpp-python": (openai("Requested tokens (5201) exceed context window of 4096"), 500, (4096, 5201)),
    "vLLM": ({"object": "error", "message": VLLM, "type": "BadRequestError", "code": 400}, 400, (4096, 4000)),
    "vLLM, newer": (
        openai(
            "This model's maximum context length is 4096 tokens. However, your request has 5012 input tokens. Please reduce the length "
            "of the input messages."
        ),
        400,
        (4096, 5012),
    ),
    "vLLM, answer": (
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your "
            "request has 12 input tokens (5000 > 4096 - 12)."
        ),
        400,
        (4096, 12),
    ),
    "vLLM, ids": (
        openai("The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is."),
        400,
        (4096, 5000),
    ),
    "vLLM, responses": (
        openai("The engine prompt length 5000 exceeds the max_model_len 4096. Please reduce prompt."),
        400,
        (4096, 5000),
    ),
    "OpenAI": (
        openai(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length "
            "of the messages.",
            code="context_length_exceeded",
        ),
        400,
        (8192, 9000),
    ),
    "OpenAI, responses": (
        openai("Your input exceeds the context window of this model. Please adjust your input and try again."),
        400,
        (None, None),
    ),
    "SGLang": (
        {"object": "error", "message": "The input (5201 tokens) is longer than the model's context length (4096 tokens).", "code": 400},
        400,
        (4096, 5201),
    ),
    "SGLang, in all": (
        openai(
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5301 tokens: 5201 "
            "tokens from the input messages and 100 tokens for the completion."
        ),
        400,
        (4096, 5201),
    ),
    "LM Studio": (
        {
            "error": "Trying to keep the first 5201 tokens when context the overflows. However, the model is loaded with context length of "
            "only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"
        },
        400,
        (4096, 5201),
    ),
    "LM Studio, newer": (
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5201>= n_ctx: "
            "4096). Try to load the model with a larger context length, or provide a shorter input"
        },
        400,
        (4096, 5201),
    ),
    "Ollama": (openai("the input length exceeds the context length"), 400, (None, None)),
    "Ollama, native": ({"error": "input length exceeds maximum context length"}, 400, (None, None)),
    "transformers": ({"detail": "Input length of input_ids is 5000, but `max_length` is set to 4096."}, 400, (4096, 5000)),
    "LiteLLM": (
        openai(f"litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - {VLLM}"),
        400,
        (4096, 4000),
    ),
    "LiteLLM, quoting": (
        openai(f"litellm.BadRequestError: Hosted_vllmException - {VLLM}", code="400"),
        400,
        (4096, 4000),
    ),
    "OpenRouter": (
        openai(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, "
            "10000 in the output). Please reduce the length of either one."
        ),
        400,
        (131072, 130000),
    ),
    "Groq": (openai("Please reduce the length of the messages or completion.", code="context_length_exceeded"), 400, (None, None)),
    "Anthropic": (openai("prompt is too long: 210,000 tokens > 200,000 maximum"), 400, (200_000, 210_000)),
    "TGI": (
        {"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 5201", "error_type": "validation"},
        422,
        (4095, 5201),
    ),
    "a list": ([openai("The prompt is too long: 140000, model maximum context length: 131071")], 400, (131071, 140000)),
}


@pytest.mark.parametrize("server", WORDINGS)
def test_each_servers_message_is_understood(server: str) -> None:
    body, status, expected = WORDINGS[server]
    assert overflow_in(refusal(body, status)) == expected
    inside = json.dumps(body["error"] if isinstance(body, dict) and isinstance(body.get("error"), dict) else body)
    assert overflow_in(BackendError(ProductCode.BACKEND_REFUSED, inside)) == expected, "the same inside a stream"


@pytest.mark.parametrize(
    "error",
    [
        refusal(openai("Invalid API key"), 401),
        refusal(openai("Request too large for model on tokens per minute (TPM): Limit 8000, Requested 9000"), 413),
        refusal(openai("Please reduce the length of the messages or completion.", code="context_length_exceeded"), 429),
        refusal(openai("1 validation error: messages.0.content: input was [This model's maximum context length is 10 tokens]")),
        refusal(openai('Unsupported role in {"content": "prompt is too long: 9 tokens > 1 maximum"}')),
        refusal("<html>Bad gateway: This model's maximum context length is 10 tokens</html>", 502),
        refusal("[]"),
        refusal("{"),
        refusal(""),
        BackendError(Code.STREAM_TRUNCATED, VLLM),
        BackendError(ProductCode.TIMEOUT, VLLM),
    ],
)
def test_other_errors_are_not_mistaken_for_it(error: BackendError) -> None:
    assert overflow_in(error) is None


@pytest.mark.parametrize("number", ["0", "9" * 12, "-5", "1.5"])
def test_implausible_numbers_are_ignored(number: str) -> None:
    found = overflow_in(refusal(openai(f"This model's maximum context length is {number} tokens.")))
    assert found is not None and found[0] in (None, 1)


# Trimming a request that is too long: whole turns are left out, the oldest first, and no call without its reply.


INSTRUCTIONS = Frame(Header(Role.DEVELOPER), "Be kind. " * 20)


def question(text: str) -> Frame:
    return Frame(Header(Role.USER), text)


def answer(text: str) -> Frame:
    return Frame(ANSWER, text)


def call(call_id: str, text: str = "{}") -> Frame:
    return Frame(Header(Role.ASSISTANT, Channel.COMMENTARY, "functions.look", call_id), text, Terminator.CALL)


def reply(call_id: str, text: str = "found") -> Frame:
    return Frame(Header(Role.TOOL, Channel.COMMENTARY, "assistant", call_id, name="functions.look"), text)


def turn(number: int, words: int = 50) -> list[Frame]:
    return [question(f"Question {number}? " + "word " * words), answer(f"Answer {number}.")]


def long_request(turns: int = 20) -> SampleRequest:
    return SampleRequest((INSTRUCTIONS, *(frame for number in range(turns) for frame in turn(number)), question("And now?")))


def test_a_request_that_fits_is_unchanged() -> None:
    request = long_request()
    for most in (None, 1e9):
        found = fit(request, most)
        assert found.request is request and found.turns_left_out == 0 and not found.is_minimal


def test_the_oldest_turns_are_left_out_and_instructions_stay() -> None:
    whole = fit(long_request(), None).weight
    found = fit(long_request(), whole / 2)
    assert 5 < found.turns_left_out < 15 and found.weight <= whole / 2
    assert found.request.frames[0] == INSTRUCTIONS and found.request.frames[-1].body == "And now?"
    assert found.request.frames[1].body.startswith(f"Question {found.turns_left_out}?")


def test_the_last_question_and_the_instructions_are_never_left_out() -> None:
    found = fit(long_request(), 1)
    assert found.request.frames == (INSTRUCTIONS, question("And now?")) and found.turns_left_out == 20 and found.is_minimal


def test_an_answer_without_a_question_is_left_out_first_and_not_counted() -> None:
    request = SampleRequest((answer("Once upon a time. " * 200), *turn(0), question("And now?")))
    found = fit(request, fit(request, None).weight - 100)
    assert found.turns_left_out == 0 and found.request.frames[0].header.role == Role.USER


def test_a_cut_answer_loses_its_reasoning_first_and_then_its_beginning() -> None:
    thought = Frame(ANALYSIS, "hm " * 400)
    cut = answer("\n".join(f"Line {number} of the answer." for number in range(400)))
    request = SampleRequest((INSTRUCTIONS, *turn(0), question("Write a lot."), thought), cut_answer=cut)
    whole = fit(request, None).weight
    without_turns = fit(request, whole - 50)
    assert without_turns.turns_left_out == 1 and thought in without_turns.request.frames
    without_thought = fit(request, whole - 400)
    assert thought not in without_thought.request.frames and without_thought.request.cut_answer == cut
    shorter = fit(request, 1000)
    cut_answer = shorter.request.cut_answer
    assert cut_answer is not None and shorter.weight <= 1000 and cut.body.endswith(cut_answer.body) and cut_answer.body.startswith("Line ")
    assert shorter.request.frames == (INSTRUCTIONS, question("Write a lot."))
    assert not shorter.is_minimal and fit(request, 10).is_minimal
    assert weight((fit(request, 10).request.cut_answer or cut).body) > 40, "the model still sees where it continues"


def test_a_call_and_its_later_reply_are_left_out_together() -> None:
    request = SampleRequest((*turn(0), question("Look!"), call("c1"), question("Well?"), reply("c1"), answer("It is."), question("Now?")))
    _, turns = history.turns(request.frames)
    assert [history.questions(each) for each in turns] == [1, 2, 1]
    found = fit(request, 1)
    assert (found.request.frames, found.turns_left_out) == ((question("Now?"),), 3)


def test_fitting_takes_linear_time() -> None:
    short, long = long_request(500), long_request(5000)
    assert cost(lambda: fit(long, 1000)) < 30 * cost(lambda: fit(short, 1000))


def document(name: str, words: int = 300) -> Frame:
    return Frame(DOCUMENT, f'[Attached document "{name}", a text file.]\n\n' + "word " * words)


def test_a_document_stays_while_later_messages_are_left_out() -> None:
    request = SampleRequest(
        (INSTRUCTIONS, document("a.txt"), *(frame for number in range(20) for frame in turn(number)), question("And now?"))
    )
    whole = fit(request, None).weight
    found = fit(request, whole - 800)
    assert found.request.frames[:2] == (INSTRUCTIONS, document("a.txt")) and 5 < found.turns_left_out < 19
    assert found.request.frames[2].body.startswith(f"Question {found.turns_left_out}?") and found.weight <= whole - 800
    assert not fit(request, weight_of(request.frames[:2]) + 200).is_minimal, "the document could still go"


def test_a_document_that_does_not_fit_leaves_a_line_and_newer_ones_go_first() -> None:
    old, new = document("old.txt", 600), document("new.txt", 600)
    request = SampleRequest((old, *turn(0), new, *turn(1), question("And now?")))
    found = fit(request, fit(request, None).weight - 300)
    line, *others = found.request.frames
    assert line.header == DOCUMENT
    assert line.body == '[The document "old.txt" was attached here. It does not fit any more, so its text is left out.]'
    assert others == [*turn(0), new, *turn(1), question("And now?")] and found.turns_left_out == 1 and not found.is_minimal
    least = fit(request, 1)
    assert least.request.frames == (question("And now?"),) and least.turns_left_out == 2 and least.is_minimal


def test_documents_use_their_counted_tokens_not_the_learnt_ratio() -> None:
    table = document("table.csv", 20_000)
    request = SampleRequest((INSTRUCTIONS, table, question("Q1"), answer("A1"), question("Q2")), counted={table: 5_000})
    for factor in (0.5, 1.0, 2.0):
        found = fit(request, 6_000 / factor, factor)
        assert found.turns_left_out == 0 and found.weight * factor < 6_000 and found.counted * factor >= 5_000
    assert fit(replace(request, counted={}), 6_000).turns_left_out == 1, "the premise: by its characters it weighs far more"


TEXTS = st.sampled_from(["", "a", "word " * 40, "語" * 60])
IDS = st.sampled_from(["c1", "c2", "c3"])
FRAMES = st.one_of(
    st.builds(question, TEXTS),
    st.builds(answer, TEXTS),
    st.builds(lambda text: Frame(ANALYSIS, text), TEXTS),
    st.builds(call, IDS, TEXTS),
    st.builds(reply, IDS, TEXTS),
)


@settings(max_examples=example_count(100))
@given(st.lists(FRAMES, max_size=24), st.floats(0, 600), st.booleans())
def test_a_call_is_never_separated_from_its_reply(frames: list[Frame], most: float, is_cut: bool) -> None:
    seen = (INSTRUCTIONS, *history.frames_for_prompt([*frames, question("Now?")]))
    request = SampleRequest(seen, cut_answer=answer("It begins") if is_cut else None)
    found = fit(request, most)
    remaining = found.request.frames
    assert remaining[0] == INSTRUCTIONS and remaining[-1] == question("Now?")
    assert remaining[1:] == seen[len(seen) - len(remaining) + 1 :], "a part was left out in the middle"
    assert found.turns_left_out == history.questions(seen) - history.questions(remaining)
    assert found.weight <= max(most, found.weight if found.is_minimal else 0)
    written = sent("chat", SampleRequest(remaining))["messages"]
    call_ids = [each["id"] for message in written for each in message.get("tool_calls", [])]
    assert call_ids == [message["tool_call_id"] for message in written if message["role"] == "tool"]
    items = sent("responses", SampleRequest(remaining))["input"]
    called = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert called == [item["call_id"] for item in items if item["type"] == "function_call_output"]
    for position, frame in enumerate(remaining):
        if frame.header.role == Role.TOOL and frame.header.call_id is not None:
            before = [each.header.call_id for each in seen[: len(seen) - len(remaining) + position] if each.terminator is Terminator.CALL]
            here = [each.header.call_id for each in remaining[:position] if each.terminator is Terminator.CALL]
            assert frame.header.call_id in here or frame.header.call_id not in before, "its call was left out"


def test_a_whole_request_is_not_changed_by_its_own_weight() -> None:
    request = replace(long_request(3), cut_answer=answer("It begins"))
    found = fit(request, None)
    assert fit(request, found.weight).request is request
