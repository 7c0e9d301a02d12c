"""Parses a request to ``/v1/responses``: its fields, which of them are refused, and their conversion for a turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Annotated, Any, Literal, TypeGuard
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from chatui.answer_formats import AnswerFormat
from chatui.api import ignored_parts
from chatui.api.answer_format import echoed_format, parsed_format
from chatui.api.errors import NOT_FOUND, ApiError, invalid, unsupported
from chatui.api.parsed_messages import ParsedMessages, take_call, take_reply, text_of
from chatui.api.request_parts import EFFORTS, ENCRYPTED, Names, ProgramRequest
from chatui.api.response_object import THOUGHT, THOUGHT_OF_SCHEMA, PartType

ABSENT = frozenset(
    {
        "code_interpreter_call.outputs",
        "computer_call_output.output.image_url",
        "file_search_call.results",
        "message.input_image.image_url",
        "message.output_text.logprobs",
        "web_search_call.action.sources",
        "web_search_call.results",
    }
)
"""What may be included of items that no response here has, and of texts without it."""


class Reasoning(BaseModel):
    """How long the model may think, and whether the program wants summaries."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None


class ResponsesRequest(ProgramRequest):
    """The fields of a request for a response."""

    messages_field = "input"
    input: str | list[Any] | None = Field(None, repr=False)
    instructions: str | None = Field(None, repr=False)
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None
    background: bool | None = None
    max_output_tokens: Annotated[int, Field(gt=0, le=2**31 - 1)] | None = None
    reasoning: Reasoning | None = None
    include: Names | None = None
    text: dict[str, Any] | None = None
    max_tool_calls: Annotated[int, Field(gt=0, le=1000)] | None = None
    prompt: Any = None
    truncation: Literal["auto", "disabled"] | None = None
    stream_options: dict[str, Any] | None = None
    generate: bool | None = None
    reasoning_events: Literal["openai", "open_responses"] = Field("openai", alias="chatui:reasoning_events")

    @classmethod
    def ignored_inside(cls, body: Mapping[str, Any]) -> Iterable[str]:
        yield from ignored_parts.in_tools(body.get("tools"), are_nested=False)
        yield from ignored_parts.in_items(body.get("input"))
        yield from ignored_parts.unknown(body.get("text"), ("format",), "text.")
        yield from ignored_parts.unknown(body.get("reasoning"), (*Reasoning.model_fields, "exclude"), "reasoning.")
        yield from ignored_parts.unknown(body.get("stream_options"), ("include_usage", "include_obfuscation"), "stream_options.")

    @property
    def summary(self) -> str | None:
        """How detailed the program wants summaries; None if it wants none."""
        return self.reasoning.summary or self.reasoning.generate_summary if self.reasoning else None

    @property
    def thought(self) -> PartType:
        """The names of the events with raw reasoning, for a key that may read it."""
        return THOUGHT_OF_SCHEMA if self.reasoning_events == "open_responses" else THOUGHT

    @property
    def effort(self) -> str | None:
        return EFFORTS[self.reasoning.effort] if self.reasoning and self.reasoning.effort else None

    def answer_format(self) -> AnswerFormat | None:
        return parsed_format((self.text or {}).get("format"), "text.format", is_nested=False)

    @property
    def wants_sealed(self) -> bool:
        """Whether it wants encrypted reasoning, to send back itself."""
        return ENCRYPTED in (self.include or ())

    def not_served(self) -> dict[str, str | bool]:
        included = [name for name in self.include or () if not name.startswith("reasoning") and name not in ABSENT]
        return super().not_served() | {
            "background": bool(self.background) and self.store is False and "What is written in the background has to be stored.",
            "conversation": bool(self.conversation and self.previous_response_id)
            and "A request continues a conversation or a response, not both.",
            "prompt": self.prompt is not None and "There are no stored prompts here.",
            "include": bool(included) and "Nothing can be included here.",
        }

    @property
    def max_calls(self) -> int | None:
        return self.max_tool_calls

    def references(self) -> list[object]:
        return [item.get("id") for item in items_of(self.input) if is_reference(item)]

    def read(self) -> ParsedMessages:
        return read_items(items_of(self.input), "input")

    def previous(self) -> UUID | None:
        """The response that it continues. An invalid id gets the same error as one that does not exist."""
        if not self.previous_response_id:
            return None
        try:
            return UUID(self.previous_response_id.removeprefix("resp_"))
        except ValueError:
            raise no_previous() from None

    @property
    def conversation_id(self) -> object:
        """The public id of the conversation that it continues, as it was sent."""
        return self.conversation.get("id") if isinstance(self.conversation, dict) else self.conversation or None

    def continued(self) -> UUID | None:
        """The conversation that it continues. An invalid id gets the same error as one that does not exist."""
        if self.conversation is None:
            return None
        if (found := conversation_key(self.conversation_id)) is None:
            raise no_conversation()
        return found

    def echoed_settings(self, effort: str) -> dict[str, Any]:
        """The settings of the request, as the response repeats them."""
        return {
            "format": "responses",
            "conversation": self.conversation_id,
            "instructions": self.instructions,
            "previous_response_id": self.previous_response_id,
            "max_output_tokens": self.max_output_tokens,
            **self.sampling(),
            "reasoning": {"effort": effort, "summary": self.summary},
            "metadata": self.metadata or {},
            "store": self.store is not False,
            "background": bool(self.background),
            "text": {"format": echoed_format(self.text)},
            "truncation": self.truncation or "disabled",
        }


def items_of(given: str | list[Any] | None) -> list[Any]:
    """The items of an input: text alone is a message of the user."""
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())


def read_items(items: list[Any], where: str) -> ParsedMessages:
    """The messages in these items; ``where``: the field that they stand in."""
    read = ParsedMessages()
    for index, (item, following) in enumerate(zip_longest(items, items[1:])):
        _take(read, item, following, f"{where}[{index}]")
    return read


def no_previous() -> ApiError:
    """The error for a previous response that does not exist, belongs to somebody else, or was not stored."""
    sentence = "There is no such response to go on from, or it is not yours."
    return ApiError(404, NOT_FOUND, "previous_response_not_found", sentence, param="previous_response_id")


CONVERSATION = "conv_"


def conversation_key(public_id: object) -> UUID | None:
    """The key of the conversation with this public id; None for anything else."""
    if not isinstance(public_id, str) or not public_id.startswith(CONVERSATION):
        return None
    try:
        return UUID(public_id.removeprefix(CONVERSATION))
    except ValueError:
        return None


def no_conversation() -> ApiError:
    """The error for a conversation that does not exist, or that another key began."""
    sentence = "There is no such conversation, or this key did not begin it."
    return ApiError(404, NOT_FOUND, "conversation_not_found", sentence, param="conversation")


def is_reference(item: object) -> TypeGuard[dict[str, Any]]:
    """Whether an item of the input stands for a stored one. Some libraries leave its type out."""
    return isinstance(item, dict) and (item.get("type") == "item_reference" or (item.keys() <= {"id", "type"} and item.get("type") is None))


_ELSEWHERE = re.compile(r"[a-z_]{1,40}_call(_output)?|mcp_[a-z_]{1,40}")
"""The types of items about tools that are not here: calls, and what they returned."""


def _take(read: ParsedMessages, item: Any, following: Any, where: str) -> None:
    if not isinstance(item, dict):
        raise invalid("An item has to be an object.", param=where)
    kind = item.get("type", "message" if "role" in item else None)
    if isinstance(kind, str) and ":" in kind:
        return  # an extension, ours or another implementation's: a receipt that no model reads
    if kind == "message":
        text = text_of(item.get("content"), f"{where}.content")
        # A client that knows no phases leaves them out: what stands before a call is no answer.
        calls_next = isinstance(following, dict) and following.get("type") == "function_call"
        is_preamble = calls_next if item.get("phase") is None else item["phase"] == "commentary"
        read.take(item.get("role"), text, where, is_preamble=is_preamble)
    elif kind == "function_call":
        take_call(read, item.get("call_id"), item, where)
    elif kind == "function_call_output":
        take_reply(read, item.get("call_id"), item.get("output"), f"{where}.output")
    else:
        _take_other(read, item, kind, where)


def _take_other(read: ParsedMessages, item: dict[str, Any], kind: object, where: str) -> None:
    if kind == "reasoning":
        read.take_thought(item.get("content"), item.get("encrypted_content"))
    elif kind == "compaction":
        read.take_sealed(item.get("encrypted_content"))
    elif isinstance(kind, str) and _ELSEWHERE.fullmatch(kind):
        read.take_note(item)
    else:
        raise unsupported(f"{where}.type", "Items of this type are not known here.")
