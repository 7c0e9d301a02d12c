"""BackendSpec: the checked configuration of one model server, and how a person's choice of a model is resolved to it.

It never holds a key, except sealed. A choice is ``name`` or ``name/model``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from chatui.backends.auto import AUTO
from chatui.backends.base import Effort, SampleLimits
from chatui.backends.hosted_tools import problem_of as hosted_problem
from chatui.backends.registry import KINDS
from chatui.backends.route import Route
from chatui.backends.separation import Separates
from chatui.operator_files import BESIDE, sentences, unknown
from chatui.outbound.addresses import address_problem

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
# Not those that requests have anyway.
_OWN_HEADERS = "accept|accept-encoding|connection|content-length|content-type|host|transfer-encoding"
_HEADER = re.compile(rf"(?!(?:{_OWN_HEADERS})\Z)[A-Z0-9-]{{1,60}}", re.IGNORECASE | re.ASCII)
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


def _unless(problem_of: Callable[[Any], str | None]) -> AfterValidator:
    """Refuses a value that has a problem: words that follow the name of its setting. An empty value has none."""

    def check(value: Any) -> Any:
        if value and (problem := problem_of(value)):
            raise ValueError(problem)
        return value

    return AfterValidator(check)


def _rule(is_good: Callable[[Any], object], problem: str) -> AfterValidator:
    return _unless(lambda value: None if is_good(value) else problem)


def _are_different(values: Sequence[str]) -> bool:
    return len(set(values)) == len(values)


def _problem_of_addresses(addresses: tuple[str, ...]) -> str | None:
    return next((f"has an address that {problem}" for problem in map(address_problem, addresses) if problem), None)


def is_model_name(value: str) -> bool:
    """Whether a server's name for a model can be offered, stored and sent."""
    return 0 < len(value) <= MODEL_CHARS and value.isprintable() and value == value.strip()


def _is_plain(name: str, text: str) -> bool:
    return bool(name) and (name + text).isascii() and (name + text).isprintable() and len(name + text) < 300


def without_credentials(proxy: str) -> str:
    return _CREDENTIALS.sub(r"\1", proxy)


def _problem_of_proxy(proxy: str) -> str:
    """Unlike a server, a proxy may be given with a name and a password: it has no other place for them."""
    if not proxy.lower().startswith("http://"):
        return "must begin with http://: requests to an https server are encrypted inside"
    bare = without_credentials(proxy)
    return "needs @, / and : in a password as %40, %2F and %3A" if "@" in bare else address_problem(bare)


def _problem_of_sampling(sampling: dict[str, float]) -> str | None:
    for name, number in sampling.items():
        if name not in SAMPLING:
            return f"has no field {name[:60]!r}; known are: {', '.join(SAMPLING)}"
        least, most = SAMPLING[name]
        if not least <= number <= most:
            return f"must have {name} from {least:g} to {most:g}"
    return None


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Summaries = Literal["none", "built-in", "server", "model"]
FileName = Annotated[str, BESIDE]
Names = Annotated[tuple[str, ...], BeforeValidator(_tuple)]
Sampling = Annotated[dict[str, int | float], _unless(_problem_of_sampling)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


Label = Annotated[
    str, _rule(lambda label: label.isprintable() and label.strip() and len(label) <= 80, "must be 1 to 80 printable characters")
]
VariableName = Annotated[str, _rule(_VARIABLE.fullmatch, "must be the name of an environment variable; the key itself has no place here")]
KeyName = Annotated[
    str, _rule(_KEY_NAME.fullmatch, "must be capital letters, digits and underscores, such as ACME; the key itself has no place here")
]
HeaderName = Annotated[str, _rule(_HEADER.fullmatch, "must be the name of a header, such as api-key")]
Addresses = Annotated[Names, _unless(_problem_of_addresses), _rule(_are_different, "names an address twice")]
Models = Annotated[
    Names,
    _rule(lambda names: all(map(is_model_name, names)), f"must be names of 1 to {MODEL_CHARS} printable characters"),
    _rule(_are_different, "names a model twice"),
]
GroupNames = Annotated[
    Names, _rule(lambda names: all(0 < len(name) <= 150 and name.isprintable() for name in names), "must be names of groups")
]
Query = Annotated[
    dict[str, str],
    _rule(
        lambda query: not any(map(_SECRET.search, query)),
        "must hold no key: name the key instead, and key_header if it is not sent as a bearer token",
    ),
    _rule(lambda query: all(starmap(_is_plain, query.items())), 'must be names and texts, such as { api-version = "2024-10-21" }'),
]


class BackendSpec(BaseModel):
    """One model server.

    At most one of ``key_env``, ``key_file`` and ``key_name`` is set. ``api_root`` to ``proxy`` are as in ``backends.route.Route``; the
    files are paths.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Annotated[str, AfterValidator(_name)]
    """What people see where ``label`` is empty."""
    label: Label = ""
    kind: str = AUTO
    url: Annotated[str, _unless(address_problem)] = ""
    """For the operator; never shown to people."""
    more_urls: Addresses = ()
    """Other addresses of the same models, used in the same way."""
    key_env: VariableName = ""
    """The variable of the environment that holds its key."""
    key_file: FileName = ""
    """The path of the file that holds its key."""
    key_name: KeyName = ""
    """The name of a key that is bound to an origin, see ``backends.keys``."""
    models: Models = ()
    """Those that people may choose, the default first; empty: those that the server lists."""
    effort: Effort = "medium"
    first_token_seconds: Seconds = SampleLimits().first
    idle_seconds: Seconds = SampleLimits().idle
    overall_seconds: Seconds = SampleLimits().overall
    max_answer_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    """0: the setting of the deployment."""
    context_tokens: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    """How many tokens of prompt and answer together the model can read; 0: the server is asked."""
    groups: GroupNames = ()
    """Their members may use it; empty: everybody."""
    summaries: Summaries = "built-in"
    """What names the kind of work in a line of a reasoning summary: ``built-in`` code, which reads the reasoning; the headings of the
    ``server``; a ``model``, the choice ``summarizer``; or nothing."""
    summarizer: Annotated[str, Field(max_length=260)] = ""
    ask_for_reasoning: bool = True
    """If False, the server is asked to withhold raw reasoning."""
    separates: Separates = "proved"
    """Whether it keeps reasoning apart from answers, see ``backends.separation``."""
    server_tools: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_tuple), _unless(hosted_problem)] = Field((), repr=False)
    """The tools that the server should run by itself."""
    sampling: Sampling = Field(default_factory=dict)
    """The sampling parameters of all its models."""
    model_sampling: dict[str, Sampling] = Field(default_factory=dict)
    """The sampling parameters of single models, by model."""
    api_root: bool | None = None
    query: Query = Field(default_factory=dict)
    key_header: HeaderName = ""
    ca_file: FileName = ""
    certificate_file: FileName = ""
    certificate_key_file: FileName = ""
    proxy: Annotated[str, _unless(_problem_of_proxy)] = Field("", repr=False)
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
        """What settings may say against each other or leave out: a sentence for each, and whether it applies here."""
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
    """The spec of a choice; None if there is no such backend. An empty choice names none: no order of servers decides who is asked."""
    name, _ = split_choice(choice)
    return next((spec for spec in specs if spec.name == name), None)
