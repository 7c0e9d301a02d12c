"""What the process that runs the tests knows of tool servers."""

from collections.abc import Collection

from chatui.tools import server_registry
from chatui.tools.server_registry import ServerConnection
from tests.support.new_process import forget


def forget_servers() -> None:
    """Go on as a new process does, which has yet to read which servers there are and what was confirmed."""
    forget(server_registry)


def known_connections() -> Collection[ServerConnection]:
    """The connections of this process to all servers that it knows."""
    return [connection for spec in server_registry.specs() if (connection := server_registry.connection(spec.name))]
