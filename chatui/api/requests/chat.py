"""A request to ``/v1/chat/completions``: its fields, which of them are refused, and what a turn needs of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from chatui.api.errors import invalid, unsupported
from chatui.api.requests.messages import Read, text_of
from chatui.api.requests.settings import EFFORTS


class ChatRequest(BaseModel):
    """The fields of a request that mean something here. Others are hints, and are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    model: str | None = None
    messages: list[Any] = Field(repr=False)
    store: bool | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    max_tokens: Annotated[int, Field(gt=0, le=2**31 - 1)] | None = None
    max_completion_tokens: Annotated[int, Field(gt=0, le=2**31 - 1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    n: int | None = None
    stop: Any = None
    logit_bias: dict[str, Any] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    reasoning_effort: str | None = None
    reasoning: dict[str, Any] | None = None
    include_reasoning: bool | None = None
    metadata: dict[str, str] | None = Field(None, max_length=16, repr=False)
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    functions: list[Any] | None = None

    @property
    def most_tokens(self) -> int | None:
        """How long the answer may be."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to end with what was counted."""
        return bool((self.stream_options or {}).get("include_usage"))

    @property
    def effort(self) -> str | None:
        """How long the model may think, as gpt-oss knows it."""
        wished = self.reasoning_effort or (self.reasoning or {}).get("effort")
        if wished is None:
            return None
        if not isinstance(wished, str) or wished not in EFFORTS:
            raise invalid("The effort has to be low, medium or high.", param="reasoning_effort")
        return EFFORTS[wished]

    def sampling(self) -> dict[str, float]:
        """What is not left to the model server."""
        wished = {"temperature": self.temperature, "top_p": self.top_p}
        return {name: value for name, value in wished.items() if value is not None}

    def hidden_asked_for(self) -> list[str]:
        """Which of its fields ask for reasoning that no program gets."""
        asks = {"include_reasoning": self.include_reasoning, "reasoning.exclude": (self.reasoning or {}).get("exclude") is False}
        return [name for name, is_asked in asks.items() if is_asked]

    def refuse_what_is_not_served(self) -> None:
        """Raises ApiError for the first field that asks for something else than what would come."""
        wished = (self.response_format or {}).get("type", "text")
        refused = {
            "n": self.n not in (None, 1) and "One answer is written for each request.",
            "stop": bool(self.stop) and "Stop sequences are not served: they could cut inside hidden text.",
            "logit_bias": bool(self.logit_bias) and "The tokens of an answer cannot be biased here.",
            "logprobs": bool(self.logprobs or self.top_logprobs) and "Probabilities of tokens are not served: they would tell hidden text.",
            "presence_penalty": bool(self.presence_penalty) and "Penalties are not served.",
            "frequency_penalty": bool(self.frequency_penalty) and "Penalties are not served.",
            "response_format": wished != "text" and "Only plain text can be asked for here.",
            "modalities": self.modalities not in (None, ["text"]) and "Only text can be asked for here.",
            "tools": bool(self.tools) and "Tools cannot be offered to the model here yet.",
            "functions": bool(self.functions) and "Tools cannot be offered to the model here yet.",
            "tool_choice": self.tool_choice not in (None, "auto", "none") and "Without tools none can be chosen.",
        }
        for param, sentence in refused.items():
            if sentence:
                raise unsupported(param, sentence)

    def read(self) -> Read:
        """Its messages. Reasoning that a message brings is not told to the model again, under whatever name it stands."""
        read = Read()
        for index, message in enumerate(self.messages):
            where = f"messages[{index}]"
            if not isinstance(message, dict):
                raise invalid("A message has to be an object.", param=where)
            if message.get("role") in ("tool", "function") or message.get("tool_calls") or message.get("function_call"):
                raise unsupported(where, "Calls of tools cannot be gone on from here yet.")
            read.take(message.get("role"), text_of(message.get("content"), f"{where}.content"), where)
        return read

    def given(self, effort: str) -> dict[str, Any]:
        """Its settings, as a response would repeat them."""
        return {
            "format": "chat",
            "max_output_tokens": self.most_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "reasoning": {"effort": effort, "summary": None},
            "metadata": self.metadata or {},
        }
