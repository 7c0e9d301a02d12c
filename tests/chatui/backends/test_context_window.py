"""Recognizing that a prompt was too long from each server's error message, without mistaking other errors for it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from chatui.backends import failures
from chatui.backends.base import BackendError
from chatui.backends.context_window import Overflow, overflow_of
from chatui.codes import ProductCode
from renderer.errors import Code


def refusal(body: object, status: int = 400) -> BackendError:
    text = body if isinstance(body, str) else json.dumps(body)
    return failures.error_of_status(status, text, None, datetime.now(UTC))


def openai(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **fields}}


VLLM = (
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the "
    "completion). Please reduce the length of the messages or completion."
)
WORDINGS: dict[str, tuple[object, int, Overflow]] = {
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
        Overflow(512, 968),
    ),
    "llama.cpp, older": (
        openai("the request exceeds the available context size. try increasing the context size or enable context shift"),
        400,
        Overflow(),
    ),
    "llama-cpp-python": (openai("Requested tokens (5201) exceed context window of 4096"), 500, Overflow(4096, 5201)),
    "vLLM": ({"object": "error", "message": VLLM, "type": "BadRequestError", "code": 400}, 400, Overflow(4096, 4000)),
    "vLLM, newer": (
        openai(
            "This model's maximum context length is 4096 tokens. However, your request has 5012 input tokens. Please reduce the length "
            "of the input messages."
        ),
        400,
        Overflow(4096, 5012),
    ),
    "vLLM, answer": (
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your "
            "request has 12 input tokens (5000 > 4096 - 12)."
        ),
        400,
        Overflow(4096, 12),
    ),
    "vLLM, ids": (
        openai("The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is."),
        400,
        Overflow(4096, 5000),
    ),
    "vLLM, responses": (
        openai("The engine prompt length 5000 exceeds the max_model_len 4096. Please reduce prompt."),
        400,
        Overflow(4096, 5000),
    ),
    "OpenAI": (
        openai(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length "
            "of the messages.",
            code="context_length_exceeded",
        ),
        400,
        Overflow(8192, 9000),
    ),
    "OpenAI, responses": (
        openai("Your input exceeds the context window of this model. Please adjust your input and try again."),
        400,
        Overflow(),
    ),
    "SGLang": (
        {"object": "error", "message": "The input (5201 tokens) is longer than the model's context length (4096 tokens).", "code": 400},
        400,
        Overflow(4096, 5201),
    ),
    "SGLang, in all": (
        openai(
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5301 tokens: 5201 "
            "tokens from the input messages and 100 tokens for the completion."
        ),
        400,
        Overflow(4096, 5201),
    ),
    "LM Studio": (
        {
            "error": "Trying to keep the first 5201 tokens when context the overflows. However, the model is loaded with context length of "
            "only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"
        },
        400,
        Overflow(4096, 5201),
    ),
    "LM Studio, newer": (
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5201>= n_ctx: "
            "4096). Try to load the model with a larger context length, or provide a shorter input"
        },
        400,
        Overflow(4096, 5201),
    ),
    "Ollama": (openai("the input length exceeds the context length"), 400, Overflow()),
    "Ollama, native": ({"error": "input length exceeds maximum context length"}, 400, Overflow()),
    "transformers": ({"detail": "Input length of input_ids is 5000, but `max_length` is set to 4096."}, 400, Overflow(4096, 5000)),
    "LiteLLM": (
        openai(f"litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - {VLLM}"),
        400,
        Overflow(4096, 4000),
    ),
    "LiteLLM, quoting": (
        openai(f"litellm.BadRequestError: Hosted_vllmException - {VLLM}", code="400"),
        400,
        Overflow(4096, 4000),
    ),
    "OpenRouter": (
        openai(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, "
            "10000 in the output). Please reduce the length of either one."
        ),
        400,
        Overflow(131072, 130000),
    ),
    "Groq": (openai("Please reduce the length of the messages or completion.", code="context_length_exceeded"), 400, Overflow()),
    "Anthropic": (openai("prompt is too long: 210,000 tokens > 200,000 maximum"), 400, Overflow(200_000, 210_000)),
    "TGI": (
        {"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 5201", "error_type": "validation"},
        422,
        Overflow(4095, 5201),
    ),
    "a list": ([openai("The prompt is too long: 140000, model maximum context length: 131071")], 400, Overflow(131071, 140000)),
}


@pytest.mark.parametrize("server", WORDINGS)
def test_each_servers_message_is_understood(server: str) -> None:
    body, status, expected = WORDINGS[server]
    assert overflow_of(refusal(body, status)) == expected
    inside = json.dumps(body["error"] if isinstance(body, dict) and isinstance(body.get("error"), dict) else body)
    assert overflow_of(BackendError(ProductCode.BACKEND_REFUSED, inside)) == expected, "the same inside a stream"


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
    assert overflow_of(error) is None


@pytest.mark.parametrize("number", ["0", "9" * 12, "-5", "1.5"])
def test_implausible_numbers_are_ignored(number: str) -> None:
    found = overflow_of(refusal(openai(f"This model's maximum context length is {number} tokens.")))
    assert found is not None and found.limit in (None, 1)
