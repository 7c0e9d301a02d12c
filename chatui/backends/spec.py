"""BackendSpec: the checked configuration of one model server, and how a person's choice of a model is resolved to it.

It never holds a key, except sealed. A choice is ``name`` or ``name/model``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from chatui.backends.auto import AUTO
from chatui.backends.base import Effort, SampleLimits
from chatui.backends.hosted_tools import problem_of as hosted_problem
from chatui.backends.registry import KINDS
from chatui.backends.route import Route, address_problem
from chatui.backends.separation import Separates
from chatui.operator_files import BESIDE, sentences, unknown

DEMO = "demo"
SPEC_KINDS = (AUTO, *KINDS, DEMO)
"""Every kind that a spec may have: ``auto``, the wire formats, and the built-in demo."""
MODEL_CHARS = 199
"""With a name of 60 characters and the slash between them, a choice fits into its column."""
SAMPLING = {
    "temperature": (0.0, 2.0),
    "top_p": (0.0, 1.0),
    "top_k": (-1.0, 100_000.0),
    "min_p": (0.0, 1.0),
    "presence_penalty": (-2.0, 2.0),
    "frequency_penalty": (-2.0, 2.0),
    "repetition_penalty": (0.0, 2.0),
    "seed": (0.0, 2.0**31),
}
"""Sampling parameters, each with its smallest and greatest value."""
NO_REVIEW = "does nothing any more and can be removed: lines of summaries are the product's own sentences"
"""What is said about the setting of an earlier version for a review of lines."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_KEY_NAME = re.compile(r"[A-Z0-9][A-Z0-9_]{0,59}")
_CREDENTIALS = re.compile(r"^(http://)[A-Za-z0-9._~!$&'()*+,;=%-]+(?::[A-Za-z0-9._~!$&'()*+,;=%-]*)?@", re.IGNORECASE)
_HEADER = re.compile(r"[A-Za-z0-9-]{1,60}")
_OWN_HEADERS = ("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding")
_SECRET = re.compile(r"key|token|secret|signature|password|\bsig\b", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


class SpecError(ValueError):
    """A spec, or a file of specs, is invalid. ``problems`` are sentences for the operator; none quotes a key."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("must be 1 to 60 letters, digits, dots, hyphens or underscores, and begin with a letter or digit")
    return value


def _address(value: str) -> str:
    if problem := address_problem(value):
        raise ValueError(problem)
    return value


def _addresses(value: tuple[str, ...]) -> tuple[str, ...]:
    for problem in filter(None, map(address_problem, value)):
        raise ValueError(f"has an address that {problem}")
    if len(set(value)) < len(value):
        raise ValueError("names an address twice")
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError("must be the name of an environment variable; the key itself has no place here")
    return value


def _key_name(value: str) -> str:
    if not _KEY_NAME.fullmatch(value):
        raise ValueError("must be capital letters, digits and underscores, such as ACME; the key itself has no place here")
    return value


def is_model_name(value: str) -> bool:
    """Whether a server's name for a model can be offered, stored and sent."""
    return 0 < len(value) <= MODEL_CHARS and value.isprintable() and value == value.strip()


def _models(value: tuple[str, ...]) -> tuple[str, ...]:
    if not all(is_model_name(name) for name in value):
        raise ValueError(f"must be names of 1 to {MODEL_CHARS} printable characters")
    if len(set(value)) < len(value):
        raise ValueError("names a model twice")
    return value


def _groups(value: tuple[str, ...]) -> tuple[str, ...]:
    if not all(0 < len(name) <= 150 and name.isprintable() for name in value):
        raise ValueError("must be names of groups")
    return value


def _label(value: str) -> str:
    if value and (not value.isprintable() or not value.strip() or len(value) > 80):
        raise ValueError("must be 1 to 80 printable characters")
    return value


def _query(value: dict[str, str]) -> dict[str, str]:
    if any(_SECRET.search(name) for name in value):
        raise ValueError("must hold no key: name the key instead, and key_header if it is not sent as a bearer token")
    if not all(name and (name + text).isascii() and (name + text).isprintable() and len(name + text) < 300 for name, text in value.items()):
        raise ValueError('must be names and texts, such as { api-version = "2024-10-21" }')
    return value


def _header(value: str) -> str:
    if not _HEADER.fullmatch(value) or value.lower() in _OWN_HEADERS:
        raise ValueError("must be the name of a header, such as api-key")
    return value


def without_credentials(proxy: str) -> str:
    return _CREDENTIALS.sub(r"\1", proxy)


def _proxy(value: str) -> str:
    """Unlike a server, a proxy may be given with a name and a password: it has no other place for them."""
    if not value.lower().startswith("http://"):
        raise ValueError("must begin with http://: requests to an https server are encrypted inside")
    bare = without_credentials(value)
    if problem := "needs @, / and : in a password as %40, %2F and %3A" if "@" in bare else address_problem(bare):
        raise ValueError(problem)
    return value


def _sampling(value: dict[str, float]) -> dict[str, float]:
    for name, number in value.items():
        if name not in SAMPLING:
            raise ValueError(f"has no field {name[:60]!r}; known are: {', '.join(SAMPLING)}")
        least, most = SAMPLING[name]
        if not least <= number <= most:
            raise ValueError(f"must have {name} from {least:g} to {most:g}")
    return value


def _hosted(value: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    if problem := hosted_problem(value):
        raise ValueError(problem)
    return value


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Summaries = Literal["none", "built-in", "server", "model"]
FileName = Annotated[str, BESIDE]
Names = Annotated[tuple[str, ...], BeforeValidator(_tuple)]
Sampling = Annotated[dict[str, int | float], AfterValidator(_sampling)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


def _optional(check: Any) -> AfterValidator:
    return AfterValidator(lambda value: check(value) if value else value)


class BackendSpec(BaseModel):
    """One model server.

    ``url`` is for the operator and never shown to people; ``label`` is what they see, ``name`` where it is empty.

    ``more_urls``: other addresses of the same models, used in the same way. ``models``: those that people may choose, the default first;
    empty: those that the server lists. ``groups``: their members may use it; empty: everybody. At most one of ``key_env`` (a variable),
    ``key_file`` (a path) and ``key_name`` (a key that is bound to an origin, see ``backends.keys``). ``max_answer_tokens`` 0: the setting
    of the deployment. ``context_tokens``: how many tokens of prompt and answer together the model can read; 0: the server is asked.
    ``summaries``: what names the kind of work in a line of a reasoning summary: ``built-in`` code, which reads the reasoning; the headings
    of the ``server``; a ``model``, the choice ``summarizer``; or nothing. ``ask_for_reasoning`` False: the server is asked to withhold raw
    reasoning. ``separates``: whether it keeps reasoning apart from answers, see ``backends.separation``. ``server_tools``: the tools that
    the server should run by itself. ``sampling``, and by model ``model_sampling``: the sampling parameters. ``api_root`` to ``proxy``: see
    ``backends.route.Route``; the files are paths.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Annotated[str, AfterValidator(_name)]
    label: Annotated[str, AfterValidator(_label)] = ""
    kind: str = AUTO
    url: Annotated[str, _optional(_address)] = ""
    more_urls: Annotated[Names, AfterValidator(_addresses)] = ()
    key_env: Annotated[str, _optional(_variable)] = ""
    key_file: FileName = ""
    key_name: Annotated[str, _optional(_key_name)] = ""
    models: Annotated[Names, AfterValidator(_models)] = ()
    effort: Effort = "medium"
    first_token_seconds: Seconds = SampleLimits().first
    idle_seconds: Seconds = SampleLimits().idle
    overall_seconds: Seconds = SampleLimits().overall
    max_answer_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    context_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    groups: Annotated[Names, AfterValidator(_groups)] = ()
    summaries: Summaries = "built-in"
    summarizer: Annotated[str, Field(max_length=260)] = ""
    ask_for_reasoning: bool = True
    separates: Separates = "proved"
    server_tools: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_tuple), AfterValidator(_hosted)] = Field((), repr=False)
    sampling: Sampling = Field(default_factory=dict)
    model_sampling: dict[str, Sampling] = Field(default_factory=dict)
    api_root: bool | None = None
    query: Annotated[dict[str, str], AfterValidator(_query)] = Field(default_factory=dict)
    key_header: Annotated[str, _optional(_header)] = ""
    ca_file: FileName = ""
    certificate_file: FileName = ""
    certificate_key_file: FileName = ""
    proxy: Annotated[str, _optional(_proxy)] = Field("", repr=False)
    # Private: no file and no form can set it, and it is in no dump, digest or repr of a spec.
    _sealed_key: str = PrivateAttr(default="")

    def __hash__(self) -> int:
        return hash((self.name, self.url, self.kind))

    @model_validator(mode="after")
    def _fits_together(self) -> BackendSpec:
        problems = [problem for problem, is_wrong in self._contradictions() if is_wrong]
        if problems:
            raise SpecError(problems)
        return self

    def _contradictions(self) -> list[tuple[str, bool]]:
        keys = [name for name in ("key_env", "key_file", "key_name") if getattr(self, name)]
        is_demo = self.kind == DEMO
        return [
            (unknown("kind", self.kind, SPEC_KINDS), self.kind not in SPEC_KINDS),
            ("url is missing", not self.url and not is_demo),
            ("url: the demo has no address", bool(self.url) and is_demo),
            ("more_urls needs url, the first of the addresses", bool(self.more_urls) and not self.url),
            ("more_urls names url a second time", self.url in self.more_urls),
            ("more_urls cannot be given with key_name: that key is bound to one origin", bool(self.more_urls) and bool(self.key_name)),
            (f"{keys[0] if keys else ''}: the demo has no key", bool(keys) and is_demo),
            (
                "ask_for_reasoning = false needs kind auto or chat: the other wire formats have no field for it",
                not self.ask_for_reasoning and self.kind not in (AUTO, "chat"),
            ),
            (
                'ask_for_reasoning = false and summaries = "model" cannot be given together: the summarizer has nothing to read then',
                not self.ask_for_reasoning and self.summaries == "model",
            ),
            (
                'server_tools needs kind = "responses": the other wire formats have no place for them',
                bool(self.server_tools) and self.kind != "responses",
            ),
            ("certificate_key_file does nothing without certificate_file", bool(self.certificate_key_file) and not self.certificate_file),
            (f"{' and '.join(keys)} cannot be given together", len(keys) > 1),
            ('summarizer is missing: summaries = "model" needs it', self.summaries == "model" and not self.summarizer),
            ('summarizer does nothing without summaries = "model"', bool(self.summarizer) and self.summaries != "model"),
            (
                'summaries = "server" needs kind chat or responses: no other server writes summaries',
                self.summaries == "server" and self.kind not in (AUTO, "chat", "responses"),
            ),
        ]

    @property
    def sealed_key(self) -> str:
        """The key that staff entered for it, encrypted and bound to its origin (``model_servers.connected``); empty if there is none."""
        return self._sealed_key

    def with_sealed_key(self, token: str) -> BackendSpec:
        """This model server with such a key.

        Raises:
            SpecError: it names a key as well, or has several addresses: the key is bound to one origin.
        """
        if self.key_name:
            raise SpecError(["key_name cannot be given with a stored key"])
        if self.more_urls:
            raise SpecError(["more_urls cannot be given with a stored key: that key is bound to one origin"])
        if self.is_demo:
            raise SpecError(["kind: the demo has no key"])
        copy = self.model_copy()
        copy._sealed_key = token
        return copy

    @property
    def route(self) -> Route:
        return Route(
            self.api_root,
            tuple(self.query.items()),
            self.key_header,
            self.ca_file,
            self.certificate_file,
            self.certificate_key_file,
            self.proxy,
        )

    def sampling_of(self, model: str | None) -> dict[str, float]:
        """The sampling parameters of this model, None for the default one."""
        return {**self.sampling, **self.model_sampling.get(model or next(iter(self.models), ""), {})}

    @property
    def shown(self) -> str:
        return self.label or self.name

    @property
    def is_demo(self) -> bool:
        return self.kind == DEMO

    def limits(self, **changes: float) -> SampleLimits:
        """The deadlines in the form that backends take; ``changes`` are other fields of Limits."""
        deadlines = SampleLimits(first=self.first_token_seconds, idle=self.idle_seconds, overall=self.overall_seconds)
        return replace(deadlines, **changes)  # type: ignore[arg-type]


def check_spec(values: Mapping[str, Any]) -> BackendSpec:
    """The spec for an operator's settings.

    Raises:
        SpecError: with one sentence for each problem.
    """
    try:
        return BackendSpec.model_validate(values)
    except ValidationError as error:
        raise SpecError(sentences(error, BackendSpec)) from None


def without_retired(values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """An operator's settings without those of earlier versions that do nothing any more, and a sentence about each of these."""
    if "summary_review" not in values:
        return dict(values), ()
    kept = {name: value for name, value in values.items() if name != "summary_review"}
    if kept.get("summaries") == "server":
        kept.pop("summarizer", None)  # it named who reviewed the server's lines
    return kept, (f"summary_review {NO_REVIEW}",)


def split_choice(choice: str) -> tuple[str, str | None]:
    """A choice as the name of a backend and a model; None for that backend's default."""
    name, _, model = choice.partition("/")
    return name, model or None


def find(specs: Sequence[BackendSpec], choice: str) -> BackendSpec | None:
    """The spec of a choice; the first one for the empty choice. None if that backend no longer exists."""
    if not choice:
        return next(iter(specs), None)
    name, _ = split_choice(choice)
    return next((spec for spec in specs if spec.name == name), None)
