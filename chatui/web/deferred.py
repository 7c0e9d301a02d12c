"""Views that are loaded with their first request: most processes serve few of the pages, and all of them together take 4 MB."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.http import HttpRequest, HttpResponseBase


class Deferred:
    """A synchronous view by its name, such as ``web.search.results``; a test loads all of them.

    Its marks, such as ``csrf_exempt`` and ``hidden_action``, are those of the loaded view, so reading one loads it. Code on the event loop
    must not read any before ``is_loaded``: the first to read one is ``CsrfViewMiddleware``, which then uses a thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_loaded = False

    def __call__(self, request: HttpRequest, *args: Any, **named: Any) -> HttpResponseBase:
        return self.loaded()(request, *args, **named)

    def __getattr__(self, name: str) -> Any:
        # Django asks each view for these when it reads the URL configuration, which must not load all views, and for the last one on the
        # event loop, when an address lacks its slash. A test checks that no view has it.
        if name.startswith("_") or name in ("view_class", "should_append_slash"):
            raise AttributeError(name)
        return getattr(self.loaded(), name)

    def loaded(self) -> Callable[..., HttpResponseBase]:
        """The view itself."""
        module, _, function = self._name.rpartition(".")
        view: Callable[..., HttpResponseBase] = getattr(import_module(f"chatui.{module}"), function)
        self.is_loaded = True
        return view
