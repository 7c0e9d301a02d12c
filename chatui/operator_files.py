"""Reads the operator's TOML files: of model servers, tool servers, signing in, and instructions for groups; and replaces files.

What is invalid is left out, and there is a sentence for each mistake, with its place. No sentence quotes a value or the parser's message: a
credential may be in the wrong place, and some messages quote the line that they are about.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ValidationError, ValidationInfo

Model = TypeVar("Model", bound=BaseModel)


def _beside(path: Any, info: ValidationInfo) -> Any:
    return type(path)(info.context / path) if path and info.context is not None else path


BESIDE = AfterValidator(_beside)
"""Relative paths in a file, as ``Path`` or text, are relative to its directory."""
FilePath = Annotated[Path, BESIDE]


class NotTomlError(ValueError):
    """The text is not TOML. The message is a sentence without its subject, and gives the position."""


def toml(text: str) -> dict[str, Any]:
    """The content of a TOML text. Raises NotTomlError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotTomlError(f"is not TOML: {str(error).rpartition('(')[2].rstrip(')')}") from None
    except RecursionError:
        raise NotTomlError("is not TOML: it has too many brackets") from None


class OperatorFile:
    """One file, with what was found to be wrong so far in ``problems``. ``known``: its keys and tables. Never raises for its content;
    ``is_readable`` is False if nothing of it could be read.
    """

    def __init__(self, path: Path, known: Sequence[str]) -> None:
        self.content: dict[str, Any] = {}
        self.problems: list[str] = []
        self._directory = path.parent
        self._claimed: set[tuple[str, str]] = set()
        """Keys with the values that no later table may repeat."""
        try:
            self.content = toml(path.read_text(encoding="utf-8"))
        except OSError as error:
            self.problems.append(f"the file cannot be read ({os.strerror(error.errno or 0)})")
        except UnicodeDecodeError:
            self.problems.append("the file is not UTF-8")
        except NotTomlError as error:
            self.problems.append(f"the file {error}")
        self.is_readable = not self.problems
        self.problems += [unknown("table or key", key, known) for key in self.content if key not in known]

    def tables(self, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The ``[[key]]`` tables, each with its place for ``problems``."""
        tables = self.content.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self.problems.append(f"{key} must be written as [[{key}]], with two brackets, once for each")
            return
        for number, table in enumerate(tables, start=1):
            name = table.get("name")
            yield f"[[{key}]] {name if isinstance(name, str) and name.isprintable() and 0 < len(name) < 40 else number}", table

    def checked(self, place: str, model: type[Model], table: object) -> Model | None:
        """The table as a model, with absolute paths; None if it is invalid."""
        try:
            return model.model_validate(table, context=self._directory)
        except ValidationError as error:
            self.problems += [f"{place}: {sentence}" for sentence in sentences(error, model)]
            return None

    def claim(self, place: str, **values: str) -> bool:
        """Reserve these values for the table at ``place``. False, with a problem, if an earlier table has one of them: the first counts."""
        if repeated := [key for key, value in values.items() if (key, value) in self._claimed]:
            self.problems.append(f"{place}: the {repeated[0]} is given twice; the first one counts")
            return False
        self._claimed |= set(values.items())
        return True


_MESSAGES = {
    "bool_type": "must be true or false",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "string_type": "must be a text in quotes",
    "tuple_type": 'must be a list, such as ["one", "two"]',
    "list_type": 'must be a list, such as ["one", "two"]',
    "missing": "is missing",
}


def sentences(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """A sentence for each mistake in a model's values."""
    lines: list[str] = []
    for mistake in error.errors(include_input=False, include_url=False):
        place = ".".join(map(str, mistake["loc"]))
        raised = mistake.get("ctx", {}).get("error")
        if mistake["type"] == "extra_forbidden":
            lines.append(unknown("key", place, model.model_fields if len(mistake["loc"]) == 1 else ()))
        elif isinstance(raised, ValueError):
            lines += [f"{place} {problem}".strip() for problem in getattr(raised, "problems", (raised,))]
        elif mistake["type"] in _MESSAGES:
            lines.append(f"{place} {_MESSAGES[mistake['type']]}")
        else:
            lines.append(f"{place}: {mistake['msg'][:1].lower()}{mistake['msg'][1:]}")
    return lines


def unknown(what: str, given: str, known: Iterable[str]) -> str:
    """The sentence about an unknown word."""
    names = list(known)
    if near := get_close_matches(given, names, n=1):
        return f"there is no {what} {given[:60]!r}; did you mean {near[0]!r}?"
    return f"there is no {what} {given[:60]!r}" + (f"; known are: {', '.join(names)}" if names else "")
