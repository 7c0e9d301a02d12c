"""Deferred views: each name is that of a synchronous view, whose marks are not lost, and none is loaded before its first request."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from django.http import HttpResponse, HttpResponseBase
from django.test import AsyncClient, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from chatui.web import search
from chatui.web.deferred import Deferred
from tests.support.places import ROOT


def views(resolver: URLResolver | None = None) -> Iterator[Deferred]:
    """All deferred views."""
    for item in (resolver or get_resolver()).url_patterns:
        if isinstance(item, URLResolver):
            yield from views(item)
        elif isinstance(item, URLPattern) and isinstance(item.callback, Deferred):
            yield item.callback


def test_every_deferred_view_exists_and_is_synchronous() -> None:
    found = list(views())
    assert len(found) > 100, "the premise"
    for view in found:
        assert inspect.isfunction(view.loaded()) and not inspect.iscoroutinefunction(view.loaded())


def test_a_deferred_view_has_the_marks_of_the_view() -> None:
    marked = [view for view in views() if hasattr(view, "hidden_action")]
    assert len(marked) >= 10 and Deferred("web.debug.debug_open").hidden_action == "open debug view"
    assert Deferred("web.scim.users").csrf_exempt and not getattr(Deferred("web.search.results"), "csrf_exempt", False)
    assert not any(hasattr(view.loaded(), "should_append_slash") for view in views()), "a deferred view hides this mark"


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("method", "address", "is_loaded"),
    [("GET", "/search/", True), ("POST", "/search/", True), ("GET", "/search", False), ("POST", "/scim/v2/Users", True)],
)
async def test_no_request_loads_a_view_on_the_event_loop(
    method: str, address: str, is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading: list[threading.Thread] = []
    load = Deferred.loaded

    def loaded(view: Deferred) -> Callable[..., HttpResponseBase]:
        loading.append(threading.current_thread())
        return load(view)

    for view in views():
        monkeypatch.setattr(view, "is_loaded", False)
    monkeypatch.setattr(Deferred, "loaded", loaded)
    await AsyncClient(enforce_csrf_checks=True).generic(method, address)
    assert bool(loading) is is_loaded
    assert threading.current_thread() not in loading


def test_a_deferred_view_gets_the_request_and_what_the_address_names(monkeypatch: pytest.MonkeyPatch) -> None:
    request, response = RequestFactory().get("/"), HttpResponse()
    monkeypatch.setattr(search, "results", lambda *given, **named: response if (given, named) == ((request,), {"key": 1}) else None)
    assert Deferred("web.search.results")(request, key=1) is response


READ = """
import sys
from django.urls import resolve, reverse
import chatui.asgi
assert reverse("search") == "/search/"
resolve("/search/")
print([name for name in ("chatui.web.search", "chatui.web.debug", "chatui.web.scim", "chatui.urls") if name in sys.modules])
"""


@pytest.mark.slow
def test_reading_the_url_configuration_loads_no_deferred_view() -> None:
    done = subprocess.run([sys.executable, "-c", READ], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "['chatui.urls']"
