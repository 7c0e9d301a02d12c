"""What the processes of the product say of themselves in the cache that all share."""

import dataclasses
from typing import Any

import pytest
from django.core.cache import cache

from chatui import __version__
from chatui.display import process_reports
from chatui.display.process_reports import ProcessReport
from chatui.limits import CACHE_ERRORS

OTHER = "beech:17:0123abcd"
GOOD = {
    "database": "ok",
    "migrations": "ok",
    "disk": "ok",
    "configuration": "ok",
    "redis": "ok",
    "connections": "not used",
    "clock": "not used",
}
"""The findings of a process that is ready."""
_WELL = ProcessReport(OTHER, __version__, 1_790_000_000.0, 1_790_003_600.0, GOOD, 0.002, 3, 0.004, 0.001)


def report(**changes: Any) -> None:
    """Another process reports that it is well, but for ``changes``, as in ``ProcessReport``."""
    process_reports.store(dataclasses.replace(_WELL, **changes))


def end() -> None:
    """The other process ends."""
    process_reports.take_away(OTHER)


def lose_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """No report can be read."""

    def refuse(*_: object, **__: object) -> None:
        raise CACHE_ERRORS[0]

    monkeypatch.setattr(cache, "get_many", refuse)
