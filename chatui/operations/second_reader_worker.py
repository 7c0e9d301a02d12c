"""The worker process that runs openai-harmony: JSON requests on standard input, JSON answers on standard output.

It is started as a file, isolated, and imports nothing of the product. openai-harmony's error messages may quote a conversation, so
errors are returned as words of a closed list, and standard error is discarded.

- ``{"read": [ids], "completion": bool}`` is answered by ``{"messages": [...]}``, each a message or ``{"problem": word}``. A completion
  begins after ``<|start|>assistant``.
- ``{"write": [messages]}`` is answered by ``{"ids": [[ids of a message] or null, ...], "whole": [ids]}``: null if it cannot be written;
  ``whole`` is the whole conversation, from which openai-harmony drops reasoning by itself, and empty if it cannot be written.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import openai_harmony as harmony

START = 200_006
NICENESS = 10
# The beginnings of openai-harmony's error messages, and our word for each. The rest of a message quotes the header.
PROBLEMS = {
    "Unknown role": "unknown-role",
    "unexpected tokens remaining in message header": "words-left-in-header",
    "Unexpected EOS while waiting for message header": "cut-header",
    "Unexpected token": "no-start",
    "channel marker present but no channel value": "empty-channel",
}
OTHER_PROBLEM = "unreadable"
_REFUSALS = (harmony.HarmonyError, OverflowError, RuntimeError, TypeError, ValueError)


def main() -> None:
    """Load the vocabulary, then answer each line of input, with low priority so that people's requests go first."""
    os.nice(NICENESS)
    try:
        encoding = harmony.load_harmony_encoding("HarmonyGptOss")
    except harmony.HarmonyError:
        _send({"error": "vocabulary"})
        return
    for line in sys.stdin:
        request = json.loads(line)
        if "read" in request:
            _send({"messages": list(_read(encoding, request["read"], is_completion=request["completion"]))})
        else:
            _send(_written(encoding, request["write"]))


def _send(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _read(encoding: Any, ids: list[int], *, is_completion: bool) -> Iterator[dict[str, Any]]:
    """Every message; after an unreadable one, reading continues at the next start token, where openai-harmony itself would stop."""
    role = harmony.Role.ASSISTANT if is_completion else None
    position = 0
    while position < len(ids) or role:
        parser = harmony.StreamableParser(encoding, role)
        problem, position = _feed_until_problem(parser, ids, position)
        yield from map(_as_json, parser.messages)
        if problem:
            yield {"problem": problem}
        role = None


def _feed_until_problem(parser: Any, ids: list[int], position: int) -> tuple[str, int]:
    """The problem, if any, and the position at which the next parser has to begin."""
    place = position
    try:
        for place in range(position, len(ids)):
            parser.process(ids[place])
        place = len(ids)
        parser.process_eos()
    except _REFUSALS as error:
        return _problem(error), next((later for later in range(place + 1, len(ids)) if ids[later] == START), len(ids))
    return "", len(ids)


def _problem(error: Exception) -> str:
    return next((word for beginning, word in PROBLEMS.items() if str(error).startswith(beginning)), OTHER_PROBLEM)


def _as_json(message: Any) -> dict[str, Any]:
    return {
        "role": message.author.role.value,
        "name": message.author.name,
        "channel": message.channel,
        "recipient": message.recipient,
        "content_type": message.content_type,
        "text": "".join(part.text for part in message.content),
    }


def _written(encoding: Any, raw: Iterable[dict[str, Any]]) -> dict[str, Any]:
    messages = [_message(one) for one in raw]
    return {"ids": [_ids(encoding, message) for message in messages], "whole": _whole_conversation(encoding, messages)}


def _message(raw: dict[str, Any]) -> Any:
    try:
        author = harmony.Author(role=harmony.Role(raw["role"]), name=raw["name"])
        changes = {name: raw[name] for name in ("channel", "recipient", "content_type")}
        return harmony.Message.from_author_and_content(author, raw["text"]).model_copy(update=changes)
    except _REFUSALS:
        return None


def _ids(encoding: Any, message: Any) -> list[int] | None:
    try:
        return list(encoding.render(message)) if message else None
    except _REFUSALS:
        return None


def _whole_conversation(encoding: Any, messages: list[Any]) -> list[int]:
    """The ids with openai-harmony's defaults, which drop reasoning before the first answer."""
    try:
        return list(encoding.render_conversation(harmony.Conversation.from_messages(messages)))
    except (*_REFUSALS, AttributeError):
        return []


if __name__ == "__main__":
    main()
