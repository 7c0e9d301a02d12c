"""Reads the operator's TOML file of back ends: the valid ones, and a sentence for each mistake."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from chatui.backends.spec.definition import BackendSpec, SpecError, check_spec, unknown

_FILES = ("key_file", "ca_file", "certificate_file", "certificate_key_file")


@dataclass(frozen=True, slots=True)
class SpecFile:
    """The content of a file: the valid specs, in its order, and a sentence for each problem."""

    specs: tuple[BackendSpec, ...] = ()
    problems: tuple[str, ...] = ()


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
    for number, table in enumerate(tables, start=1):
        where = f"back end {table['name']!r}" if isinstance(table.get("name"), str) else f"back end {number}"
        try:
            spec = check_spec(table)
        except SpecError as error:
            problems += [f"{where}: {problem}" for problem in error.problems]
            continue
        if spec.name in specs:
            problems.append(f"{where}: the name is given twice; the first counts")
            continue
        if base:
            spec = spec.model_copy(update={name: str(base / path) for name in _FILES if (path := getattr(spec, name))})
        specs[spec.name] = spec
    return SpecFile(tuple(specs.values()), tuple(problems))
