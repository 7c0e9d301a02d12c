"""No loop waits with ``asyncio.gather``: since Python 3.12 it returns at once if all its tasks are done, without a step of the event loop.
What the loop waits for often happens in such a step, for example in the callback of one of those tasks; it would then wait for ever, and
nothing else would run. ``asyncio.wait`` always gives the event loop a step."""

import ast

from tests.architecture.sources import Source, python_sources


def loops_with_gather(source: Source) -> list[int]:
    """The lines of calls of ``gather`` inside a ``while`` loop of this file."""
    loops = [node for node in source.nodes() if isinstance(node, ast.While)]
    return [each.lineno for loop in loops for each in ast.walk(loop) if isinstance(each, ast.Call) and _name(each.func) == "gather"]


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def test_no_loop_waits_with_gather() -> None:
    found = {source.path: lines for source in python_sources("chatui/", "renderer/", "tests/") if (lines := loops_with_gather(source))}
    assert not found, "use asyncio.wait there"
