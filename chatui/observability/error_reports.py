"""Removes exception messages from logs, because they may quote a conversation.

The exception type and the traceback remain, without any variables. Databases quote the refused row, parsers their input. Only messages of
exceptions about files, networks and settings are kept.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import ItemsView, Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.utils.html import format_html
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from chatui.observability.request_ids import request_id

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

FIELDS = (
    *("turn", "backend", "state", "code", "status", "cause", "seconds", "input_tokens", "output_tokens"),
    *("view", "outcome", "way", "person", "kind", "address"),
)
"""The allowed ``extra`` fields of a log record, each a word, a number or a fixed text."""

_QUOTED = (OSError, ImportError, ImproperlyConfigured)


class SafeTextFormatter(logging.Formatter):
    """Formats log lines. Their tracebacks name files, lines and functions only."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the line. The record is left unchanged for other handlers."""
        line = logging.makeLogRecord(vars(record))  # not ``copy``, which imports: what a process reports as it ends would be lost
        fields = fields_of(record)
        line.msg, line.args, line.exc_text = " ".join(filter(None, (_safe_message(record), *_logfmt(fields)))), None, None
        return without_tokens(super().format(line))

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - the name is logging's
        """The traceback of ``logging``'s exception triple, without messages."""
        return "" if ei[1] is None else traceback_without_messages(ei[1])


class JsonFormatter(SafeTextFormatter):
    """Log lines as JSON objects for log collectors, as safe as the lines of text."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": without_tokens(_safe_message(record)),
        }
        if record.exc_info and record.exc_info[1]:
            fields["exception"] = without_tokens(traceback_without_messages(record.exc_info[1]))
        return json.dumps({**fields, **fields_of(record)}, default=str)


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """The structured fields of a log record, and the request that it was written for: a record is formatted where it was written. Only
    these names: other packages attach whole requests to their records."""
    found: dict[str, object] = {"request": current} if (current := request_id.get()) else {}
    return found | {name: value for name in FIELDS if (value := getattr(record, name, None)) not in (None, "")}


def _logfmt(fields: Mapping[str, object]) -> Iterator[str]:
    """``key=value``, with quotation marks around the value if needed. Our own code: a logging framework costs every process megabytes."""
    for name, value in fields.items():
        text = str(value)
        is_quoted = " " in text or "=" in text or '"' in text
        text = (text.replace("\\", "\\\\") if is_quoted else text).replace('"', '\\"').replace("\n", "\\n")
        yield f'{name}="{text}"' if is_quoted else f"{name}={text}"


class SafeExceptionReporter(ExceptionReporter):
    """The text of Django's error mails and of its debug-mode error page: the same as in the log, and only the path of the request."""

    def get_traceback_text(self) -> str:  # type: ignore[override]
        where = f"{self.request.method} {without_tokens(self.request.path)}\n" if self.request else ""
        return where + (traceback_without_messages(self.exc_value) if self.exc_value else "no exception\n")

    def get_traceback_html(self) -> Any:
        return format_html("<!doctype html><title>Error</title><pre>{}</pre>", self.get_traceback_text())


class HideEverythingFilter(SafeExceptionReporterFilter):
    """A second barrier, for code that uses Django's own reporter: no variables and no form fields."""

    def is_active(self, request: Any) -> bool:
        """In debug mode, too."""
        return True

    def get_post_parameters(self, request: Any) -> dict[str, str]:
        """The names alone."""
        return dict.fromkeys(request.POST, self.cleansed_substitute) if request is not None else {}

    def get_traceback_frame_variables(self, request: Any, tb_frame: Any) -> ItemsView[str, Any]:
        """None."""
        return {}.items()


def traceback_without_messages(error: BaseException) -> str:
    """An exception and its causes, the first one first: Python's own traceback without the messages."""
    return "\n".join(_lines(error, set())) + "\n"


_TOKEN = re.compile(r"(?<![\w-])/(s|(?:invitation|password/link)/[\w-]+)/[\w-]+")


def without_tokens(text: str) -> str:
    """``text`` without the tokens of share links, invitations and links for a password:

    Django logs the addresses of refused requests, even if the link is valid and only the form is not, and a token gives access.
    """
    return _TOKEN.sub(r"/\1/(token)", text)


def _safe_message(record: logging.LogRecord) -> str:
    """The message. Daphne puts an exception, a whole traceback or a task into it: of those, the type and the file positions remain; of
    asyncio's messages, one line.
    """
    args = record.args
    if isinstance(args, tuple):
        args = tuple(map(_named, args))
    message = record.msg if not args else str(record.msg) % args
    error = getattr(message, "value", message)  # Twisted's Failure has the exception in it
    if isinstance(error, BaseException):
        return type(error).__qualname__
    if record.name == "asyncio":
        # The other lines are reprs, of a task, which quotes its exception, or of a callback's arguments.
        return next(iter(str(message).splitlines()), "")
    if _TRACEBACK not in str(message):
        return str(message)
    return "\n".join([_TRACEBACK, *(line for line in str(message).splitlines() if _PLACE.match(line))])


def _named(arg: object) -> object:
    """An argument of a log line, as it is reported. Only the type is reported of an exception, and of an object whose repr shows what is in
    it (a task with its coroutine, a request with its address)."""
    if isinstance(arg, BaseException):
        return type(arg).__qualname__
    shown = _SHOWN.match(str(arg))
    return shown[1] if shown else arg


_SHOWN = re.compile(r"<(?:[\w.]+\.)?(\w+) .*>\Z", re.DOTALL)
_TRACEBACK = "Traceback (most recent call last):"
_PLACE = re.compile(r'  File "[^"\n]*", line \d+, in ')


def _lines(error: BaseException, seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None and id(earlier) not in seen:
        yield from _lines(earlier, seen)
        yield "which led to"
    yield _TRACEBACK
    for frame in traceback.extract_tb(error.__traceback__, limit=-40):
        yield f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}'
    yield f"{type(error).__module__}.{type(error).__qualname__}{_safe_text(error)}"
    for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        if id(inner) not in seen:
            yield from _lines(inner, seen)


def _safe_text(error: BaseException) -> str:
    """The part of an exception that may be quoted: the product's own errors have a code, which is safe; few others are."""
    code = getattr(error, "code", None)
    if isinstance(code, str) and code.startswith("E-"):
        return f": {code}"
    return f": {error}" if isinstance(error, _QUOTED) else ""


def log_without_content(log: logging.Logger, turn_id: UUID | None, error: BaseException) -> None:
    """Log an exception without its message, which may quote a transcript. ``turn_id``: None if it is not known whether there is one."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s failed: %s\n%s", "a request" if turn_id is None else f"turn {turn_id}", type(error).__name__, frames)
