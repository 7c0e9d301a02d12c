"""Exports the audit log as JSON lines, with all hashed fields, or as CSV for spreadsheets."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from io import StringIO
from uuid import UUID

from chatui.audit_log.lines import Filters, rows
from chatui.audit_log.record import HASHED_COLUMNS

_CHUNK = 2000
_NAMES = (*HASHED_COLUMNS, "hash")
# Characters that start a formula in a spreadsheet, including full-width ones.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def json_lines(filters: Filters) -> Iterator[str]:
    """A JSON object for each line of the log, oldest first, each followed by a line break. Times are ISO 8601 with the UTC offset."""
    for row in _rows(filters):
        yield json.dumps(dict(zip(_NAMES, map(_plain, row), strict=True)), ensure_ascii=False) + "\n"


def csv_lines(filters: Filters) -> Iterator[str]:
    """A row of column names, then a row for each line of the log, oldest first (RFC 4180). No cell is a formula."""
    yield csv_row(_NAMES)
    for row in _rows(filters):
        yield csv_row([safe_cell(_plain(value)) for value in row])


FORMATS: dict[str, Callable[[Filters], Iterator[str]]] = {"jsonl": json_lines, "csv": csv_lines}


def _rows(filters: Filters) -> Iterator[tuple[object, ...]]:
    return rows(filters).order_by("number").values_list(*_NAMES).iterator(chunk_size=_CHUNK)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def safe_cell(value: object) -> object:
    """The value, with an apostrophe before it if a spreadsheet would read it as a formula."""
    # People choose their names and reasons: "=HYPERLINK(…)" must not become active in an auditor's spreadsheet.
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA) else value


def csv_row(values: object) -> str:
    """A line of a CSV file (RFC 4180), with its line break."""
    out = StringIO()
    csv.writer(out).writerow(values)  # type: ignore[arg-type]
    return out.getvalue()
