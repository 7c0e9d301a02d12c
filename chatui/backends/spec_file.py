"""Reads and writes the operator's TOML file of backends.

Reading yields the valid ones, and a sentence for each mistake. Writing changes one backend, and leaves every other line and comment as it
is.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatui.backends.spec import BackendSpec, SpecError, check_spec, unknown, without_retired

_FILES = ("key_file", "ca_file", "certificate_file", "certificate_key_file")


@dataclass(frozen=True, slots=True)
class SpecFile:
    """The content of a file: the valid specs, in its order, a sentence for each problem, and one for each setting that does nothing."""

    specs: tuple[BackendSpec, ...] = ()
    problems: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()


def read_file(path: Path) -> SpecFile:
    """The ``[[backend]]`` tables of a TOML file. Invalid tables are left out and reported; never raises for the content of a file."""
    try:
        return parse_specs(path.read_text(encoding="utf-8"), base=path.parent)
    except OSError as error:
        return SpecFile(problems=(f"the file cannot be read ({os.strerror(error.errno or 0)})",))
    except UnicodeDecodeError:
        return SpecFile(problems=("the file is not UTF-8",))


def parse_specs(text: str, base: Path | None = None) -> SpecFile:
    """As ``read_file``, from its text. The relative path of a file is relative to ``base``."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return SpecFile(problems=(f"the file is not TOML: {error}",))
    problems = [unknown("table or key", key, ("backend",)) for key in document if key != "backend"]
    tables = document.get("backend", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        return SpecFile(problems=(*problems, "backend must be written as [[backend]], with two brackets, once for each back end"))
    if not tables:
        problems.append("there is no [[backend]] in it")
    specs: dict[str, BackendSpec] = {}
    retired: list[str] = []
    for number, table in enumerate(tables, start=1):
        where = f"back end {table['name']!r}" if isinstance(table.get("name"), str) else f"back end {number}"
        kept, old = without_retired(table)
        retired += [f"{where}: {sentence}" for sentence in old]
        try:
            spec = check_spec(kept)
        except SpecError as error:
            problems += [f"{where}: {problem}" for problem in error.problems]
            continue
        if spec.name in specs:
            problems.append(f"{where}: the name is given twice; the first counts")
            continue
        if base:
            spec = spec.model_copy(update={name: str(base / path) for name in _FILES if (path := getattr(spec, name))})
        specs[spec.name] = spec
    return SpecFile(tuple(specs.values()), tuple(problems), tuple(retired))


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
        raise SpecFileError(f"there is a back end {values['name']} in it already")
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
        raise SpecFileError(f"the table of back end {name} could not be found in it")
    first = headers[position] + 1
    last = next((number for number in range(first, len(lines)) if _ANY_HEADER.match(lines[number])), len(lines))
    body = lines[first:last]
    for key, value in changes.items():
        body = _set(body, key, _written(value))
    tables[position] = {**tables[position], **_plain(changes)}
    return _checked("".join([*lines[:first], *body, *lines[last:]]), text, tables)


def table(values: Mapping[str, Value]) -> str:
    """One ``[[backend]]`` table."""
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
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        document = {}
    others = {key: value for key, value in tomllib.loads(before).items() if key != "backend"}
    if document != {**others, "backend": expected}:
        raise SpecFileError("it is written in a way that cannot be changed safely; change it by hand")
    return text


def _tables(text: str) -> list[dict[str, Any]]:
    try:
        tables = tomllib.loads(text).get("backend", [])
    except tomllib.TOMLDecodeError as error:
        raise SpecFileError(f"it is not TOML: {error}") from error
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise SpecFileError("it is no file of back ends")
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
