"""What the process that runs the tests knows of tool servers, and its connections to them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from chatui.tools import server_registry
from chatui.tools.execution import tools_loop
from tests.support.new_process import forget

T = TypeVar("T")


def forget_servers() -> None:
    """Go on as a new process does, which has yet to read which servers there are and what was confirmed."""
    forget(server_registry)


def close_servers(*names: str) -> None:
    """Close the connections of this process to these servers, without names to all that it knows, and end their programs."""
    for name in names or [spec.name for spec in server_registry.specs()]:
        if connection := server_registry.connection(name):
            on_tools_loop(connection.close())


def on_tools_loop(work: Coroutine[Any, Any, T], seconds: float = 90) -> T:
    """What this returns on the event loop on which the product runs tools."""
    return asyncio.run_coroutine_threadsafe(work, tools_loop()).result(seconds)
