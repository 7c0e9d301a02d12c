"""Lines and reports of errors, as the settings have them made: which classes do it is of no concern to a test."""

import logging
from types import TracebackType
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.module_loading import import_string

Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def formatter(name: str = "text", form: str = "%(message)s") -> logging.Formatter:
    """``text`` for people, or ``json`` for programs. ``form``: of the text, instead of the one in the settings."""
    formatters: Any = settings.LOGGING["formatters"]
    made: logging.Formatter = import_string(formatters[name]["()"])(form)
    return made


def report(request: HttpRequest | None, raised: Raised = (None, None, None)) -> Any:
    """The report of an error that admins are mailed; its texts are ``get_traceback_text()`` and ``get_traceback_html()``."""
    return import_string(settings.DEFAULT_EXCEPTION_REPORTER)(request, *raised)
