"""Django system checks for the model servers in the operator's file, the environment and the admin pages.

A mistake on the admin pages is at most a warning: it must not keep the server from starting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.db import DatabaseError

from chatui.backends import registry
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec import BackendSpec, SpecError, find, is_model_name
from chatui.env import environment
from chatui.model_servers import configured, connected, vocabulary
from chatui.models.model_servers import StoredBackend


@register()
def backends_file(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Reports mistakes in CHATUI_BACKENDS_FILE: such entries are ignored."""
    env = environment()
    if env.backends_file is None:
        return []
    file = configured.file(env.backends_file)
    found: list[CheckMessage] = [Error(_sentence(f"CHATUI_BACKENDS_FILE: {problem}"), id="chatui.E010") for problem in file.problems]
    found += [checks.Warning(_sentence(f"CHATUI_BACKENDS_FILE: {text}"), id="chatui.W021") for text in file.retired]
    if env.backend_url:
        found.append(checks.Warning("CHATUI_BACKEND_URL is ignored, because CHATUI_BACKENDS_FILE is set.", id="chatui.W010"))
    outside = configured.operator_backends(env)
    found += [Error(_sentence(text), id="chatui.E011") for text in _unusable_keys(outside)]
    found += [Error(_sentence(text), id="chatui.E012") for text in _unknown_summarizers(outside)]
    return found


@register()
def files_of_backends(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Reports missing certificate files: without them no request reaches the server."""
    return [
        Error(_sentence(f"back end {spec.name!r}: {name} does not name a file"), id="chatui.E016")
        for spec in configured.operator_backends(environment())
        for name in ("ca_file", "certificate_file", "certificate_key_file")
        if (path := getattr(spec, name)) and not Path(path).is_file()
    ]


@register()
def backend_variables(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Reports mistakes in the CHATUI_BACKEND_… variables."""
    env = environment()
    found: list[CheckMessage] = []
    if env.backend_model and not is_model_name(env.backend_model):
        found.append(Error("CHATUI_BACKEND_MODEL is not a valid model name.", id="chatui.E013"))
    if env.backend_url and env.backends_file is None:
        try:
            configured.of_environment(env)
        except SpecError as error:
            found += [Error(_sentence(f"CHATUI_BACKEND_…: {problem}"), id="chatui.E015") for problem in error.problems]
    if env.backend_key_file is None or env.backend_key_file.is_file():
        try:
            connected.environment_key()
        except KeyUnusableError as error:
            found.append(Error(_sentence(str(error)), id="chatui.E014"))
    return found


@register()
def stored_backends(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warns about mistakes in the enabled rows of the admin pages."""
    env = environment()
    try:
        rows = configured.rows()
        waiting = list(StoredBackend.objects.filter(is_enabled=True).exclude(unconfirmed_by="").values_list("name", "unconfirmed_by"))
        groups = set(Group.objects.values_list("name", flat=True))
    except DatabaseError:
        return []  # the database is not migrated yet, or down: other checks report that
    outside = configured.operator_backends(env)
    taken = {spec.name for spec in outside}
    stored = [spec for spec in rows.specs if spec.name not in taken]
    warnings = [(problem, "chatui.W011") for problem in rows.problems]
    warnings += [
        (f"back end {spec.name!r} is also configured outside the admin pages, and that configuration takes precedence", "chatui.W012")
        for spec in rows.specs
        if spec.name in taken
    ]
    warnings += [
        (
            f"back end {name!r}, changed by {who!r}, is available to nobody until somebody who may see hidden channels confirms it",
            "chatui.W017",
        )
        for name, who in waiting
    ]
    warnings += [(text, "chatui.W013") for text in _unusable_keys(stored)]
    warnings += [(text, "chatui.W014") for text in _unknown_summarizers(stored)]
    warnings += [
        (f"back end {spec.name!r}: there is no group {group!r}, so nobody can use it", "chatui.W015")
        for spec in outside
        for group in spec.groups
        if group not in groups
    ]
    return [checks.Warning(_sentence(text), id=identity) for text, identity in warnings]


@register()
def title_model(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warns if the model server for titles does not exist. This is no error, because it may be configured on the admin pages later."""
    env = environment()
    if not env.titles or not env.title_model or find(connected.specs(), env.title_model) is not None:
        return []
    text = f"CHATUI_TITLE_MODEL: there is no back end {env.title_model!r}, so no model writes titles of conversations."
    return [checks.Warning(text, id="chatui.W019")]


@register()
def vocabulary_of_backends(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warns if the vocabulary is missing that model servers need which use token ids."""
    env = environment()
    needing = [spec.name for spec in connected.specs() if registry.needs_vocabulary(spec.kind) and spec.name != configured.ENVIRONMENT_NAME]
    if needing and vocabulary.find(env.data_dir) is None:
        text = f"Back end {', '.join(needing)} needs the vocabulary: run python manage.py fetch_vocabulary."
        return [checks.Warning(text, id="chatui.W016")]
    return []


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text[:1].upper()}{text[1:]}."


def _unusable_keys(found: Iterable[BackendSpec]) -> Iterator[str]:
    for spec in found:
        try:
            connected.key_of(spec)
        except KeyUnusableError as error:
            yield f"back end {spec.name!r} cannot be used: {error}"


def _unknown_summarizers(found: Iterable[BackendSpec]) -> Iterator[str]:
    known = connected.specs()
    for spec in found:
        if spec.summarizer and find(known, spec.summarizer) is None:
            yield f"back end {spec.name!r}: there is no back end {spec.summarizer!r} to write its summaries"
