"""Reads the operator's TOML file of tool servers: the valid ones, and a message for each mistake, which never quotes a value."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from chatui.tools.remote.credentials import CredentialSource
from chatui.tools.remote.server_definition import McpSpec, OpenApiSpec

KINDS: Mapping[str, type[OpenApiSpec | McpSpec]] = {"openapi": OpenApiSpec, "mcp": McpSpec}
MAX_SERVERS = 20


@dataclass(frozen=True, slots=True)
class ToolsFile:
    """The content of the file: the valid servers, in order, and a sentence for each mistake."""

    servers: tuple[OpenApiSpec | McpSpec, ...] = ()
    problems: tuple[str, ...] = ()


def read_file(path: Path) -> ToolsFile:
    """The ``[[openapi]]`` and ``[[mcp]]`` tables. Never raises for the content of a file."""
    try:
        return parsed(path.read_text(encoding="utf-8"), path.parent)
    except OSError as error:
        return ToolsFile(problems=(f"the file cannot be read ({os.strerror(error.errno or 0)})",))
    except UnicodeDecodeError:
        return ToolsFile(problems=("the file is not UTF-8",))


def parsed(text: str, base: Path) -> ToolsFile:
    """The content of the file, from its text. Relative paths are relative to ``base``."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Without the text after the position: some messages quote the file, which may hold a credential by mistake.
        return ToolsFile(problems=(f"the file is not TOML: {str(error).rpartition('(')[2].rstrip(')')}",))
    problems = [f"{key}: there is no such table; there are [[openapi]] and [[mcp]]" for key in content if key not in KINDS]
    servers: dict[str, OpenApiSpec | McpSpec] = {}
    for where, kind, table in _tables(content):
        try:
            server = KINDS[kind].model_validate(table)
        except ValidationError as error:
            problems += [f"{where}: {problem}" for problem in _sentences(error)]
            continue
        if server.name in servers:
            problems.append(f"{where}: the name is given twice; the first server is used")
        elif len(servers) == MAX_SERVERS:
            problems.append(f"{where}: there are more than {MAX_SERVERS} servers")
        else:
            servers[server.name] = _placed(server, base)
    return ToolsFile(tuple(servers.values()), tuple(problems))


def _tables(content: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for kind in KINDS:
        tables = content.get(kind, [])
        for number, table in enumerate(tables if isinstance(tables, list) else [tables], start=1):
            name = table.get("name") if isinstance(table, dict) else None
            yield f"[[{kind}]] {name if isinstance(name, str) and len(name) < 40 else number}", kind, table


def _sentences(error: ValidationError) -> Iterator[str]:
    """The position and kind of each mistake; never the value."""
    for each in error.errors(include_input=False, include_url=False, include_context=False):
        place = ".".join(str(part) for part in each["loc"])
        yield f"{place}: {each['msg']}" if place else each["msg"]


def _placed(server: OpenApiSpec | McpSpec, base: Path) -> OpenApiSpec | McpSpec:
    """The server with absolute paths."""
    changed: dict[str, Any] = {"headers": _hidden(server.headers, base)}
    if isinstance(server, OpenApiSpec):
        changed |= {"document": base / server.document, "query": _hidden(server.query, base)}
    else:
        changed |= {"environment": _hidden(server.environment, base), "directory": server.directory and base / server.directory}
    return server.model_copy(update=changed)


def _hidden(values: Mapping[str, CredentialSource], base: Path) -> dict[str, CredentialSource]:
    return {name: each.model_copy(update={"file": each.file and base / each.file}) for name, each in values.items()}
