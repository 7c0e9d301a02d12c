"""Tool combinations: a tool that reads private data is never offered together with one that sends data out."""

from __future__ import annotations

from itertools import permutations

import pytest

from chatui.tools.catalogue import combine
from chatui.tools.tool import Tool
from tests.support import environment


def a_tool(name: str, *, private: bool = False, outside: bool = False) -> Tool:
    return Tool(name, "", {}, lambda arguments: None, reads_private_data=private, sends_outside=outside)


CLOCK = a_tool("clock")
FILES = a_tool("files", private=True)
WIKI = a_tool("wiki", private=True)
MAIL = a_tool("mail", outside=True)
POST = a_tool("post", outside=True)
BOTH = a_tool("both", private=True, outside=True)
OTHER = a_tool("other", private=True, outside=True)


def offered(*tools: Tool, used: tuple[str, ...] = ()) -> list[str]:
    return list(combine({tool.name: tool for tool in tools}, used).offered)


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ((CLOCK, FILES, WIKI), ["clock", "files", "wiki"]),
        ((CLOCK, MAIL, POST), ["clock", "mail", "post"]),
        ((CLOCK, FILES, MAIL, WIKI), ["clock", "files", "wiki"]),
        ((BOTH, CLOCK), ["both", "clock"]),
        ((BOTH, OTHER), ["both"]),
        ((BOTH, MAIL), ["mail"]),
        ((BOTH, FILES), ["files"]),
        ((BOTH, FILES, MAIL, OTHER), ["files"]),
    ],
)
def test_one_side_stays(tools: tuple[Tool, ...], expected: list[str]) -> None:
    assert offered(*tools) == expected


def test_no_offered_set_contains_a_forbidden_combination() -> None:
    for tools in permutations((CLOCK, FILES, MAIL, BOTH, OTHER)):
        offered = combine({tool.name: tool for tool in tools}).offered
        assert list(offered) == [tool.name for tool in tools if tool.name in offered], "in the order in which they came"
        for one, other in permutations(offered.values(), 2):
            assert not (one.reads_private_data and other.sends_outside)


def test_a_tool_left_out_names_the_reason() -> None:
    found = combine({tool.name: tool for tool in (FILES, MAIL, WIKI)})
    assert found.left_out == {"mail": ("files", "wiki")}


def test_private_data_read_earlier_excludes_every_outbound_tool() -> None:
    assert offered(MAIL, used=("mail",)) == ["mail"], "the premise"
    assert offered(MAIL, FILES, used=("files",)) == ["files"]
    assert offered(MAIL, CLOCK, used=("no_tool_any_more",)) == ["clock"], "a forgotten tool counts as one that reads private data"
    assert offered(BOTH, used=("both",)) == ["both"], "no tool is a combination with itself"
    found = combine({"mail": MAIL, "clock": CLOCK}, ("files",))
    assert found.left_out == {"mail": ()}


def test_the_operator_can_allow_any_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"tool_combinations": "any"})
    assert offered(BOTH, FILES, MAIL, used=("files",)) == ["both", "files", "mail"]
