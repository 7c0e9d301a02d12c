"""Parses the messages of an API request: text, or content parts. Parts that a model cannot read are replaced by a note, not dropped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chatui.api.errors import ApiError, invalid, unsupported
from chatui.turns.requests.by_program import EarlierCall, EarlierMessage, EarlierReply

IMAGE_NOTE = "[an image was attached; this model cannot see images]"
MAX_MESSAGES = 1000
"""The most messages in one request. Each is a row, which every later turn reads."""
_TEXTS = {"text", "input_text", "output_text", "refusal"}
_IMAGES = {"image_url", "input_image"}


@dataclass(slots=True)
class ParsedMessages:
    """The parsed messages of a request: the program's instructions (``orders``), the earlier messages, and the question. ``calls``: the
    ids of calls in the earlier messages."""

    orders: list[str] = field(default_factory=list, repr=False)
    messages: list[EarlierMessage | EarlierCall | EarlierReply] = field(default_factory=list, repr=False)
    calls: set[str] = field(default_factory=set)

    def take(self, role: object, text: str, where: str, *, is_preamble: bool = False) -> None:
        """One message, in order."""
        match role:
            case "user":
                self.messages.append(EarlierMessage(text, is_person=True))
            case "assistant":
                # An answer without text only called tools or reasoned.
                if text:
                    self.messages.append(EarlierMessage(text, is_preamble=is_preamble))
            case "system" | "developer":
                self.orders.append(text)
            case _:
                raise invalid("The role has to be user, assistant, system or developer.", param=f"{where}.role")

    def take_sealed(self, token: object, *, is_compacted: bool = False) -> None:
        """Take a sealed token. Other fields of its item are ignored, because anybody could have written them."""
        if isinstance(token, str) and token:
            self.messages.append(EarlierMessage("", sealed=token, is_compacted=is_compacted))

    def question(self, where: str, *, goes_on: bool) -> tuple[tuple[EarlierMessage | EarlierCall | EarlierReply, ...], str | None]:
        """The earlier messages, and the question; None if the last message is a function result.

        ``goes_on``: the request continues a response.

        Raises:
            ApiError: the last message is something else, there are too many, or a result has no call.
        """
        if len(self.messages) > MAX_MESSAGES:
            raise invalid(f"A request may have {MAX_MESSAGES} messages.", param=where, code="too_many_messages")
        if not goes_on and any(isinstance(each, EarlierReply) and each.call_id not in self.calls for each in self.messages):
            raise unknown_call(where)
        match self.messages[-1:]:
            case [EarlierMessage(is_person=True, text=text)]:
                return tuple(self.messages[:-1]), text
            case [EarlierReply()] if goes_on or any(isinstance(each, EarlierMessage) and each.is_person for each in self.messages):
                return tuple(self.messages), None
        raise invalid("The last has to be a message of the user, or what a function replied to a call in an answer.", param=where)


def unknown_call(where: str) -> ApiError:
    """The error for a function result without a waiting call."""
    return invalid(
        "A function is said to have replied to a call that there is not, or that has its reply.", param=where, code="unknown_call"
    )


def text_of(content: object, where: str) -> str:
    """The text of a message's content."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise invalid("The content has to be text, or a list of parts.", param=where)
    return "\n".join(_part(part, f"{where}[{index}]") for index, part in enumerate(content))


def _part(part: Any, where: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    kind = kind if isinstance(kind, str) else None
    if kind in _TEXTS:
        text = part.get("refusal" if kind == "refusal" else "text")
        if isinstance(text, str):
            return text
        raise invalid("The part has to have a text.", param=where)
    if kind in _IMAGES:
        return IMAGE_NOTE
    raise unsupported(f"{where}.type", "Only parts with text can be read here.")
