"""Views that are loaded with their first request: most processes serve few of the pages, and all of them together take 4 MB."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.http import HttpRequest, HttpResponseBase


def deferred(name: str) -> Callable[..., HttpResponseBase]:
    """The synchronous view with this name, such as ``web.search.results``. A test loads all of them.

    The thread that serves the request loads it, so that the event loop need not wait. A decorator that marks a view for a middleware, such
    as ``csrf_exempt``, would have no effect: such views are not deferred.
    """
    module, _, function = name.rpartition(".")

    def view(request: HttpRequest, *args: Any, **named: Any) -> HttpResponseBase:
        loaded: Callable[..., HttpResponseBase] = getattr(import_module(f"chatui.{module}"), function)
        return loaded(request, *args, **named)

    return view
