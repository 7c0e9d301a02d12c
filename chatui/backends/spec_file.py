"""Reads and writes the operator's TOML file of backends.

Reading yields the valid ones, and a sentence for each mistake. Writing changes one backend, and leaves every other line and comment as it
is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatui.backends.spec import BackendSpec, without_retired
from chatui.operator_files import NotTomlError, OperatorFile, toml


@dataclass(frozen=True, slots=True)
class SpecFile:
    """The content of a file: the valid specs, in its order, a sentence for each problem, and one for each setting that does nothing."""

    specs: tuple[BackendSpec, ...] = ()
    problems: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()


def read_file(path: Path) -> SpecFile:
    """The ``[[backend]]`` tables of a TOML file. Invalid tables are left out and reported; never raises for the content of a file."""
    file = OperatorFile(path, ("backend",))
    if file.is_readable and file.content.get("backend", []) == []:
        file.problems.append("there is no [[backend]] in it")
    specs: list[BackendSpec] = []
    retired: list[str] = []
    for place, table in file.tables("backend"):
        kept, old = without_retired(table)
        retired += [f"{place}: {sentence}" for sentence in old]
        spec = file.checked(place, BackendSpec, kept)
        if spec and file.is_first(place, name=spec.name):
            specs.append(spec)
    return SpecFile(tuple(specs), tuple(file.problems), tuple(retired))


Value = str | int | float | bool | tuple[str, ...] | Mapping[str, Any]

_HEADER = re.compile(r"\s*\[\[\s*backend\s*\]\]\s*(?:#.*)?$")
_ANY_HEADER = re.compile(r"\s*\[")


class SpecFileError(ValueError):
    """The file cannot be changed this way; the message is a sentence for the operator."""


def has_table(text: str, name: str) -> bool:
    """Whether there is a ``[[backend]]`` of that name. Raises SpecFileError if the text is not TOML, or not such a file."""
    return _position(_tables(text), name) is not None


def with_new_table(text: str, values: Mapping[str, Value]) -> str:
    """``text`` with a new table at its end. Raises SpecFileError if it already has one of that name."""
    tables = _tables(text)
    if _position(tables, values["name"]) is not None:
        raise SpecFileError(f"there is a model server {values['name']} in it already")
    before = text if not text or text.endswith("\n") else f"{text}\n"
    return _checked(f"{before}{chr(10) if before else ''}{table(values)}", text, [*tables, _plain(values)])


def with_changes(text: str, name: str, changes: Mapping[str, Value]) -> str:
    """``text`` with other values in the table of that name. Comments stay, also those after values.

    Raises:
        SpecFileError: there is no such table, or it is written in a way that cannot be changed safely, such as a value over several lines.
    """
    tables = _tables(text)
    position = _position(tables, name)
    lines = text.splitlines(keepends=True)
    headers = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    if position is None or len(headers) != len(tables):
        raise SpecFileError(f"the table of model server {name} could not be found in it")
    first = headers[position] + 1
    last = next((number for number in range(first, len(lines)) if _ANY_HEADER.match(lines[number])), len(lines))
    body = lines[first:last]
    for key, value in changes.items():
        body = _set(body, key, _written(value))
    tables[position] = {**tables[position], **_plain(changes)}
    return _checked("".join([*lines[:first], *body, *lines[last:]]), text, tables)


def table(values: Mapping[str, Value]) -> str:
    return "[[backend]]\n" + "".join(f"{key} = {_written(value)}\n" for key, value in values.items())


def _set(body: list[str], key: str, written: str) -> list[str]:
    pattern = re.compile(rf"(\s*{re.escape(key)}\s*=\s*)(?:[^#\"\r\n]|\"[^\"\r\n]*\")*?(\s*#.*)?(\r?\n?)$")
    for number, line in enumerate(body):
        if found := pattern.match(line):
            return [*body[:number], f"{found[1]}{written}{found[2] or ''}{found[3]}", *body[number + 1 :]]
    end = max((number + 1 for number, line in enumerate(body) if line.strip() and not line.lstrip().startswith("#")), default=0)
    before = body[:end]
    if before and not before[-1].endswith("\n"):
        before[-1] += "\n"
    return [*before, f"{key} = {written}\n", *body[end:]]


def _checked(text: str, before: str, expected: list[dict[str, Any]]) -> str:
    """Returns the text only if it parses to exactly the intended change."""
    with suppress(NotTomlError):
        if toml(text) == toml(before) | {"backend": expected}:
            return text
    raise SpecFileError("it is written in a way that cannot be changed safely; change it by hand")


def _tables(text: str) -> list[dict[str, Any]]:
    try:
        tables = toml(text).get("backend", [])
    except NotTomlError as error:
        raise SpecFileError(f"it {error}") from None
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise SpecFileError("it is no file of model servers")
    return tables


def _position(tables: list[dict[str, Any]], name: object) -> int | None:
    return next((number for number, one in enumerate(tables) if one.get("name") == name), None)


def _plain(values: Mapping[str, Value]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _written(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{json.dumps(key, ensure_ascii=False)} = {_written(one)}" for key, one in value.items())
        return f"{{ {inside} }}"
    return json.dumps(value, ensure_ascii=False)
