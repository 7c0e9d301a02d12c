"""The operator's instructions: for everybody, and for members of groups, from the TOML file of CHATUI_GROUP_INSTRUCTIONS_FILE."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from chatui.env import environment
from chatui.operator_files import OperatorFile

log = logging.getLogger(__name__)

TABLE = "groups"


@dataclass(frozen=True, slots=True)
class GroupInstructions:
    """The parsed instructions file."""

    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The instructions by group name, in the order of the file."""
    problems: tuple[str, ...] = ()
    """Never quote the instructions."""


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
    file = OperatorFile(path, (TABLE,))
    table = file.content.get(TABLE, {})
    if not isinstance(table, dict):
        file.problems.append(f"{TABLE} must be a table, with a text for each group")
        table = {}
    elif file.is_readable and not table:
        file.problems.append(f"the table {TABLE} names no group")
    file.problems += [f"the group {name!r} needs a text, in quotation marks" for name, text in table.items() if not _is_text(text)]
    for problem in file.problems:
        log.error("CHATUI_GROUP_INSTRUCTIONS_FILE: %s", problem)
    return GroupInstructions({name: text.strip() for name, text in table.items() if _is_text(text)}, tuple(file.problems))


def _is_text(text: object) -> bool:
    # No database can store the character NUL.
    return isinstance(text, str) and bool(text.strip()) and "\0" not in text
