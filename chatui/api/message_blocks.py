"""The blocks of messages in Anthropic's format: text, pictures, calls of functions and what they replied, and thinking.

What a model here cannot be given becomes a note to it, or is refused by name, as in the other formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from chatui.api.errors import invalid, unsupported
from chatui.api.parsed_messages import IMAGE_NOTE, ParsedMessages, take_call, take_reply

FIELDS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text"}),
    "image": frozenset({"type", "source"}),
    "document": frozenset({"type", "source", "title", "context"}),
    "search_result": frozenset({"type", "source", "title", "content"}),
    "tool_reference": frozenset({"type", "tool_name"}),
    "tool_use": frozenset({"type", "id", "name", "input", "caller"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
}
"""The types of blocks that mean something here, and the fields that each has."""
FAILED = "[the tool failed]"
"""Stands before what a function replied that says so (``is_error``)."""
ELSEWHERE = re.compile(r"[a-z_]{1,40}_tool_(?:use|result)")
"""The types of blocks about tools that ran on another server: calls, and what they returned."""


def blocks_of(content: object) -> Iterator[Mapping[str, Any]]:
    """The blocks in the content of a message, as far as they are objects."""
    yield from (each for each in content if isinstance(each, Mapping)) if isinstance(content, list) else ()


def take_message(read: ParsedMessages, message: Mapping[str, Any], where: str) -> None:
    """Take a message. What functions replied comes first, wherever it stands in the message of the user: it belongs to the calls before.

    Raises:
        ApiError: a block is invalid, or cannot be given to a model.
    """
    role, content, at = message.get("role"), message.get("content"), f"{where}.content"
    if role not in ("user", "assistant", "system"):
        raise invalid("The role has to be user or assistant.", param=f"{where}.role")
    if isinstance(content, str):
        read.take(role, content, where)
        return
    if not isinstance(content, list):
        raise invalid("The content has to be text, or a list of blocks.", param=at)
    placed = [(_object(block, f"{at}[{index}]"), f"{at}[{index}]") for index, block in enumerate(content)]
    if role == "assistant":
        _take_answer(read, placed, where)
        return
    replies = [(block, place) for block, place in placed if block.get("type") == "tool_result"]
    for block, place in replies:
        take_reply(read, block.get("tool_use_id"), _reply(block, f"{place}.content"), place)
    texts = [_text(block, place) for block, place in placed if block.get("type") != "tool_result"]
    if texts or not replies:
        read.take(role, "\n".join(texts), where)


def _take_answer(read: ParsedMessages, placed: list[tuple[Mapping[str, Any], str]], where: str) -> None:
    """Take the blocks of an answer. Text before a call is a preamble."""
    last_call = max((index for index, (block, _) in enumerate(placed) if block.get("type") == "tool_use"), default=-1)
    for index, (block, place) in enumerate(placed):
        match block.get("type"):
            case "tool_use":
                arguments = block.get("input")
                if not isinstance(arguments, dict):
                    raise invalid("The input of a call has to be an object.", param=f"{place}.input")
                function = {"name": block.get("name"), "arguments": json.dumps(arguments, ensure_ascii=False)}
                take_call(read, block.get("id"), function, place)
            case "thinking":
                # Its text is lines of a summary, or another server's: what the model thought is in the signature, if it was sealed here.
                read.take_thought(None, block.get("signature"))
            case "redacted_thinking":
                pass  # another server's: nobody else can read it
            case str() as kind if ELSEWHERE.fullmatch(kind):
                read.take_note({"type": kind, **block})
            case _:
                read.take("assistant", _text(block, place), where, is_preamble=index < last_call)


def lines_of(content: object, where: str) -> Iterable[str]:
    """The texts of instructions: one, or that of each block."""
    if content is None or isinstance(content, str):
        return [content or ""]
    if not isinstance(content, list):
        raise invalid("It has to be text, or a list of blocks.", param=where)
    return [_text(_object(block, f"{where}[{index}]"), f"{where}[{index}]") for index, block in enumerate(content)]


def _object(block: object, where: str) -> Mapping[str, Any]:
    if not isinstance(block, Mapping):
        raise invalid("A block has to be an object.", param=where)
    return block


def _reply(block: Mapping[str, Any], where: str) -> str:
    text = "\n".join(lines_of(block.get("content"), where))
    return f"{FAILED}\n{text}".strip() if block.get("is_error") is True else text


def _text(block: Mapping[str, Any], where: str) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "text"}:
            raise invalid("The block has to have a text.", param=where)
        case {"type": "image"}:
            return IMAGE_NOTE
        case {"type": "tool_reference", "tool_name": str(name)}:
            return f"[tool: {name}]"
        case {"type": "search_result" | "document"}:
            head = [value for name in ("title", "context", "source") if isinstance(value := block.get(name), str) and value]
            return "\n".join([*head, _text_of_document(block, where)])
    raise unsupported(f"{where}.type", "Only blocks with text can be read here.")


def _text_of_document(block: Mapping[str, Any], where: str) -> str:
    match block:
        case {"type": "search_result", "content": list(content)}:
            return "\n".join(lines_of(content, f"{where}.content"))
        case {"source": {"type": "text", "data": str(text)}}:
            return text
        case {"source": {"type": "content", "content": content}}:
            return "\n".join(lines_of(content, f"{where}.source.content"))
    raise unsupported(f"{where}.source", "Files (document) cannot be sent to this API: send their text.")
