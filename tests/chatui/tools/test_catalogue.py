"""Tool availability: who is offered which tool, depending on settings, groups and declarations, and in which combinations.

A tool that reads private data is never offered together with one that sends data out.
"""

import logging
import os
from itertools import permutations

import pytest
from pydantic import ValidationError

from chatui.env import Environment
from chatui.tools import catalogue
from chatui.tools.catalogue import combine
from chatui.tools.tool import Tool
from tests.support import environment, offering


def one() -> str:
    """The first tool."""
    return "1"


def two() -> str:
    """The second tool."""
    return "2"


def test_nothing_is_offered_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, one, two, tools={}, tools_without_approval=[])
    assert catalogue.offered_to({"staff"}, is_demo=False) == {} and not catalogue.has_any(is_demo=False)


def test_a_tool_that_is_not_declared_harmless_is_offered_and_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, one, two, tools_without_approval=["two"])
    asks = {name: catalogue.needs_approval(tool) for name, tool in catalogue.offered_to((), is_demo=False).items()}
    assert asks == {"one": True, "two": False}


def test_the_operators_declaration_overrides_the_authors(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, one, two, tool_facts={"one": ("private",)})
    facts = {name: (tool.reads_private_data, tool.sends_outside) for name, tool in catalogue.offered_to((), is_demo=False).items()}
    assert facts == {"one": (True, False), "two": (True, True)}, "and an undeclared tool counts as both"


@pytest.mark.parametrize("line", ["wiki=secret", "wiki", "wiki=private|neither", "wiki="])
def test_ambiguous_declarations_are_refused(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_TOOL_FACTS", line)
    with pytest.raises(ValidationError):
        Environment.of(os.environ)


def test_a_tool_of_a_group_is_for_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, one, two, tools={"two": ("staff", "research"), "one": ()})
    assert list(catalogue.offered_to((), is_demo=False)) == ["one"]
    assert list(catalogue.offered_to({"research", "other"}, is_demo=False)) == ["one", "two"], "in the order of their names"


def test_at_most_twenty_are_offered_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {f"tool_{n:02}": offering.made(one, f"tool_{n:02}") for n in range(30)}
    environment.change(monkeypatch, {"tools": dict.fromkeys(reversed(tools), ()), "tools_without_approval": list(tools)})
    offering.install(monkeypatch, *tools.values())
    assert list(catalogue.offered_to((), is_demo=False)) == list(tools)[:20]


def test_the_demo_has_its_own_tools_which_no_server_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"tools": {"get_current_weather": (), "current_time": ()}})
    assert list(catalogue.offered_to((), is_demo=True)) == ["get_current_weather", "keep_note"]
    assert list(catalogue.offered_to((), is_demo=False)) == ["current_time"]


def test_the_demo_takes_no_name_from_a_tool_of_the_operators(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    offering.installed(monkeypatch, {"get_current_weather": "tests.chatui.tools.test_catalogue:one"})
    environment.change(monkeypatch, {"tools": {"get_current_weather": ()}})
    (offered,) = catalogue.offered_to((), is_demo=False).values()
    assert offered.name == "get_current_weather" and not offered.is_for_demo and not caplog.records
    assert catalogue.needs_approval(offered), "what the demo's may do says nothing about it"


def test_the_setting_is_parsed_from_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_TOOLS", "current_time, wiki_search=staff|research teams")
    assert Environment.of(os.environ).tools == {"current_time": (), "wiki_search": ("staff", "research teams")}


@pytest.mark.parametrize("line", ["=staff", "wiki=", "wiki=|staff"])
def test_a_line_that_could_accidentally_mean_everybody_is_refused(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_TOOLS", line)
    with pytest.raises(ValidationError):
        Environment.of(os.environ)


def test_packages_can_add_tools_and_a_broken_one_does_not_prevent_startup(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    here = "tests.chatui.tools.test_catalogue"
    caplog.set_level(logging.ERROR)
    places = {"mine": f"{here}:one", "current_time": f"{here}:two", "gone": "no_such_module:thing", "unusable": f"{here}:Environment"}
    tools = offering.installed(monkeypatch, places)
    own = {"ask_person", "current_time", "browser_find", "browser_open", "browser_search", "run_python"}
    assert set(tools) == {*own, "mine"} and tools["current_time"].source == "chatui"
    logged = [record.getMessage() for record in caplog.records]
    assert [next((name for name in ("current_time", "gone", "unusable") if f"tool {name} " in line), "") for line in logged] == [
        "current_time", "gone", "unusable",
    ]  # fmt: skip


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
