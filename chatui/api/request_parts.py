"""The parts of a request that all API formats share: messages, calls and their results, and settings.

Message parts that a model cannot read are replaced by a note, not dropped. Calls are those of a program's own functions, and come back with
their results. The settings are the model, the reasoning effort, and access to raw reasoning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from chatui.accounts.api_keys import LiveKey
from chatui.api.errors import NOT_FOUND, ApiError, invalid, unsupported
from chatui.json_schemas import NAME
from chatui.model_servers import choice as model_choice
from chatui.model_servers.choice import ModelChoice
from chatui.tools.functions import model_name
from chatui.turns.asks import SAMPLING, EarlierCall, EarlierMessage, EarlierReply

# Without fail_fast, a hundred thousand wrong items would be as many errors, which take seconds, and only the first is reported.
MetadataName = Annotated[str, Field(max_length=64)]
MetadataText = Annotated[str, Field(max_length=512)]
"""As long as OpenAI's reference allows: both are stored, and come back in each response and event."""
MAX_METADATA = 16
Metadata = Annotated[dict[MetadataName, MetadataText], Field(max_length=MAX_METADATA, fail_fast=True)]
"""Texts of the program's own."""
Names = Annotated[list[str], Field(fail_fast=True)]
"""A list of names."""


ENCRYPTED = "reasoning.encrypted_content"
"""Asks for reasoning that only this server can read, to be sent back."""


def _names_reasoning(included: object) -> bool:
    names = included if isinstance(included, list | tuple) else [included]
    return any(isinstance(name, str) and name.startswith("reasoning") and name != ENCRYPTED for name in names)


RAW_REASONING_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "include": _names_reasoning,
    "include[]": _names_reasoning,
    "include_reasoning": lambda value: value is True or str(value).lower() == "true",
    "reasoning": lambda value: isinstance(value, dict) and value.get("exclude") is False,
}
"""How clients ask for raw reasoning, by field: in a body or a query, of whatever format and address."""


def asks_for_reasoning(fields: Mapping[str, Any]) -> bool:
    """Whether the fields of a body, or of a query (lists), ask for raw reasoning in any of these ways."""
    return any(name in fields and asks(fields[name]) for name, asks in RAW_REASONING_FIELDS.items())


MAX_STOP_TEXTS, STOP_CHARS = 16, 256
MAX_ANSWERS = 4
"""The most answers to one request."""
StopText = Annotated[str, Field(min_length=1, max_length=STOP_CHARS)]
WITHOUT = frozenset({"logprobs", "top_logprobs", "logit_bias"})
"""Fields that ask for something beside an answer, or for another choice of tokens: the answer comes without."""
MAX_IGNORED = 50
_FIELD_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,60}")
EMPTY: tuple[Any, ...] = (None, "", [], {})
NOTHING = (*EMPTY, False, 0)
"""Values that ask for nothing."""


def ignored_in(body: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    """The names of the fields in a body that ask for something and change nothing: those in WITHOUT, and all that are not ``known``. Names
    that cannot stand in a header are one name, ``other``."""
    asked = {name: value for name, value in body.items() if value not in (EMPTY if name not in WITHOUT else NOTHING)}
    names = [name for name in asked if name in WITHOUT or name not in known]
    return tuple(dict.fromkeys(map(safe_name, names)))[:MAX_IGNORED]


def safe_name(name: object) -> str:
    """The name, if it can stand in a header, otherwise ``other``."""
    return name if isinstance(name, str) and _FIELD_NAME.fullmatch(name) else "other"


def _range(name: str) -> Any:
    least, most = SAMPLING[name]
    return Field(ge=least, le=most)


class ProgramRequest(BaseModel):
    """The fields of a request in all formats that mean something here. Others are ignored, and named in a header of the response."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    messages_field: ClassVar[str]
    """The name of the field with the messages."""
    nests_functions: ClassVar[bool] = False
    """Whether a function is described in an object ``function`` inside of its tool."""
    model: str | None
    store: bool | None = None
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, _range("top_k")] | None = None
    min_p: Annotated[float, _range("min_p")] | None = None
    presence_penalty: Annotated[float, _range("presence_penalty")] | None = None
    frequency_penalty: Annotated[float, _range("frequency_penalty")] | None = None
    repetition_penalty: Annotated[float, _range("repetition_penalty")] | None = None
    seed: Annotated[int, _range("seed")] | None = None
    stop: str | Annotated[list[StopText], Field(max_length=MAX_STOP_TEXTS, fail_fast=True)] | None = Field(None, repr=False)
    top_logprobs: int | None = None
    service_tier: Literal["auto", "default", "flex", "priority", "scale"] | None = None
    metadata: Metadata | None = Field(None, repr=False)
    tools: list[Any] | None = Field(None, repr=False)
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    asks_for_reasoning: SkipJsonSchema[bool] = False
    """Whether the body asks for raw reasoning: not a field of it, whatever it says under this name."""
    ignored: SkipJsonSchema[tuple[str, ...]] = ()
    """The names of fields that ask for something and change nothing. Not a field either."""

    @model_validator(mode="before")
    @classmethod
    def _see_what_is_asked(cls, body: object) -> object:
        if not isinstance(body, dict):
            return body
        has_parts = any(isinstance(value, list | dict) for value in body.values())
        ignored = dict.fromkeys((*ignored_in(body, cls.names()), *(cls.ignored_inside(body) if has_parts else ())))
        return {**body, "asks_for_reasoning": asks_for_reasoning(body), "ignored": tuple(ignored)[:MAX_IGNORED]}

    @classmethod
    def ignored_inside(cls, body: Mapping[str, Any]) -> Iterable[str]:
        """The names of what asks for something and changes nothing inside of the fields of a body, whose types are not checked yet."""
        return ()

    @classmethod
    @cache
    def names(cls) -> frozenset[str]:
        """The names of the fields that a body may have."""
        own = {field.alias or name for name, field in cls.model_fields.items()}
        return frozenset(own - {"asks_for_reasoning", "ignored"} | RAW_REASONING_FIELDS.keys())

    @property
    def stop_texts(self) -> tuple[str, ...]:
        """The texts that end the visible answer."""
        return tuple([self.stop] if isinstance(self.stop, str) else self.stop or ()) if self.stop else ()

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The names of what it asks for and does not get: what changes nothing here, and stop texts where a call is required, as no
        answer is sent then."""
        has_stop = bool(self.stop_texts) and self.requires_call
        return (*self.ignored, *(["stop"] if has_stop else []))[:MAX_IGNORED]

    @property
    def requires_call(self) -> bool:
        """Whether the answer has to be a call."""
        choice = self.choice_of_functions
        if not isinstance(choice, Mapping):
            return bool(choice == "required")
        listed = choice.get("allowed_tools") if self.nests_functions else choice
        is_listed = choice.get("type") == "allowed_tools" and isinstance(listed, Mapping) and listed.get("mode") == "required"
        return is_listed or choice.get("type") == "function"

    @property
    def functions_and_others(self) -> list[Any]:
        """Its tools, each in its place: functions as these formats describe them, and tools of other types."""
        return self.tools or []

    @property
    def choice_of_functions(self) -> Any:
        """Which of the functions may be called, as these formats say it."""
        return self.tool_choice

    @property
    def is_parallel(self) -> bool:
        """Whether several calls may be made at once."""
        return self.parallel_tool_calls is not False

    @property
    def max_calls(self) -> int | None:
        """The most calls of the product's own tools; None for the product's limit."""
        return None

    @property
    def may_have_schemas(self) -> bool:
        """Whether it names functions or a format: to check their schemas may take seconds."""
        return not self.model_fields_set.isdisjoint(_WITH_SCHEMAS)

    def sampling(self) -> dict[str, float]:
        """The sampling parameters that it names, of those that any model server knows."""
        wished = {name: getattr(self, name) for name in SAMPLING}
        return {name: value for name, value in wished.items() if value is not None}

    def not_served(self) -> dict[str, str | bool]:
        """The sentence for each field that asks for something unsupported; False for a field that does not."""
        return {}

    def refuse_what_is_not_served(self) -> None:
        """Raises ApiError for the first field that asks for something unsupported."""
        for param, sentence in self.not_served().items():
            if isinstance(sentence, str):
                raise unsupported(param, sentence)


_WITH_SCHEMAS = frozenset({"tools", "text", "response_format", "output_config", "output_format"})
"""The fields of functions and of a format, in all API formats."""
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
        told = {name: value for name, value in item.items() if name not in ("id", "type") and value not in NOTHING}
        text = json.dumps(told, ensure_ascii=False)[:NOTE_CHARS]
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
    for place, call in enumerate(calls):
        at = f"{where}[{place}]"
        if not isinstance(call, Mapping) or call.get("type", "function") != "function":
            raise unsupported(at, "Only calls of functions can be gone on from.")
        take_call(read, call.get("id"), call.get("function"), at)


def _id(call_id: object, where: str) -> str:
    if not isinstance(call_id, str) or not 0 < len(call_id) <= CALL_ID_CHARS:
        raise invalid(f"A call has to have an id of at most {CALL_ID_CHARS} characters.", param=where)
    return call_id


EFFORTS = {"none": "low", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
"""The efforts that programs may request, with gpt-oss's terms. The response contains the one used."""


def choices_of(key: LiveKey) -> tuple[ModelChoice, ...]:
    """The models that a key may use. Reads the database."""
    return tuple(choice for choice in model_choice.choices_for(key.owner) if key.may_use(choice.value))


def choice_of(key: LiveKey, model: str | None) -> ModelChoice:
    """As ``chosen``, of all that the key may use. Reads the database."""
    return chosen(choices_of(key), model, key.models)


def chosen(choices: Iterable[ModelChoice], model: str | None, only: Sequence[str] = ()) -> ModelChoice:
    """The choice that a program names, by its id, or by the model's name if it is unique. If it names none: the default for new
    conversations, or the only model that its key is for (``only``: the ids of those). Never another in its place.

    Raises:
        ApiError: the key may not use such a model, or there is no default for it.
    """
    offered = list(choices)
    if not model:
        found = [choice for choice in offered if (choice.value in only if len(only) == 1 else choice.is_default)]
        if not found:
            words = "No default model is offered to this key. Name one of /v1/models."
            raise ApiError(404, NOT_FOUND, "model_not_found", words, param="model")
    else:
        found = [choice for choice in offered if choice.value == model]
        found = found or [choice for choice in offered if choice.model == model]
    if len(found) != 1:
        raise ApiError(404, NOT_FOUND, "model_not_found", "This key may ask for no such model; see /v1/models.", param="model")
    return found[0]
