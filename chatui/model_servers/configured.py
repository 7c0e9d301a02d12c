"""Collects the configured back ends: from the operator's file, the admin pages and the environment variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chatui.backends.spec import reading
from chatui.backends.spec.definition import DEMO, BackendSpec, SpecError, check_spec
from chatui.backends.spec.reading import SpecFile
from chatui.env import Environment
from chatui.models import StoredBackend

ENVIRONMENT_NAME = "main"
"""What the one back end of the CHATUI_BACKEND_… variables is called."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The enabled rows of the admin pages: the specs that are good, in their order, and a sentence for each thing that is wrong."""

    specs: tuple[BackendSpec, ...] = ()
    problems: tuple[str, ...] = ()


def base(env: Environment) -> tuple[BackendSpec, ...]:
    """What is set up outside the admin pages: the file's, else that of the variables, else none (or what is wrong is left out)."""
    if env.backends_file is not None:
        return file(env.backends_file).specs
    if not env.backend_url:
        return ()
    try:
        return (of_environment(env),)
    except SpecError:
        return ()


def combined(env: Environment, rows: Rows) -> tuple[BackendSpec, ...]:
    """Every back end that is to be used, the default first. The demo, where nothing else was even tried to be set up."""
    outside = base(env)
    taken = {spec.name for spec in outside}
    found = (*outside, *(spec for spec in rows.specs if spec.name not in taken))
    return found if found or env.backends_file or env.backend_url else (demo(),)


@cache
def file(path: Path) -> SpecFile:
    """``CHATUI_BACKENDS_FILE``, read once in a process: a change of it takes a restart, as one of a variable does."""
    return reading.read_file(path)


def of_environment(env: Environment) -> BackendSpec:
    """The back end of the ``CHATUI_BACKEND_…`` variables. Its key is ``env.key()``.

    Raises:
        SpecError: one of them is wrong.
    """
    return check_spec(
        {
            "name": ENVIRONMENT_NAME,
            "kind": env.backend_kind or "chat",
            "url": env.backend_url,
            "models": [env.backend_model] if env.backend_model else [],
            "first_token_seconds": env.backend_first_token_seconds,
            "idle_seconds": env.backend_idle_seconds,
            "overall_seconds": env.backend_overall_seconds,
            "summaries": env.backend_summaries,
            "summarizer": ENVIRONMENT_NAME if env.backend_summaries == "model" else "",
            "summary_review": env.backend_summary_review,
        }
    )


def demo() -> BackendSpec:
    """The built-in demo, as if the operator had asked for it."""
    # Its lines are written in this product, and there is no model in it that could judge them.
    return BackendSpec(name=DEMO, label="Demo", kind=DEMO, summaries="model", summarizer=DEMO, summary_review=False)


def rows() -> Rows:
    """What the admin pages hold now, but for what waits to be confirmed. Two queries. Raises a DatabaseError where they cannot be asked."""
    specs: list[BackendSpec] = []
    problems: list[str] = []
    for row in StoredBackend.objects.filter(is_enabled=True, unconfirmed_by="").prefetch_related("groups"):
        try:
            specs.append(of_row(row, (group.name for group in row.groups.all())))
        except SpecError as error:
            problems += [f"back end {row.name!r}: {problem}" for problem in error.problems]
    return Rows(tuple(specs), tuple(problems))


def of_row(row: StoredBackend, groups: Iterable[str]) -> BackendSpec:
    """A row of the admin pages as a spec.

    Raises:
        SpecError: something in it is wrong.
    """
    return check_spec(
        {
            "name": row.name,
            "label": row.label,
            "kind": row.kind,
            "url": row.url,
            "key_name": row.key_name,
            "models": [line.strip() for line in row.model_names.splitlines() if line.strip()],
            "effort": row.effort,
            "first_token_seconds": row.first_token_seconds,
            "idle_seconds": row.idle_seconds,
            "overall_seconds": row.overall_seconds,
            "max_answer_tokens": row.max_answer_tokens,
            "groups": sorted(groups),
            "summaries": row.summaries,
            "summarizer": row.summarizer,
            "summary_review": row.summary_review,
        }
    )
