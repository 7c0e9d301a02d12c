"""Reads what an MCP server lists as its prompts, and what it returns for one (specification of 2025-11-25, server/prompts).

All of it is a stranger's text that comes to a person's message box, and from there, if they send it, to a model: so nothing in it is
invisible or a sign of a prompt format, and it is refused rather than cut. Only text of the person's own side is taken; of the rest, its
kinds are named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from chatui.json_schemas import listed_in
from chatui.tools.mcp.results import is_for_person
from chatui.tools.remote.offers import Moment, ResponseTooLongError, ServerError, cleaned
from renderer.characters import drop, is_seen

MAX_PROMPTS = 100
"""The most prompts of one server that people are shown."""
MAX_ARGUMENTS = 10
VALUE_CHARS = 8000
"""The most characters that are filled in for one argument."""
REMOTE_CHARS = 200
"""The most characters of a server's own name for a prompt or an argument, which is sent back as it is."""
NAME_CHARS = 100
WORDS_CHARS = 300
MAX_MESSAGES = 100
MAX_TEXT_CHARS = 100_000
_SIGN = re.compile(r"<\|+(?=\w)")


@dataclass(frozen=True, slots=True)
class Argument:
    """What a person fills in for a prompt."""

    remote: str
    """The server's name for it."""
    name: str
    """For people."""
    about: str = ""
    """For people."""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt that a person can take."""

    remote: str
    """The server's name for it."""
    name: str
    """For people."""
    about: str = ""
    """For people."""
    arguments: tuple[Argument, ...] = ()


class LeftOut(StrEnum):
    """What of a prompt does not come to the message box."""

    PICTURE = "picture"
    SOUND = "sound"
    FILE = "file"
    LINK = "link"
    ANSWER = "answer"
    PRIVATE = "private"
    OTHER = "other"


_KINDS = {"image": LeftOut.PICTURE, "audio": LeftOut.SOUND, "resource": LeftOut.FILE, "resource_link": LeftOut.LINK}


@dataclass(frozen=True, slots=True)
class Filled:
    """The text of a prompt for the message box. ``left_out``: the kinds of what is not in it."""

    text: str = field(repr=False)
    left_out: tuple[LeftOut, ...] = ()


def listed(entries: Sequence[Any]) -> list[ServerPrompt]:
    """The prompts of a list that a person can take, each name once. Left out are those without a usable name, and those with an argument
    that could not be filled in."""
    found: dict[str, ServerPrompt] = {}
    for prompt in filter(None, map(_prompt, entries)):
        found.setdefault(prompt.remote, prompt)
        if len(found) == MAX_PROMPTS:
            break
    return list(found.values())


def _prompt(each: Any) -> ServerPrompt | None:
    words = _words(each)
    # Before any of them is read: a list may have a hundred thousand.
    if words is None or len(arguments := listed_in(each, "arguments")) > MAX_ARGUMENTS:
        return None
    usable = [argument for argument in map(_argument, arguments) if argument is not None]
    is_usable = len(usable) == len(arguments) and len({argument.remote for argument in usable}) == len(usable)
    return ServerPrompt(*words, tuple(usable)) if is_usable else None


def _argument(each: Any) -> Argument | None:
    words = _words(each)
    return None if words is None else Argument(*words, each.get("required") is True)


def _words(each: Any) -> tuple[str, str, str] | None:
    """The server's name, that for people, and the description; None if the former cannot be used."""
    if not isinstance(each, Mapping) or is_for_person(each):
        return None
    remote, description = each.get("name"), each.get("description")
    if not isinstance(remote, str) or not 0 < len(remote) <= REMOTE_CHARS:
        return None
    texts = [cleaned(text, NAME_CHARS) for text in (each.get("title"), remote) if isinstance(text, str)]
    name = next(filter(is_seen, texts), "")
    return (remote, name, cleaned(description, WORDS_CHARS) if isinstance(description, str) else "") if name else None


def arguments(prompt: ServerPrompt, values: Sequence[str]) -> dict[str, str]:
    """What is sent for the values that were filled in, in the order of the arguments; nothing for one that is empty. Raises ValueError if a
    required one is, or one is too long."""
    given = dict(zip((each.remote for each in prompt.arguments), values, strict=False))
    filled = {name: value for name, value in given.items() if value.strip()}
    if any(each.is_required and each.remote not in filled for each in prompt.arguments):
        raise ValueError("a value is missing")
    if any(len(value) > VALUE_CHARS for value in filled.values()):
        raise ValueError("a value is too long")
    return filled


def filled(result: Mapping[str, Any]) -> Filled:
    """The text of a prompt: those of the person's own side, with an empty line between two messages. Raises ServerError if there is
    none, or ResponseTooLongError."""
    messages = listed_in(result, "messages")
    if len(messages) > MAX_MESSAGES:
        raise ResponseTooLongError("the server's prompt has too many messages", Moment.ANSWERED)
    texts: list[str] = []
    left_out: list[LeftOut] = []
    for each in messages if result.get("resultType", "complete") == "complete" else []:
        for part in _parts(each):
            if isinstance(part, LeftOut):
                left_out.append(part)
            else:
                texts.append(part)
    if sum(map(len, texts)) > MAX_TEXT_CHARS:
        raise ResponseTooLongError("the server's prompt is too long", Moment.ANSWERED)
    text = "\n\n".join(filter(is_seen, map(_cleaned, texts)))
    if not text:
        raise ServerError("the server returned no text that can be inserted", Moment.ANSWERED)
    return Filled(text, tuple(dict.fromkeys(left_out)))


def _parts(message: Any) -> list[str | LeftOut]:
    """A message has one part of content; some servers send a list of them."""
    if not isinstance(message, Mapping):
        return [LeftOut.OTHER]
    if message.get("role") != "user":
        return [LeftOut.ANSWER]
    content = message.get("content")
    return [_part(each) for each in (content if isinstance(content, list) else [content])]


def _part(part: Any) -> str | LeftOut:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return LeftOut.OTHER
    if is_for_person(part):
        return LeftOut.PRIVATE
    kind, text = part.get("type"), part.get("text")
    if kind == "text" and isinstance(text, str):
        return text
    return _KINDS.get(kind, LeftOut.OTHER) if isinstance(kind, str) else LeftOut.OTHER


def _cleaned(text: str) -> str:
    """Without what nobody sees, and without signs that begin or end a message where a model server reads them in a text."""
    return _SIGN.sub("<", drop("\n".join(line.rstrip() for line in text.splitlines()))).strip()
