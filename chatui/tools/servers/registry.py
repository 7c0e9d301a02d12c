"""The tools of other servers in this process: those that the operator named and confirmed, and that have not changed since.

Nothing here waits for a server: definitions are stored when they are confirmed, so a server that is down does not delay the start. A
server's current tools are checked in the background, and before a call if the last check is old.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from chatui.env import environment
from chatui.tools import arguments, functions
from chatui.tools.execution import tools_loop
from chatui.tools.mcp.server import McpServer
from chatui.tools.openapi.server import OpenApiServer
from chatui.tools.remote.offer import Offer, Server
from chatui.tools.remote.server_definition import McpSpec, OpenApiSpec
from chatui.tools.servers import confirmations, reading
from chatui.tools.servers.confirmations import Confirmations, UnreadableError
from chatui.tools.servers.connection import LISTED_SECONDS, ServerConnection
from chatui.tools.tool import Tool, ToolUnusableError

log = logging.getLogger(__name__)

_SLACK_SECONDS = 1.0
"""How much longer a tool's time limit is than its server's, so that a timeout counts as the server's failure."""


def tools() -> dict[str, Tool]:
    """The tools that may be offered now, by name."""
    path = environment().tools_file
    if path is None:
        return {}
    known = _known(path)
    return {made.tool.name: made.tool for made in known.made(environment().data_dir) if not made.watched.changed(made.offer)}


def refresh_if_due() -> None:
    """Check for changes of the servers' tools in the background, if the last check is old."""
    path = environment().tools_file
    if path is not None:
        _known(path).refresh_if_due()


def server_of(spec: OpenApiSpec | McpSpec) -> Server:
    """The server that a table in the file describes."""
    return McpServer(spec) if isinstance(spec, McpSpec) else OpenApiServer(spec)


@dataclass(frozen=True, slots=True)
class _ServerTool:
    tool: Tool
    offer: Offer
    watched: ServerConnection


class _ToolServers:
    """The servers of one file, and the tools created from the confirmations. They are created again when the confirmations change."""

    def __init__(self, path: Path) -> None:
        file = reading.read_file(path)
        for problem in file.problems:
            log.error("CHATUI_TOOLS_FILE: %s", problem)
        self._servers = {spec.name: ServerConnection(spec, server_of(spec)) for spec in file.servers}
        self._stamp: tuple[int, int] | None = None
        self._made: list[_ServerTool] = []
        self._lock = threading.Lock()
        self._checked_at = float("-inf")

    def made(self, data_dir: Path) -> list[_ServerTool]:
        with self._lock:
            stamp = confirmations.confirmation_stamp(data_dir)
            if stamp != self._stamp:
                self._made, self._stamp = list(self._from(_read(data_dir))), stamp
            return self._made

    def _from(self, confirmations: Confirmations) -> list[_ServerTool]:
        found = []
        for each in confirmations.tools.values():
            watched = self._servers.get(each.offer.server)
            if watched is None or each.offer.remote not in _selected(watched):
                continue
            try:
                found.append(_ServerTool(tool_of(each.offer, watched), each.offer, watched))
            except ToolUnusableError as error:
                log.error("tool %s is not offered: %s", each.offer.name, error)
        return found

    def refresh_if_due(self) -> None:
        if time.monotonic() - self._checked_at < LISTED_SECONDS:
            return
        self._checked_at = time.monotonic()
        for watched in self._servers.values():
            asyncio.run_coroutine_threadsafe(watched.refresh(), tools_loop())


@cache
def _known(path: Path) -> _ToolServers:
    return _ToolServers(path)


def tool_of(offer: Offer, watched: ServerConnection) -> Tool:
    """The tool for an offer. Its label is the operator's.

    Raises:
        ToolUnusableError: the tool cannot be offered.
    """
    arguments.fault(offer.parameters, {})
    label = watched.spec.labels.get(offer.remote) or functions.DEFAULT_LABEL
    functions.check_label(label, offer.parameters)
    run: Any = partial(watched.call, offer)
    return Tool(
        name=offer.name,
        description=offer.description,
        parameters=offer.parameters,
        run=run,
        is_async=True,
        label=label,
        source=offer.server,
        seconds=watched.spec.seconds + _SLACK_SECONDS,
        revision=offer.digest(),
    )


def _selected(watched: ServerConnection) -> list[str]:
    spec: Any = watched.spec
    return list(spec.selected)


def _read(data_dir: Path) -> Confirmations:
    try:
        return confirmations.read(data_dir)
    except UnreadableError as error:
        log.error("no tool of another server is offered: %s", error)
        return Confirmations()
