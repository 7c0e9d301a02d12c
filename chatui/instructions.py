"""The operator's instructions: for everybody, and for members of groups, from the TOML file of CHATUI_GROUP_INSTRUCTIONS_FILE."""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from chatui.env import environment

log = logging.getLogger(__name__)

TABLE = "groups"


@dataclass(frozen=True, slots=True)
class GroupInstructions:
    """The parsed instructions file. ``texts`` has the instructions by group name, in the order of the file. ``problems`` never quotes
    them.
    """

    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    problems: tuple[str, ...] = ()


def group_instructions() -> GroupInstructions:
    """The content of the file, read once per process."""
    path = environment().group_instructions_file
    return GroupInstructions() if path is None else read_file(path)


def instructions_for(groups: Callable[[], Collection[str]]) -> str:
    """The operator's instructions to a model that answers this person: first those for everybody, then those of each of their groups,
    in the order of the file. ``groups``: reads their names; called only if needed.
    """
    texts = group_instructions().texts
    names = set(groups()) if texts else set()
    return "\n\n".join(filter(None, (environment().instructions, *(text for name, text in texts.items() if name in names))))


def instruction_texts() -> dict[str, str]:
    """All instruction texts of the operator, by the name that staff see."""
    found = {f"instructions of the group {name}": text for name, text in group_instructions().texts.items()}
    return {"instructions": environment().instructions} | found


@cache
def read_file(path: Path) -> GroupInstructions:
    """The file at ``path``. Never raises because of its content. Problems are logged, as a server may run without the system checks."""
    found = _read(path)
    for problem in found.problems:
        log.error("CHATUI_GROUP_INSTRUCTIONS_FILE: %s", problem)
    return found


def parsed(text: str) -> GroupInstructions:
    """As ``read_file``, but from text."""
    try:
        parsed_file = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Only the position, because some messages quote the file.
        return GroupInstructions(problems=(f"the file is not TOML: {str(error).rpartition('(')[2].rstrip(')')}",))
    table = parsed_file.get(TABLE, {})
    if not isinstance(table, dict):
        return GroupInstructions(problems=(f"{TABLE} must be a table, with a text for each group",))
    problems = [f"the key {key!r} is unknown; the only one is {TABLE}" for key in parsed_file if key != TABLE]
    problems += _problems(table)
    return GroupInstructions({name: text.strip() for name, text in table.items() if _is_text(text)}, tuple(problems))


def _read(path: Path) -> GroupInstructions:
    try:
        return parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        return GroupInstructions(problems=(f"the file cannot be read ({os.strerror(error.errno or 0)})",))
    except UnicodeDecodeError:
        return GroupInstructions(problems=("the file is not UTF-8",))


def _problems(table: Mapping[str, Any]) -> Iterator[str]:
    if not table:
        yield f"the table {TABLE} names no group"
    for name, text in table.items():
        if not _is_text(text):
            yield f"the group {name!r} needs a text, in quotation marks"


def _is_text(text: object) -> bool:
    # No database can store the character NUL.
    return isinstance(text, str) and bool(text.strip()) and "\0" not in text
