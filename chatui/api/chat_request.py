"""Parses a request to ``/v1/chat/completions``: its fields, which of them are refused, and their conversion for a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from chatui.answer_formats import AnswerFormat
from chatui.api import ignored_parts
from chatui.api.answer_format import parsed_format
from chatui.api.errors import invalid, unsupported
from chatui.api.parsed_messages import ParsedMessages, take_reply, take_tool_calls, text_of
from chatui.api.request_parts import EFFORTS, MAX_ANSWERS, Names, ProgramRequest


class ChatRequest(ProgramRequest):
    """The fields of a request for a chat completion."""

    messages_field = "messages"
    nests_functions = True
    messages: list[Any] = Field(repr=False)
    stream_options: dict[str, Any] | None = None
    max_tokens: Annotated[int, Field(gt=0, le=2**31 - 1)] | None = None
    max_completion_tokens: Annotated[int, Field(gt=0, le=2**31 - 1)] | None = None
    n: Annotated[int, Field(ge=1, le=MAX_ANSWERS)] | None = None
    logit_bias: dict[str, Any] | None = None
    logprobs: bool | None = None
    reasoning_effort: str | None = None
    reasoning: dict[str, Any] | None = None
    include_reasoning: Any = None
    response_format: dict[str, Any] | None = None
    modalities: Names | None = None
    functions: list[Any] | None = None
    function_call: Any = None

    @classmethod
    def ignored_inside(cls, body: Mapping[str, Any]) -> Iterable[str]:
        yield from ignored_parts.in_tools(body.get("tools"), are_nested=True)
        yield from ignored_parts.in_messages(body.get("messages"))
        yield from ignored_parts.unknown(body.get("reasoning"), ("effort", "exclude", "enabled"), "reasoning.")
        yield from ignored_parts.unknown(body.get("stream_options"), ("include_usage", "include_obfuscation"), "stream_options.")

    @property
    def token_limit(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with the token counts."""
        return bool((self.stream_options or {}).get("include_usage"))

    @property
    def wants_reasoning(self) -> bool:
        """Whether a key that may read raw reasoning gets it. The right itself asks for it, but whatever may mean no is a no."""
        wished = self.reasoning or {}
        is_excluded = wished.get("exclude", False) not in (None, False) or wished.get("enabled", True) not in (None, True)
        return not is_excluded and self.include_reasoning in (None, True, "true")

    @property
    def effort(self) -> str | None:
        wished = self.reasoning_effort or (self.reasoning or {}).get("effort")
        if wished is None:
            return None
        if not isinstance(wished, str) or wished not in EFFORTS:
            raise invalid("The effort has to be low, medium or high.", param="reasoning_effort")
        return EFFORTS[wished]

    def answer_format(self) -> AnswerFormat | None:
        return parsed_format(self.response_format, "response_format", is_nested=True)

    def not_served(self) -> dict[str, str | bool]:
        return super().not_served() | {
            "modalities": self.modalities not in (None, ["text"]) and "Only text can be asked for here.",
            "functions": bool(self.functions) and "Functions are offered as tools here.",
            "function_call": self.function_call not in (None, "auto", "none") and "Functions are chosen by tool_choice here.",
        }

    def read(self) -> ParsedMessages:
        read = ParsedMessages()
        for index, message in enumerate(self.messages):
            where = f"messages[{index}]"
            if not isinstance(message, dict):
                raise invalid("A message has to be an object.", param=where)
            if message.get("role") == "function" or message.get("function_call"):
                raise unsupported(where, "Calls are gone on from by tool_calls, and messages of the role tool.")
            _take(read, message, where)
        return read

    def echoed_settings(self, effort: str) -> dict[str, Any]:
        """The settings of the request, as a response would repeat them."""
        return {
            "format": "chat",
            "max_output_tokens": self.token_limit,
            **self.sampling(),
            "reasoning": {"effort": effort, "summary": None},
            "metadata": self.metadata or {},
        }


def _take(read: ParsedMessages, message: dict[str, Any], where: str) -> None:
    content = message.get("content")
    if message.get("role") == "tool":
        take_reply(read, message.get("tool_call_id"), content, f"{where}.content")
        return
    if message.get("role") == "assistant":
        # Some servers and clients have another name for it.
        read.take_thought(message.get("reasoning") or message.get("reasoning_content"))
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    # Text beside calls is a preamble.
    read.take(message.get("role"), text_of(content, f"{where}.content"), where, is_preamble=bool(calls))
    if calls:
        take_tool_calls(read, calls, f"{where}.tool_calls")
