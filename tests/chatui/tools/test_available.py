"""Tool availability: who is offered which tool, depending on settings, groups and declarations."""

from __future__ import annotations

import logging
import os
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from pydantic import ValidationError

from chatui.env import Environment
from chatui.tools import catalogue
from chatui.tools import catalogue as available
from chatui.tools.functions import tool_of
from tests.chatui.tools import offering
from tests.support import environment


def one() -> str:
    """The first tool."""
    return "1"


def two() -> str:
    """The second tool."""
    return "2"


def test_nothing_is_offered_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, one, two, tools={}, tools_without_approval=[])
    assert available.offered_to({"staff"}, is_demo=False) == {} and not available.has_any(is_demo=False)


def test_a_tool_that_is_not_declared_harmless_is_offered_and_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, one, two, tools_without_approval=["two"])
    asks = {name: available.needs_approval(tool) for name, tool in available.offered_to((), is_demo=False).items()}
    assert asks == {"one": True, "two": False}


def test_the_operators_declaration_overrides_the_authors(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, one, two, tool_facts={"one": ("private",)})
    facts = {name: (tool.reads_private_data, tool.sends_outside) for name, tool in available.offered_to((), is_demo=False).items()}
    assert facts == {"one": (True, False), "two": (True, True)}, "and an undeclared tool counts as both"


@pytest.mark.parametrize("line", ["wiki=secret", "wiki", "wiki=private|neither", "wiki="])
def test_ambiguous_declarations_are_refused(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_TOOL_FACTS", line)
    with pytest.raises(ValidationError):
        Environment.of(os.environ)


def test_a_tool_of_a_group_is_for_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, one, two, tools={"two": ("staff", "research"), "one": ()})
    assert list(available.offered_to((), is_demo=False)) == ["one"]
    assert list(available.offered_to({"research", "other"}, is_demo=False)) == ["one", "two"], "in the order of their names"


def test_at_most_twenty_are_offered_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {f"tool_{n:02}": tool_of(one, f"tool_{n:02}") for n in range(30)}
    environment.change(monkeypatch, {"tools": dict.fromkeys(reversed(tools), ()), "tools_without_approval": list(tools)})
    monkeypatch.setattr(catalogue, "tools", lambda: tools)
    assert list(available.offered_to((), is_demo=False)) == list(tools)[:20]


def test_the_demo_has_its_own_tools_which_no_server_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"get_current_weather": (), "current_time": ()}
    environment.change(monkeypatch, {"tools": named, "tools_without_approval": ["get_current_weather"]})
    assert list(available.offered_to((), is_demo=True)) == ["get_current_weather", "keep_note"]
    assert list(available.offered_to((), is_demo=False)) == ["current_time"]


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
    here = "tests.chatui.tools.test_available"
    entries = [
        EntryPoint("mine", f"{here}:one", catalogue.GROUP),
        EntryPoint("current_time", f"{here}:two", catalogue.GROUP),
        EntryPoint("gone", "no_such_module:thing", catalogue.GROUP),
        EntryPoint("unusable", f"{here}:EntryPoint", catalogue.GROUP),
    ]
    monkeypatch.setattr(catalogue, "entry_points", lambda group: entries)
    caplog.set_level(logging.ERROR)
    tools: Any = catalogue.installed.__wrapped__()
    own = {"current_time", "get_current_weather", "keep_note", "browser_find", "browser_open", "run_python"}
    assert set(tools) == {*own, "mine"} and tools["current_time"].source == "chatui"
    logged = [record.getMessage() for record in caplog.records]
    assert [next((name for name in ("current_time", "gone", "unusable") if f"tool {name} " in line), "") for line in logged] == [
        "current_time", "gone", "unusable",
    ]  # fmt: skip
