"""Parses a request to ``/v1/messages``, Anthropic's format: its fields, which of them are refused, and their conversion for a turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chatui.answer_formats import AnswerFormat
from chatui.api import request_parts
from chatui.api.answer_format import parsed_format
from chatui.api.errors import invalid
from chatui.api.ignored_parts import cut_description, cut_note, objects_in, unknown
from chatui.api.message_blocks import ELSEWHERE, FIELDS, blocks_of, lines_of, take_message
from chatui.api.parsed_messages import ParsedMessages
from chatui.api.request_parts import EFFORTS, MAX_METADATA, MAX_STOP_TEXTS, MetadataName, MetadataText, ProgramRequest, StopText

TOOL_FIELDS = frozenset({"type", "name", "description", "input_schema", "strict"})
FUNCTION_TYPES = (None, "custom")
"""The types of a program's own functions. Tools of other types are Anthropic's, with versions in their names."""
CHOICES = {"auto": "auto", "any": "required", "none": "none"}


DISPLAYS = ("summarized", "updates", "omitted")
"""How blocks about thinking may be asked for. The first two are the same here; another one shows the lines as well, and is named."""


class Thinking(BaseModel):
    """Whether the program wants blocks about the model's thinking, and with the lines of the summary in them. ``between_tools``: little
    thinking, but what is told of it."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    type: Literal["enabled", "adaptive", "between_tools", "disabled"]
    display: str | None = None


class OutputConfig(BaseModel):
    """The effort, and the required format."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: dict[str, Any] | None = None


class CountedMessages(ProgramRequest):
    """The fields of a request to count tokens: those of a message, but for the fields of its answer."""

    messages_field = "messages"
    messages: list[Any] = Field(repr=False)
    system: str | list[Any] | None = Field(None, repr=False)
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    output_format: dict[str, Any] | None = None
    mcp_servers: list[Any] | None = None
    thread: dict[str, Any] | None = None
    compaction: dict[str, Any] | None = None
    metadata: dict[MetadataName, MetadataText | None] | None = Field(  # type: ignore[assignment] # one with None as well
        None, max_length=MAX_METADATA, repr=False
    )
    service_tier: Literal["auto", "standard_only"] | None = None  # type: ignore[assignment] # other names than OpenAI's

    @classmethod
    def ignored_inside(cls, body: Mapping[str, Any]) -> Iterable[str]:
        for tool in objects_in(body.get("tools")):
            kind = tool.get("type")
            if kind not in FUNCTION_TYPES:
                yield f"tools.{request_parts.safe_name(kind)}"
            else:
                yield from unknown(tool, TOOL_FIELDS)
                yield from cut_description(tool)
        for message in objects_in(body.get("messages")):
            yield from _ignored_in_blocks(message.get("content"))
        yield from _ignored_in_blocks(body.get("system"))
        thinking = body.get("thinking")
        if isinstance(thinking, Mapping) and thinking.get("display") not in (None, *DISPLAYS):
            yield "thinking.display"
        for name, model in (("thinking", Thinking), ("output_config", OutputConfig)):
            value = body.get(name)
            known = model.model_fields.keys()
            yield from unknown(value, known, f"{name}.")

    @property
    def functions_and_others(self) -> list[Any]:
        return [_function(tool) for tool in self.tools or ()]

    @property
    def choice_of_functions(self) -> Any:
        choice = self.tool_choice
        if choice is None:
            return None
        kind = choice.get("type") if isinstance(choice, Mapping) else None
        if kind == "tool":
            return {"type": "function", "name": choice.get("name")}
        if not isinstance(kind, str) or kind not in CHOICES:
            raise invalid("The choice has to be an object of the type auto, any, tool or none.", param="tool_choice")
        return CHOICES[kind]

    @property
    def is_parallel(self) -> bool:
        choice = self.tool_choice
        return super().is_parallel and not (isinstance(choice, Mapping) and choice.get("disable_parallel_tool_use") is True)

    @property
    def wants_thinking(self) -> bool:
        """Whether the answer has blocks about its thinking. None contains reasoning, so that asking for them is allowed to every key."""
        return self.thinking is not None and self.thinking.type != "disabled"

    @property
    def wants_lines(self) -> bool:
        """Whether these blocks have the lines of the summary."""
        return self.wants_thinking and self.thinking is not None and self.thinking.display != "omitted"

    @property
    def effort(self) -> str | None:
        if self.output_config and self.output_config.effort:
            return EFFORTS[self.output_config.effort]
        return EFFORTS["none"] if self.thinking is not None and self.thinking.type in ("between_tools", "disabled") else None

    def answer_format(self) -> AnswerFormat | None:
        nested = self.output_config.format if self.output_config else None
        place = "output_config.format" if nested is not None else "output_format"
        return parsed_format(nested if nested is not None else self.output_format, place, is_nested=False)

    def not_served(self) -> dict[str, str | bool]:
        return super().not_served() | {
            "mcp_servers": bool(self.mcp_servers) and "This server connects to no tool servers that a request names.",
            "thread": self.thread is not None and "This server keeps no threads: send the whole conversation.",
            "compaction": self.compaction is not None and "This server writes no notes on a conversation in this format.",
        }

    def read(self) -> ParsedMessages:
        read = ParsedMessages()
        read.orders += [text for text in lines_of(self.system, "system") if text]
        for index, message in enumerate(self.messages):
            where = f"messages[{index}]"
            if not isinstance(message, dict):
                raise invalid("A message has to be an object.", param=where)
            take_message(read, message, where)
        return read


class MessagesRequest(CountedMessages):
    """The fields of a request for a message."""

    max_tokens: Annotated[int, Field(gt=0, le=2**31 - 1)]
    stop_sequences: Annotated[list[StopText], Field(max_length=MAX_STOP_TEXTS, fail_fast=True)] | None = Field(None, repr=False)

    @property
    def token_limit(self) -> int | None:
        return self.max_tokens

    @property
    def stop_texts(self) -> tuple[str, ...]:
        return (*super().stop_texts, *(self.stop_sequences or ()))

    def echoed_settings(self, effort: str) -> dict[str, Any]:
        """The settings of the request, as a response would repeat them."""
        return {
            "format": "messages",
            "max_output_tokens": self.max_tokens,
            **self.sampling(),
            "reasoning": {"effort": effort, "summary": "auto" if self.wants_lines else None},
            "metadata": {name: value or "" for name, value in (self.metadata or {}).items()},
        }


def _function(tool: Any) -> Any:
    """A tool as the other formats describe it."""
    if not isinstance(tool, Mapping) or tool.get("type") not in FUNCTION_TYPES:
        return tool
    described = {"type": "function", "parameters": tool.get("input_schema")}
    return described | {name: tool.get(name) for name in ("name", "description", "strict")}


def _ignored_in_blocks(content: object) -> Iterator[str]:
    for block in blocks_of(content):
        kind = block.get("type")
        if isinstance(kind, str) and kind in FIELDS:
            yield from unknown(block, FIELDS[kind])
            yield from _ignored_in_blocks(block.get("content"))
        elif isinstance(kind, str) and ELSEWHERE.fullmatch(kind):
            yield from cut_note(block, "messages.")
