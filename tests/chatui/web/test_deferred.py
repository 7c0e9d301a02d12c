"""Deferred views: each name is that of a synchronous view which carries no mark for a middleware."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import URLPattern, get_resolver

from chatui.web import search
from chatui.web.deferred import deferred

MARKS = ("csrf_exempt", "login_required", "xframe_options_exempt")


def names() -> Iterator[str]:
    """The names of all deferred views."""
    for item in get_resolver().url_patterns:
        if isinstance(item, URLPattern) and item.callback.__qualname__.startswith("deferred."):
            yield (
                inspect.getclosurevars(item.callback).nonlocals["module"]
                + "."
                + inspect.getclosurevars(item.callback).nonlocals["function"]
            )


def test_every_deferred_view_exists_and_needs_nothing_that_deferring_hides() -> None:
    found = list(names())
    assert len(found) > 80, "the premise"
    for name in found:
        module, _, function = name.rpartition(".")
        view: Any = getattr(import_module(f"chatui.{module}"), function)
        assert inspect.isfunction(view) and not inspect.iscoroutinefunction(view), name
        assert not any(hasattr(view, mark) for mark in MARKS), name


def test_a_deferred_view_gets_the_request_and_what_the_address_names(monkeypatch: pytest.MonkeyPatch) -> None:
    request, response = RequestFactory().get("/"), HttpResponse()
    monkeypatch.setattr(search, "results", lambda *given, **named: response if (given, named) == ((request,), {"key": 1}) else None)
    assert deferred("web.search.results")(request, key=1) is response
