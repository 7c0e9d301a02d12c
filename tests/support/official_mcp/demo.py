"""An MCP server based on the official package, run in a separate environment: over standard input and output, or at a port."""

import asyncio
import os
import sys

from mcp.server import MCPServer  # type: ignore[import-not-found]

server = MCPServer("demo")


@server.tool()  # type: ignore[untyped-decorator]
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()  # type: ignore[untyped-decorator]
async def sleep(seconds: float) -> str:
    """Sleeps, and then says so in a file."""
    await asyncio.sleep(seconds)
    return "slept"


@server.tool()  # type: ignore[untyped-decorator]
def fail() -> str:
    """Fails."""
    raise ValueError("no such thing")


@server.tool()  # type: ignore[untyped-decorator]
def variables() -> list[str]:
    """Names the variables of its environment."""
    return sorted(os.environ)


words: list[str] = []


@server.tool()  # type: ignore[untyped-decorator]
def keep(word: str) -> list[str]:
    """Keeps a word in the program's memory, and returns all that were kept."""
    words.append(word)
    return words


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
