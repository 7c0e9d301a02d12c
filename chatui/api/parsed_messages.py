"""The messages, calls and results that a program sends, in all API formats, on their way to the turn that they begin.

Parts that a model cannot read are replaced by a note, not dropped. Calls are those of a program's own functions, and come back with their
results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chatui.api.errors import ApiError, invalid, unsupported
from chatui.api.request_parts import NOTHING
from chatui.json_schemas import NAME
from chatui.tools.functions import model_name
from chatui.turns.asks import EarlierCall, EarlierMessage, EarlierReply

NOTE_CHARS = 4000
IMAGE_NOTE = "[an image was attached; this model cannot see images]"
MAX_MESSAGES = 1000
"""The most messages in one request. Each is a row, which every later turn reads."""
_TEXTS = {"text", "input_text", "output_text", "refusal"}
_IMAGES = {"image_url", "input_image"}
_UPLOADS = {
    **{kind: f"Files ({kind}) cannot be sent to this API: send their text." for kind in ("input_file", "file")},
    "input_audio": "Sound (input_audio) cannot be sent to this API: send what was said as text.",
    "input_video": "Films (input_video) cannot be sent to this API.",
}
"""Parts that no model here can be given, by name: an answer without them would be about something else."""


@dataclass(slots=True)
class ParsedMessages:
    """The parsed messages of a request."""

    orders: list[str] = field(default_factory=list, repr=False)
    """The program's instructions."""
    places: list[int] = field(default_factory=list)
    """After how many of ``messages`` each instruction stands."""
    messages: list[EarlierMessage | EarlierCall | EarlierReply] = field(default_factory=list, repr=False)
    """The earlier messages and the question, in order."""
    calls: set[str] = field(default_factory=set)
    """The ids of calls in the earlier messages."""
    asks_by_itself: bool = False
    """Whether the last item was an instruction, or a note, which may be answered without a message of the user."""

    def take(self, role: object, text: str, where: str, *, is_preamble: bool = False) -> None:
        """Add one message. ``where``: its place in the request, for the error about an unknown role. Raises ApiError."""
        self.asks_by_itself = role in ("system", "developer")
        match role:
            case "user":
                self.messages.append(EarlierMessage(text, is_person=True))
            case "assistant":
                # An answer without text only called tools or reasoned.
                if text:
                    self.messages.append(EarlierMessage(text, is_preamble=is_preamble))
            case "system" | "developer":
                self.orders.append(text)
                self.places.append(len(self.messages))
            case _:
                raise invalid("The role has to be user, assistant, system or developer.", param=f"{where}.role")

    def take_thought(self, content: object, token: object = None) -> None:
        """Take reasoning that the program sends back: what a token of this server holds, or else the program's own text, in which anything
        but text is ignored. A model reads it as reasoning until there is an answer, and nobody else reads it."""
        parts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
        text = "\n".join(part for part in parts if isinstance(part, str))
        sealed = token if isinstance(token, str) else ""
        if text or sealed:
            self.messages.append(EarlierMessage(text, is_thought=True, sealed=sealed))

    def take_sealed(self, token: object) -> None:
        """Take a sealed conversation. Other fields of its item are ignored, because anybody could have written them."""
        if isinstance(token, str) and token:
            self.messages.append(EarlierMessage("", sealed=token, is_compacted=True))

    def take_note(self, item: Mapping[str, Any]) -> None:
        """Take an item of a session that began elsewhere, such as a search: the model is told what it says of itself."""
        fields = {name: value for name, value in item.items() if name not in ("id", "type") and value not in NOTHING}
        text = json.dumps(fields, ensure_ascii=False)[:NOTE_CHARS]
        self.messages.append(EarlierMessage(f"[{item['type']}: {text}]", is_preamble=True))
        self.asks_by_itself = True

    @property
    def is_prefilled(self) -> bool:
        """Whether it ends with the beginning of an answer to one of its messages."""
        last = self.messages[-1] if self.messages and not self.asks_by_itself else None
        is_begun = isinstance(last, EarlierMessage) and not (last.is_person or last.is_preamble or last.is_thought or last.is_compacted)
        return is_begun and any(isinstance(each, EarlierMessage) and each.is_person for each in self.messages)

    def question(
        self, where: str, *, goes_on: bool, has_orders: bool = False, continues: bool = False
    ) -> tuple[tuple[EarlierMessage | EarlierCall | EarlierReply, ...], str | None]:
        """The earlier messages, and the question; None if the last message is a function result. It is empty where the user says nothing:
        after instructions alone, or last.

        ``goes_on``: the request continues a response. ``has_orders``: it has instructions beside the messages. ``continues``: the answer
        that comes last is continued (``is_prefilled``).

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
        if continues and self.is_prefilled:
            return tuple(self.messages), None
        if self.asks_by_itself or (has_orders and not self.messages):
            return tuple(self.messages), ""
        if self.messages and isinstance(self.messages[-1], EarlierMessage | EarlierCall):
            sentence = "An answer cannot be continued here: the last has to be a message of the user, an instruction or a function's reply."
            raise unsupported(where, sentence)
        raise invalid("The last has to be a message of the user, or what a function replied to a call in an answer.", param=where)


def unknown_call(where: str) -> ApiError:
    """The error for a function result without a waiting call."""
    return invalid(
        "A function is said to have replied to a call that there is not, or that has its reply.", param=where, code="unknown_call"
    )


def text_of(content: object, where: str) -> str:
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
    raise unsupported(f"{where}.type", _UPLOADS.get(kind or "", "Only parts with text can be read here."))


CALL_ID_CHARS = 128


def take_call(read: ParsedMessages, call_id: object, function: object, where: str) -> None:
    """A call: ``function`` has its name and its arguments."""
    name = function.get("name") if isinstance(function, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise invalid("A call has to have the name of a function.", param=f"{where}.name")
    if not isinstance(arguments, str):
        raise invalid("The arguments of a call have to be JSON as text.", param=f"{where}.arguments")
    read.asks_by_itself = False
    read.calls.add(_id(call_id, where))
    read.messages.append(EarlierCall(_id(call_id, where), model_name(name), arguments))


def take_reply(read: ParsedMessages, call_id: object, output: Any, where: str) -> None:
    read.messages.append(EarlierReply(_id(call_id, where), text_of(output, where)))
    read.asks_by_itself = False


def take_tool_calls(read: ParsedMessages, calls: object, where: str) -> None:
    if not isinstance(calls, list):
        raise invalid("The calls have to be a list.", param=where)
    for index, call in enumerate(calls):
        at = f"{where}[{index}]"
        if not isinstance(call, Mapping) or call.get("type", "function") != "function":
            raise unsupported(at, "Only calls of functions can be gone on from.")
        take_call(read, call.get("id"), call.get("function"), at)


def _id(call_id: object, where: str) -> str:
    if not isinstance(call_id, str) or not 0 < len(call_id) <= CALL_ID_CHARS:
        raise invalid(f"A call has to have an id of at most {CALL_ID_CHARS} characters.", param=where)
    return call_id
