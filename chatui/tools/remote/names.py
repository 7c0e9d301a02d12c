"""Our names for the tools of other servers: ``server_tool``. They are mapped back by a table, never parsed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from chatui.tools.tool import TRAINED_NAMES

SERVER_NAME = re.compile(r"[a-z][a-z0-9]{0,19}")
"""The name of a server, which is the prefix of its tools' names."""
_MAX_NAME_CHARS = 64
_HASH = 6
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def tool_name(server: str, remote: str, taken: Collection[str]) -> str:
    """The model's name for the tool ``remote`` of ``server``. A name that is too long, or ``taken``, ends in a hash."""
    own = re.sub(r"[^a-z0-9]+", "_", _HUMP.sub("_", remote).lower()).strip("_")
    name = f"{server}_{own}"
    if not own or len(name) > _MAX_NAME_CHARS or name in taken or name in TRAINED_NAMES:
        suffix = hashlib.sha256(remote.encode("utf-8", "replace")).hexdigest()[:_HASH]
        name = f"{name[: _MAX_NAME_CHARS - _HASH - 1].rstrip('_')}_{suffix}"
    return name


def argument_name(wire: str, taken: Collection[str]) -> str | None:
    """An argument's name for the model; None if no valid characters are left, or the name is ``taken``."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", wire).strip("_")[:_MAX_NAME_CHARS]
    if not name or name in taken:
        return None
    return name if not name[0].isdigit() else f"n{name}"[:_MAX_NAME_CHARS]
