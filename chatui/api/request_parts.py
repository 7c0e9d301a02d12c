"""The fields of a request that all API formats share: settings of the answer, and the model that it names.

Also what a request asks for beside them: raw reasoning, in any way in which clients ask for it, and fields that change nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from chatui.accounts.key_admission import LiveKey
from chatui.api.errors import NOT_FOUND, ApiError, unsupported
from chatui.model_servers import choice as model_choice
from chatui.model_servers.choice import ModelChoice
from chatui.turns.asks import SAMPLING

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
        """The tools of the request, each in its place: functions as these formats describe them, and tools of other types."""
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
