"""Collects the configured model servers: from the operator's file, the administration pages and the environment variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from django.db.models import prefetch_related_objects

from chatui.backends import spec_file
from chatui.backends.auto import AUTO
from chatui.backends.hosted_tools import holds_key
from chatui.backends.spec import DEMO, BackendSpec, SpecError, check_spec
from chatui.backends.spec_file import SpecFile
from chatui.database.statements import read
from chatui.env import Environment
from chatui.models.model_servers import StoredBackend
from chatui.operator_files import NotTomlError, toml, unknown

OTHER_SETTINGS = (
    *("api_root", "ask_for_reasoning", "key_header", "model_sampling", "more_urls", "query", "sampling", "separates"),
    "server_tools",
)
"""The settings that a row of Administration can have besides its columns.

They exclude settings that name a file on the machine, or a route through its network.
"""
_OF_A_ROW = (
    *("name", "label", "kind", "url", "key_name", "effort", "summaries", "summarizer", "max_answer_tokens", "context_tokens"),
    *("first_token_seconds", "idle_seconds", "overall_seconds"),
)
"""The settings that are columns of the same name."""
ENVIRONMENT_NAME = "main"
"""The name of the single model server of the CHATUI_BACKEND_… variables."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The enabled rows of Administration: the valid specs, in order, and a sentence for each mistake. ``default``: the name of the row that
    is the default for new conversations, enabled or not; empty if none is."""

    specs: tuple[BackendSpec, ...] = ()
    problems: tuple[str, ...] = ()
    default: str = ""


def operator_backends(env: Environment) -> tuple[BackendSpec, ...]:
    """The model servers configured outside Administration: those of the file, else that of the variables. Invalid ones are ignored."""
    if env.backends_file is not None:
        return file(env.backends_file).specs
    if not env.backend_url:
        return ()
    try:
        return (of_environment(env),)
    except SpecError:
        return ()


def combined(env: Environment, rows: Rows) -> tuple[BackendSpec, ...]:
    """All model servers in use, those of the operator first. If nothing is configured at all, the demo. The order is that of lists alone:
    it says nothing about which one is asked (``default``)."""
    outside = operator_backends(env)
    taken = {spec.name for spec in outside}
    found = (*outside, *(spec for spec in rows.specs if spec.name not in taken))
    return found if found or env.backends_file or env.backend_url else (demo(),)


def default(env: Environment, rows: Rows) -> BackendSpec | None:
    """The model server of new conversations: the one that staff chose in Administration; else the operator's, in a file the first; else the
    only one. None if there are several and nobody chose, or if the chosen one is not offered: another never takes its place unseen."""
    known = combined(env, rows)
    if rows.default:
        return next((spec for spec in known if spec.name == rows.default), None)
    if outside := operator_backends(env):
        return outside[0]
    return known[0] if len(known) == 1 else None


@cache
def file(path: Path) -> SpecFile:
    """Read ``CHATUI_BACKENDS_FILE``, once per process: as for the variables, a change takes effect after a restart."""
    return spec_file.read_file(path)


def of_environment(env: Environment) -> BackendSpec:
    """The model server of the ``CHATUI_BACKEND_…`` variables. Its key is ``env.key()``.

    Raises:
        SpecError: one of them is invalid.
    """
    return _checked(
        name=ENVIRONMENT_NAME,
        kind=env.backend_kind or AUTO,
        url=env.backend_url,
        models=(env.backend_model,) if env.backend_model else (),
        query=env.backend_query,
        key_header=env.backend_key_header,
        ca_file=str(env.backend_ca_file or ""),
        proxy=env.backend_proxy,
        sampling=env.backend_sampling,
        first_token_seconds=env.backend_first_token_seconds,
        idle_seconds=env.backend_idle_seconds,
        overall_seconds=env.backend_overall_seconds,
        context_tokens=env.backend_context_tokens,
        summaries=env.backend_summaries,
        summarizer=ENVIRONMENT_NAME if env.backend_summaries == "model" else "",
    )


@lru_cache(maxsize=8, typed=True)
def _checked(*, models: tuple[str, ...], query: str, sampling: str, **more: str | float | bool | None) -> BackendSpec:
    """Check the settings. Cached, because every turn reads the model servers several times."""
    read = {"models": list(models), "query": dict(parse_qsl(query, keep_blank_values=True)), "sampling": _numbers(sampling)}
    return check_spec({**more, **read})


def _numbers(text: str) -> dict[str, float]:
    """Parse CHATUI_BACKEND_SAMPLING, such as ``temperature=0.7,top_p=0.9``."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    try:
        return {name.strip(): int(value) if value.strip().lstrip("-").isdecimal() else float(value) for name, _, value in pairs}
    except ValueError:
        raise SpecError(["sampling must be names and numbers, such as temperature=0.7,top_p=0.9"]) from None


@cache
def demo() -> BackendSpec:
    """The built-in demo, as if the operator had configured it."""
    return BackendSpec(name=DEMO, label="Demo", kind=DEMO)


def rows() -> Rows:
    """Read the rows of Administration, except unconfirmed ones, in two queries. Raises DatabaseError if the database is down."""
    specs: list[BackendSpec] = []
    problems: list[str] = []
    default = ""
    found = [row for row, _ in read(StoredBackend, "is_default OR (is_enabled AND unconfirmed_by = '') ORDER BY position, name")]
    prefetch_related_objects(found, "groups")
    for row in found:
        if row.is_default:
            default = row.name
        if not row.is_enabled or row.unconfirmed_by:
            continue
        try:
            specs.append(of_row(row, (group.name for group in row.groups.all())))
        except SpecError as error:
            problems += [f"model server {row.name!r}: {problem}" for problem in error.problems]
    return Rows(tuple(specs), tuple(problems), default)


def of_row(row: StoredBackend, groups: Iterable[str]) -> BackendSpec:
    """A row of Administration as a spec.

    Raises:
        SpecError: something in it is invalid.
    """
    spec = check_spec(
        {
            **{name: getattr(row, name) for name in _OF_A_ROW},
            "models": [line.strip() for line in row.model_names.splitlines() if line.strip()],
            "groups": sorted(groups),
            **_other_settings(row.other_settings),
        }
    )
    return spec.with_sealed_key(row.sealed_key) if row.sealed_key else spec


def _other_settings(text: str) -> dict[str, Any]:
    try:
        settings = toml(text)
    except NotTomlError as error:
        raise SpecError([f"other_settings must be lines such as sampling = {{ temperature = 0.7 }}; it {error}"]) from None
    if holds_key(settings.get("server_tools")):
        # Staff and anybody with a backup can read a row, and its changes are in the audit log.
        raise SpecError(["server_tools must hold no key, and no headers: only the operator's file may contain them"])
    if of_operator := sorted(set(settings) & (set(BackendSpec.model_fields) - set(OTHER_SETTINGS))):
        raise SpecError(
            [f"other_settings cannot contain {name}: it has its own field, or only the operator may set it" for name in of_operator]
        )
    if problems := [unknown("setting", name, OTHER_SETTINGS) for name in settings if name not in OTHER_SETTINGS]:
        raise SpecError(problems)
    return settings
