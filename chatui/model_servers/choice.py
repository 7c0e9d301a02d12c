"""The models that a person may choose from, and which of them a stored choice refers to.

A model server offers the operator's list, or the list that its server last reported. Nothing here waits for the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import threading
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from django.core.cache import cache

from chatui.backends.base import BackendError
from chatui.backends.discovery import discover
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec import BackendSpec, find, is_model_name, split_choice
from chatui.codes import ProductCode
from chatui.limits import CACHE_ERRORS
from chatui.model_servers import connected
from chatui.models.user import User

log = logging.getLogger(__name__)

QUERY_SECONDS = 60
"""The shortest interval between queries to a server, of all processes together."""
CACHE_SECONDS = 24 * 60 * 60
"""How long a result is cached, so that the models of a server that is down for a while remain known."""
MAX_MODELS = 5000
"""The most models of one server, far more than any gateway has. A warning is logged if a server reports more."""

_read_last: dict[str, tuple[str, ...]] = {}
"""The last result for each spec in this process, used while the cache is down."""


def models_of(spec: BackendSpec) -> tuple[str, ...]:
    """The models to choose from, the default first; empty if none are known yet. Queries the server in the background."""
    if spec.models or spec.is_demo:
        return spec.models
    key = _cache_key(spec)
    try:
        if cache.add(f"{key}:asked", True, QUERY_SECONDS):
            threading.Thread(target=_query, args=(spec, key), name=f"models of {spec.name}", daemon=True).start()
        _read_last[key] = cache.get(key, ())
    except CACHE_ERRORS as error:
        # Pages and questions must not depend on the cache.
        log.warning("the models of model server %s could not be looked up (%s)", spec.name, type(error).__name__)
    return _read_last.get(key, ())


def _cache_key(spec: BackendSpec) -> str:
    return "models:" + hashlib.sha256(spec.model_dump_json().encode()).hexdigest()


def _query(spec: BackendSpec, cache_key: str) -> None:
    try:
        found = asyncio.run(_listed_models(spec))
    except (BackendError, KeyUnusableError) as error:
        log.info("model server %s did not list its models (%s)", spec.name, type(error).__name__)
        return
    names = tuple(dict.fromkeys(name for name in found if is_model_name(name)))
    if len(names) > MAX_MODELS:
        log.warning(
            "model server %s lists %d models: only the first %d are offered; configure the ones you want", spec.name, len(names), MAX_MODELS
        )
        names = names[:MAX_MODELS]
    if names:
        with contextlib.suppress(*CACHE_ERRORS):  # it is queried again in a minute
            cache.set(cache_key, names, CACHE_SECONDS)


async def _listed_models(spec: BackendSpec) -> tuple[str, ...]:
    """The models that the first responding address of the model server lists."""
    key = connected.key_of(spec)
    *others, last = (spec.url, *spec.more_urls)
    for url in others:
        with contextlib.suppress(BackendError):
            return (await discover(url, key, spec.limits(), spec.route)).models
    return (await discover(last, key, spec.limits(), spec.route)).models


SEPARATOR = " · "
"""Separates the names of a model server and its model in a label."""


class NoSuchModelError(Exception):
    """The model server or model does not exist, or this person may not use it."""

    code = ProductCode.NO_SUCH_MODEL


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that a person may choose.

    ``value`` is stored with a Conversation and a Turn; ``effort`` is the default of a new conversation. ``label`` names the model server
    only if there are several. ``model``: the model's own name; empty if it is not known.
    """

    value: str
    label: str
    effort: str
    is_demo: bool
    model: str = ""

    @property
    def runs_rtl(self) -> bool:
        """Whether the label is read from right to left. Depends only on the model's name, not on the name of the model server before it."""
        name = self.label.rpartition(SEPARATOR)[2]
        strong = (unicodedata.bidirectional(character) for character in name)
        return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def choices_for(user: User | None) -> tuple[ModelChoice, ...]:
    """The choices that this person has in the composer, the default first. Never waits for a model server."""
    names_server = len(connected.specs()) > 1
    return tuple(choice for spec in _usable_specs(user) for choice in _choices_of(spec, names_server=names_server))


def current_value(choices: Iterable[ModelChoice], stored: str) -> str | None:
    """The value among ``choices`` for a stored choice: the same, or its replacement at the same model server; None if neither exists."""
    values = [choice.value for choice in choices]
    if stored in values:
        return stored
    name, model = split_choice(stored)
    others = [value for value in values if value == name or (model is None and value.startswith(f"{name}/"))]
    return next(iter(others), None)


def validated(user: User | None, choice: str) -> str:
    """The choice as a Turn stores it: with the name of the model server, even if the choice is empty because the default is used.

    Raises:
        NoSuchModelError: it does not exist, no longer exists, or this person may not use it. The error is the same for all three.
    """
    spec = find(_usable_specs(user), choice)
    _, model = split_choice(choice)
    if spec is None or (model is not None and model not in models_of(spec)):
        raise NoSuchModelError
    return choice or spec.name


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


def _choices_of(spec: BackendSpec, *, names_server: bool) -> list[ModelChoice]:
    models = models_of(spec)
    if len(models) < 2:
        only = spec.shown if spec.label or spec.is_demo or names_server or not models else models[0]
        return [ModelChoice(spec.name, only, spec.effort, spec.is_demo, *models)]
    before = f"{spec.shown}{SEPARATOR}" if names_server else ""
    return [ModelChoice(f"{spec.name}/{model}", f"{before}{model}", spec.effort, spec.is_demo, model) for model in models]
