"""The socket's protocol: parsing, encoding, and the same events, commands and fields on the server and the page."""

import ast
import json
import re
from dataclasses import fields
from itertools import product
from typing import get_type_hints

import pytest

from chatui import wire
from renderer.frames import Frame, Header
from renderer.gate import Audience, show
from renderer.markup import html
from tests.architecture.sources import all_sources, python_sources
from tests.support.cases import for_each
from tests.support.limits import limit
from tests.tools import wire_types

MAX_MARKS = limit("chatui.wire", "MAX_MARKS")

MADE = "static/js/wire/wire.js"
SWITCHES = {
    ("static/js/chat/server-events.js", "static/js/sidebar/conversation-list.js"): wire.END_USER_EVENTS,
    ("static/js/debug/view.js",): wire.DEBUG_PAGE_EVENTS,
}
CASE = re.compile(r'^\s*case "((?:chatui:|response\.)[\w.]+)":', re.MULTILINE)
SENT = re.compile(r'\btype: "(\w+)"')
FIELDS = {
    "client_id": "1",
    "conversation": "c",
    "question": "q",
    "turn": "t",
    "folder": "f",
    "assistant": "g",
    "collections": "c,d",
    "tools_off": "one,another",
    "answer_format": "{}",
    "text": "words",
    "effort": "low",
    "choice": "a",
    "stays_with": "b",
    "number": 7,
    "temporary": True,
    "is_wanted": True,
    "files": None,
}


def test_the_types_of_the_page_are_made_from_the_contract() -> None:
    (generated,) = [source.text for source in all_sources() if source.path == MADE]
    assert generated == wire_types.source(), (
        "chatui.wire and the page differ: run `make wire`, and see what `make check` says of the scripts"
    )


def test_the_page_for_implementers_lists_the_same_events_and_commands() -> None:
    written = wire_types.PAGE.read_text(encoding="utf-8")
    assert written == wire_types.page(written), "chatui.wire and docs/socket.md differ: run `make wire`"
    assert f"protocol={wire.PROTOCOL}`" in written
    for name in (name for event in (*wire.END_USER_EVENTS, *wire.DEBUG_PAGE_EVENTS) for name in event.types):
        assert f"`{name}`" in written.partition(wire_types.LISTS)[2], name


@pytest.mark.parametrize("paths", SWITCHES)
def test_each_page_has_a_case_for_every_event_that_it_is_sent_and_for_no_other(paths: tuple[str, ...]) -> None:
    cases = CASE.findall("\n".join(source.text for source in all_sources() if source.path in paths))
    assert len(cases) == len(set(cases))
    assert set(cases) == {name for event in SWITCHES[paths] for name in event.types}


@pytest.mark.slow
def test_the_server_really_sends_every_event() -> None:
    nodes = [node for source in python_sources("chatui/") if not source.is_in("chatui/wire/") for node in source.nodes()]
    created = {node.func.attr for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}
    named = {node.value for node in nodes if isinstance(node, ast.Constant)}
    events = {*wire.END_USER_EVENTS, *wire.DEBUG_PAGE_EVENTS}
    assert len(events) > 15, "the premise"
    assert {event.__name__ for event in events} - created == set()
    assert {name for event in events if len(event.types) > 1 for name in event.types} <= named


def test_the_page_really_sends_every_command_and_the_server_handles_each() -> None:
    scripts = [
        source.text
        for source in all_sources()
        if source.is_in("static/js/chat/", "static/js/debug/", "static/js/page/", "static/js/sidebar/")
    ]
    assert {name for script in scripts for name in SENT.findall(script)} == {command.type for command in wire.COMMANDS}
    sockets = python_sources("chatui/live/")
    classes = [node.cls for socket in sockets for node in ast.walk(socket.tree()) if isinstance(node, ast.MatchClass)]
    handled = {cls.attr for cls in classes if isinstance(cls, ast.Attribute)}
    assert handled, "the premise: the socket matches the class of a command"
    assert [command for command in wire.COMMANDS if not handled & {base.__name__ for base in command.__mro__}] == []


def test_no_two_events_of_a_page_share_a_type_but_the_two_that_write_a_block() -> None:
    for events in (wire.END_USER_EVENTS, wire.DEBUG_PAGE_EVENTS):
        names = [name for event in events if event is not wire.BlockGrew for name in event.types]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("command", wire.COMMANDS)
def test_every_command_is_read_with_all_its_fields(command: type[wire.Command]) -> None:
    sent = {field.name: FIELDS[field.name] for field in fields(command)}
    read = wire.read_command(json.dumps({"type": command.type, **sent, "more": "is ignored"}))
    assert type(read) is command
    assert {field.name: getattr(read, field.name) for field in fields(read)} == sent


@for_each(product(wire.COMMANDS, [None, 7, True, [], {"a": 1}]))
def test_a_command_with_a_field_of_another_type_is_refused_or_means_nobody_s(command: type[wire.Command], wrong: object) -> None:
    hints = get_type_hints(command)
    for field in fields(command):
        text = json.dumps({"type": command.type} | FIELDS | {field.name: wrong})
        may_be_absent = type(None) in getattr(hints[field.name], "__args__", ())
        if wrong is None and may_be_absent:
            assert getattr(wire.read_command(text), field.name) is None
        elif hints[field.name] in (wire.Reference, wire.Reference | None):
            assert getattr(wire.read_command(text), field.name) == ""
        elif field.name == "files" and wrong == []:
            assert getattr(wire.read_command(text), field.name) == ()
        elif type(wrong) in (hints[field.name], *getattr(hints[field.name], "__args__", ())):
            assert getattr(wire.read_command(text), field.name) == wrong
        else:
            with pytest.raises(wire.UnreadableCommandError):
                wire.read_command(text)


def sent_with(files: object) -> wire.Command:
    return wire.read_command(json.dumps({"type": "send"} | FIELDS | {"files": files}))


def test_files_are_read_with_all_their_fields() -> None:
    use = {"id": "1", "use": "places", "places": "1-2"}
    found = sent_with([use, {**use, "id": 7, "more": 1}])
    assert getattr(found, "files", None) == (
        wire.FileUse(wire.Reference("1"), "places", "1-2"),
        wire.FileUse(wire.Reference(""), "places", "1-2"),
    )
    for wrong in ([use] * 11, [7], [{"id": "1", "use": "whole"}], [{**use, "use": 1}], "one"):
        with pytest.raises(wire.UnreadableCommandError):
            sent_with(wrong)


@pytest.mark.parametrize("text", [None, "", "{", "null", "[]", '"send"', "{}", '{"type": "sing"}', '{"type": ["send"]}', "[" * 100_000])
def test_what_is_no_command_is_none(text: str | None) -> None:
    with pytest.raises(wire.UnreadableCommandError) as caught:
        wire.read_command(text)
    assert caught.value.client_id is None


def test_a_command_with_a_thousand_values_is_not_read() -> None:
    fields = {"type": "probe", "more": [[]] * (MAX_MARKS // 2 - 10)}
    assert wire.read_command(json.dumps(fields)) == wire.Probe()
    lists: list[object] = [[[]] * MAX_MARKS, dict.fromkeys(map(str, range(MAX_MARKS)))]
    for many in lists:
        with pytest.raises(wire.UnreadableCommandError):
            wire.read_command(json.dumps({**fields, "more": many}))


def test_a_command_that_cannot_be_read_is_answered_under_its_id() -> None:
    with pytest.raises(wire.UnreadableCommandError) as caught:
        wire.read_command('{"type": "send", "client_id": "mine", "text": 7}')
    assert caught.value.client_id == "mine"


def test_what_is_absent_is_left_out_and_what_is_not_ascii_is_escaped() -> None:
    sent = wire.encode([wire.Idle("c", None, None), wire.TitleChanged("c", "é\u2028")])
    assert sent == '[{"type":"chatui:idle","conversation":"c"},{"type":"chatui:title","conversation":"c","title":"\\u00e9\\u2028"}]'


def test_an_event_with_several_types_says_which_and_a_step_of_a_turn_its_number() -> None:
    text = show(Frame(Header("assistant", channel="final"), "*Yes*"), Audience.END_USER)
    shown = wire.BlockReplaced("chatui:preamble.delta", "m", 0, html.plain(text))
    (sent,) = json.loads(wire.encode([wire.Numbered("t", 3, shown)]))
    assert (sent["type"], sent["turn"], sent["sequence_number"]) == ("chatui:preamble.delta", "t", 3)
    assert sent["html"] == html.plain(text).html
