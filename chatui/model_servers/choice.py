"""The models that a person may choose from, and which of them a stored choice refers to.

A model server offers the operator's list, or the list that its server last reported, without the models that, as it says, write no
answers. Nothing here waits for the server.

A conversation stays with its model: the last that its owner chose in it, else the one that its last turn was asked of. Where that is not
offered, nothing here puts another in its place: a page says so first, and a question that names it is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.core.cache import cache

from chatui.backends.base import BackendError
from chatui.backends.discovery import Discovered, discover
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec import BackendSpec, find, is_model_name, split_choice
from chatui.codes import ProductCode
from chatui.limits import CACHE_ERRORS
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.turn import LATEST_FIRST, Turn
from chatui.models.user import User

log = logging.getLogger(__name__)

QUERY_SECONDS = 60
"""The shortest interval between queries to a server, of all processes together."""
CACHE_SECONDS = 24 * 60 * 60
"""How long a result is cached, so that the models of a server that is down for a while remain known."""
MAX_MODELS = 5000
"""The most models of one server, far more than any gateway has. A warning is logged if a server reports more."""

READ_SECONDS = 1.0
"""How long a process uses a result before it reads it again. Over Redis, each question would wait for that in its transaction."""

_read_last: dict[str, tuple[float, tuple[str, ...] | None]] = {}
"""When this process read the last result for each spec, and that, which is also used while the cache is down."""


def models_of(spec: BackendSpec) -> tuple[str, ...] | None:
    """The models to choose from, the default first; None if they are not known yet. Queries the server in the background."""
    if spec.models or spec.is_demo:
        return spec.models
    key = _cache_key(spec)
    read_at, last = _read_last.get(key, (0.0, None))
    if last is not None and time.monotonic() < read_at + READ_SECONDS:
        return last
    asked = f"{key}:asked"
    try:
        found = cache.get_many([key, asked])
        if asked not in found and cache.add(asked, True, QUERY_SECONDS):
            threading.Thread(target=_query, args=(spec, key), name=f"models of {spec.name}", daemon=True).start()
        last = found.get(key)
        _read_last[key] = (time.monotonic(), last)
    except CACHE_ERRORS as error:
        # Pages and questions must not depend on the cache.
        log.warning("the models of model server %s could not be looked up (%s)", spec.name, type(error).__name__)
    return last


def _cache_key(spec: BackendSpec) -> str:
    return "models:" + hashlib.sha256(spec.model_dump_json().encode()).hexdigest()


def _query(spec: BackendSpec, cache_key: str) -> None:
    try:
        found = asyncio.run(_listed_models(spec))
    except (BackendError, KeyUnusableError) as error:
        log.info("model server %s did not list its models (%s)", spec.name, type(error).__name__)
        return
    names = tuple(dict.fromkeys(name for name in found.models if is_model_name(name)))
    if len(names) > MAX_MODELS:
        log.warning(
            "model server %s lists %d models: only the first %d are offered; configure the ones you want", spec.name, len(names), MAX_MODELS
        )
        names = names[:MAX_MODELS]
    if names or found.left_out:
        with contextlib.suppress(*CACHE_ERRORS):  # it is queried again in a minute
            cache.set(cache_key, names, CACHE_SECONDS)


async def _listed_models(spec: BackendSpec) -> Discovered:
    """What the first responding address of the model server says."""
    key = connected.key_of(spec)
    *others, last = (spec.url, *spec.more_urls)
    for url in others:
        with contextlib.suppress(BackendError):
            return await discover(url, key, spec.limits(), spec.route)
    return await discover(last, key, spec.limits(), spec.route)


SEPARATOR = " · "
"""Separates the names of a model server and its model in a label."""


class NoSuchModelError(Exception):
    """The model server or model does not exist, or this person may not use it."""

    code = ProductCode.NO_SUCH_MODEL


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that a person may choose."""

    value: str
    """Its id for programs and keys."""
    label: str
    """The model's name, or what staff call a server that has one; it names the model server beside it only where two would read alike."""
    effort: str
    """The default of a new conversation."""
    is_demo: bool
    model: str = ""
    """The model's own name; empty if it is not known."""
    is_default: bool = False
    """Whether new conversations begin with it."""
    server: str = ""
    """The model server's name, as people read it."""

    @property
    def exact(self) -> str:
        """The value that pages send and conversations remember. It names the model, if that is known, even if the server has only one. A
        server whose list of models changes is then not asked for another."""
        return f"{split_choice(self.value)[0]}/{self.model}" if self.model else self.value

    @property
    def runs_rtl(self) -> bool:
        """Whether the label is read from right to left. Depends only on the model's name, not on the name of the model server before it."""
        name = self.label.rpartition(SEPARATOR)[2]
        strong = (unicodedata.bidirectional(character) for character in name)
        return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def choices_for(user: User | None) -> tuple[ModelChoice, ...]:
    """The choices that this person has in the composer, in the order of lists. Never waits for a model server."""
    default = connected.default()
    found: list[ModelChoice] = []
    for spec in _usable_specs(user):
        offered = _choices_of(spec)
        if offered and default is not None and spec.name == default.name:
            offered[0] = replace(offered[0], is_default=True)
        found += offered
    return _with_distinct_labels(found)


def _with_distinct_labels(choices: Sequence[ModelChoice]) -> tuple[ModelChoice, ...]:
    """Choices whose labels would read alike, with the names of their model servers added: the names that people see, or the unique ones if
    those are the same."""
    for server_of in (lambda each: each.server, lambda each: split_choice(each.value)[0]):
        alike = Counter(each.label for each in choices)
        choices = [
            replace(each, label=f"{server_of(each)}{SEPARATOR}{each.model or each.label}") if alike[each.label] > 1 else each
            for each in choices
        ]
    return tuple(choices)


def current(choices: Iterable[ModelChoice], stored: str, last_model: str = "") -> ModelChoice | None:
    """The choice that a stored one means: the same model at the same model server; None if that is not offered.

    ``last_model``: the one that wrote the last answer. It says which is meant by a choice without a model, of a server that had one model,
    or whose models were not known.
    """
    name, model = split_choice(stored)
    here = [choice for choice in choices if split_choice(choice.value)[0] == name]
    if model is None:
        is_clear = len(here) == 1 or not last_model
        return next((choice for choice in here if is_clear or choice.model == last_model), None)
    if found := next((choice for choice in here if choice.model == model), None):
        return found
    # A list that is not known, such as after a restart while the server is down, does not say that the model is gone.
    unknown = [choice for choice in here if not choice.model and not choice.is_demo]
    return replace(unknown[0], model=model) if unknown else None


def named(choices: Sequence[ModelChoice], asked: str) -> ModelChoice | None:
    """The offered choice that a link names: by its id for programs, by the model's own name, or by what people read."""
    known = (each for each in choices if asked in (each.value, each.exact, each.model, each.label))
    return next(known, None)


def beginning(choices: Sequence[ModelChoice]) -> ModelChoice | None:
    """The choice that stands in the message box where nothing was chosen: the default, else, in plain sight, the first."""
    return next((choice for choice in choices if choice.is_default), next(iter(choices), None))


def remembered(conversation: Conversation) -> str:
    """The choice that a conversation stays with: its owner's last, else that of its last turn; empty if it has neither."""
    if conversation.choice:
        return conversation.choice
    turns = Turn.objects.filter(conversation=conversation).order_by(*LATEST_FIRST)
    return turns.values_list("choice", flat=True).first() or ""


def validated(user: User | None, choice: str) -> str:
    """The choice as a Turn stores it. Another model server or model never takes the place of the one that it names.

    Raises:
        NoSuchModelError: it does not exist, no longer exists, or this person may not use it. The error is the same for all three.
    """
    spec = find(_usable_specs(user), choice)
    _, model = split_choice(choice)
    if spec is None or not _has(spec, model):
        raise NoSuchModelError
    return choice


def _has(spec: BackendSpec, model: str | None) -> bool:
    """Whether the server offers the model, or any, as far as is known (``current``)."""
    known = models_of(spec)
    if model is None:
        return bool(known) or known is None or spec.is_demo
    return model in known if known is not None else is_model_name(model)


def unnamed(user: User | None, conversation: Conversation | None) -> str:
    """The choice for a question that names none, checked: what the conversation stays with; in a new one, the person's default, else that
    of new conversations. Pages name what they show.

    Raises:
        NoSuchModelError: that is not offered to this person, or there is no default.
    """
    stored = remembered(conversation) if conversation else user.choice if user else ""
    if not stored:
        default = connected.default()
        return validated(user, default.name if default else "")
    found = current(choices_for(user), stored, conversation.model if conversation else "")
    if found is None:
        raise NoSuchModelError
    return stored if split_choice(stored)[1] or found.value == stored else found.exact


def server_tools(user: User | None, choice: str) -> tuple[str, ...]:
    """The types of the tools that the chosen model server may run by itself; empty if there is no such choice."""
    spec = find(_usable_specs(user), choice)
    return tuple(str(each["type"]) for each in spec.server_tools) if spec is not None else ()


def any_server_tools(user: User | None) -> bool:
    return any(spec.server_tools for spec in _usable_specs(user))


def _usable_specs(user: User | None) -> list[BackendSpec]:
    """The model servers that this person may use: those without groups, and those of the person's groups."""
    if user is None or not user.is_active:
        return []
    specs = connected.specs()
    # Queried only if needed, but never cached, so that a revoked membership takes effect at once.
    mine = set(user.groups.values_list("name", flat=True)) if any(spec.groups for spec in specs) else set()
    return [spec for spec in specs if not spec.groups or mine.intersection(spec.groups) or user.is_superuser]


def _choices_of(spec: BackendSpec) -> list[ModelChoice]:
    models = models_of(spec)
    if models is None or spec.is_demo:
        return [ModelChoice(spec.name, spec.shown, spec.effort, spec.is_demo, server=spec.shown)]
    if len(models) == 1:
        return [ModelChoice(spec.name, spec.label or models[0], spec.effort, spec.is_demo, models[0], server=spec.shown)]
    return [ModelChoice(f"{spec.name}/{model}", model, spec.effort, spec.is_demo, model, server=spec.shown) for model in models]
