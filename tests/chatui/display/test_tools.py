"""The card of a tool call, and the tools menu at the message box.

The card shows every character, runs nothing, and is visible only to its owner. The menu lists the tools that the model server runs itself,
without a switch.
"""

import json
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chatui.display import tool_cards
from chatui.models.conversation import Conversation
from chatui.models.tools import Decision, ToolApproval, ToolCall, ToolRule
from chatui.models.turn import Turn
from chatui.models.user import User
from tests.support import environment, offering
from tests.support.offering import offer
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db

HOSTILE = '</pre><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}{% now "Y" %}'


def a_row(conversation: Conversation, arguments: dict[str, Any], **fields: Any) -> ToolApproval:
    turn = Turn.objects.get(conversation=conversation)
    return ToolApproval.objects.create(
        turn=turn, call_id=f"c{ToolApproval.objects.count()}", tool="send", title="Send", lapses_at=timezone.now(),
        arguments=json.dumps(arguments), **fields,
    )  # fmt: skip


@pytest.fixture
def talk(ada: User) -> Conversation:
    turn = store(ada, ask()).turn
    Turn.objects.filter(pk=turn.pk).update(state="completed")
    return turn.conversation


def test_huge_arguments_are_truncated_and_the_card_says_by_how_much(talk: Conversation) -> None:
    shown = tool_cards.card(a_row(talk, {"a": "x" * 30_000, "b": ["y" * 10] * 100, "n" * 500: 1, "c": None}))
    assert sum(len(each.text) for each in shown.arguments) == tool_cards.MAX_CHARS
    assert shown.left_out > 11_000 and not shown.has_escapes
    many = tool_cards.card(a_row(talk, {f"name {n}": "v" for n in range(5000)}))
    assert len(many.arguments) == 100 and many.left_out > 4000
    named = tool_cards.card(a_row(talk, {**{f"name {n}": "v" for n in range(100)}, "all that is sent": ""}))
    assert named.left_out == len("all that is sent")


@pytest.mark.parametrize(("seconds", "left"), [(599, "10 minutes."), (125, "2 minutes."), (70, "1 minute."), (30, "less than a minute.")])
def test_a_waiting_card_says_how_long_there_is(seconds: int, left: str, talk: Conversation) -> None:
    row = a_row(talk, {})
    row.lapses_at = timezone.now() + timedelta(seconds=seconds)
    assert tool_cards.card(row).hint == f"Without a decision, the call is declined in {left}"


@pytest.mark.parametrize(("early", "asks"), [(0, True), (60, False)], ids=["in time", "stopped before"])
def test_only_a_call_whose_time_ran_out_offers_to_ask_again(early: int, asks: bool, client: Client, ada: User, talk: Conversation) -> None:
    row = a_row(talk, {"text": "a"}, decision=Decision.LAPSED, decided_at=timezone.now() - timedelta(seconds=early))
    client.force_login(ada)
    page = client.get(f"/c/{talk.pk}/turns/{row.turn_id}/calls/").content.decode()
    assert "data-decided" in page and ("ask-again" in page) is asks


def test_text_is_shown_unchanged_and_other_arguments_as_json(talk: Conversation) -> None:
    shown = tool_cards.card(a_row(talk, {"text": "one\ntwo", "flag": True, "list": [1, {"a": "b"}], "empty": ""}))
    assert [str(each.text) for each in shown.arguments] == ["one\ntwo", "true", '[\n  1,\n  {\n    "a": "b"\n  }\n]', ""]


def test_one_line_json_keeps_its_characters(talk: Conversation) -> None:
    deep: list[Any] = ["größer: 漢字"] * 200
    for _ in range(60):
        deep = [deep]
    [argument] = tool_cards.card(a_row(talk, {"deep": deep})).arguments
    assert "\n" not in argument.text and str(argument.text).count('"größer: 漢字"') == 200


def test_hostile_arguments_names_and_titles_are_harmless(client: Client, ada: User, talk: Conversation) -> None:
    row = a_row(talk, {HOSTILE: HOSTILE, "reversed": "\u202eevil"})
    ToolApproval.objects.filter(pk=row.pk).update(title="<b>\u202eSend</b>")
    client.force_login(ada)
    page = client.get(f"/c/{talk.pk}/turns/{row.turn_id}/calls/").content.decode()
    assert "<script" not in page and "<img" not in page and "<b>" not in page and "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "{{ 7*7 }}" in page and "\\u202eevil" in page
    assert "backslash" in page, "and it says that there are codes"


def test_a_waiting_call_of_an_ended_answer_is_shown_as_declined(talk: Conversation) -> None:
    shown = tool_cards.card(a_row(talk, {}))
    assert not shown.is_waiting and "The answer ended before you decided" in shown.outcome


@pytest.mark.parametrize(("early", "expected"), [(0, "Nobody decided in time"), (60, "The answer was stopped before you decided")])
def test_an_expired_call_says_whether_time_ran_out_or_the_answer_was_stopped(talk: Conversation, early: int, expected: str) -> None:
    row = a_row(talk, {}, decision=Decision.LAPSED, decided_at=timezone.now() - timedelta(seconds=early))
    Turn.objects.filter(pk=row.turn_id).update(state="stopped")
    assert expected in tool_cards.card(ToolApproval.objects.get(pk=row.pk)).outcome


def test_deep_lists_cost_no_more_than_their_shown_part(talk: Conversation) -> None:
    deep: list[Any] = [1] * 25_000
    for _ in range(195):
        deep = [deep]
    row = a_row(talk, {"deep": deep})
    assert len(json.dumps(deep, indent=2)) > 9_000_000, "the premise"
    before = time.process_time()
    shown = tool_cards.card(row)
    assert time.process_time() - before < 0.5
    assert len(shown.arguments[0].text) == tool_cards.MAX_CHARS and shown.left_out < 100_000


def test_the_end_of_a_value_below_empty_lines_is_not_overlooked(client: Client, ada: User, talk: Conversation) -> None:
    below = "To: bela" + "\n" * 40 + "Cc: somebody else"
    row = a_row(talk, {"short": "To: bela\nCc: cleo", "below": below, "beyond": ["x" * 25_000]})
    assert [each.size for each in tool_cards.card(row).arguments] == ["", f"{len(below)} characters in all.", "25,004 characters in all."]
    client.force_login(ada)
    page = client.get(f"/c/{talk.pk}/turns/{row.turn_id}/calls/").content.decode()
    assert page.count("characters in all.") == 2


def test_text_direction_follows_its_lines_and_json_is_left_to_right(client: Client, ada: User, talk: Conversation) -> None:
    row = a_row(talk, {"text": "\u05e9\u05dc\u05d5\u05dd", "list": ["\u05e9\u05dc\u05d5\u05dd", "rm"]})
    client.force_login(ada)
    page = client.get(f"/c/{talk.pk}/turns/{row.turn_id}/calls/").content.decode()
    assert page.count('<pre dir="auto"') == page.count('<pre dir="ltr"') == 1


def read() -> str:
    """Reads."""
    return ""


def send() -> str:
    """Sends."""
    return ""


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, read, send, tools_without_approval=[], tool_facts={"read": ("private",), "send": ("outside",)})


def boxes_of(page: str) -> dict[str, tuple[bool, bool]]:
    """The boxes of a menu, by the tool's name: whether it is ticked, and whether it can be."""
    boxes = re.findall(r'<input type="checkbox"[^>]*value="(\w+)"([^>]*)>', page)
    return {name: ("checked" in rest, "disabled" not in rest) for name, rest in boxes}


READS, SENDS, NEITHER = ({"read": (one, True), "send": (other, True)} for one, other in ((True, False), (False, True), (False, False)))
SAYS = "Turning this on turns off {}: one could send out what the other reads."


def test_a_tool_that_goes_on_switches_off_what_excludes_it_and_says_so_before(
    client: Client, ada: User, talk: Conversation, offered: None
) -> None:
    client.force_login(ada)
    at = f"/c/{talk.pk}/tools/"
    first = client.get(at).content.decode()
    assert boxes_of(first) == READS and SAYS.format("Read") in first
    for name, state, boxes, says in (
        ("send", "on", SENDS, "Read"),
        ("read", "on", READS, "Read"),
        ("read", "off", NEITHER, ""),
        ("send", "on", SENDS, "Read"),
        ("send", "off", NEITHER, ""),
        ("read", "on", READS, "Read"),
    ):
        page = client.post(at, {"tool": name, "state": state}).content.decode()
        other = "Send" if boxes == SENDS else says
        assert boxes_of(page) == boxes == boxes_of(client.get(at).content.decode()), (name, state)
        assert (SAYS.format(other) in page) is bool(says), page


@pytest.mark.parametrize(
    ("asked", "boxes"),
    [
        ("", READS),
        ("?off=read", SENDS),
        ("?off=read&on=send", SENDS),
        ("?off=send&on=read", READS),
        ("?on=send", SENDS),
        ("?on=none", READS),
    ],
)
def test_the_menu_of_a_new_conversation_does_the_same(asked: str, boxes: object, client: Client, ada: User, offered: None) -> None:
    client.force_login(ada)
    assert boxes_of(client.get(f"/tools/{asked}").content.decode()) == boxes


def test_after_private_data_was_read_the_menu_says_outbound_tools_are_off(
    client: Client, ada: User, talk: Conversation, offered: None
) -> None:
    row = a_row(talk, {})
    ToolCall.objects.create(turn=row.turn, call_id="c1", tool="read")
    client.force_login(ada)
    for state in ("off", "on"):
        page = client.post(f"/c/{talk.pk}/tools/", {"tool": "read", "state": state}).content.decode()
        assert "Not available: this conversation has private data" in page
        assert boxes_of(page) == {"read": (state == "on", True), "send": (False, False)}
    client.post(f"/c/{talk.pk}/tools/", {"tool": "send", "state": "on"})
    assert boxes_of(client.get(f"/c/{talk.pk}/tools/").content.decode())["read"] == (True, True), "nothing is given up"


def test_an_approval_for_a_conversation_can_be_revoked(client: Client, ada: User, talk: Conversation, offered: None) -> None:
    from chatui.tools import catalogue

    ToolRule.objects.create(conversation=talk, tool="read", is_allowed=True, fingerprint=catalogue.tools()["read"].fingerprint)
    client.force_login(ada)
    at = f"/c/{talk.pk}/tools/"
    assert "Runs without asking you in this conversation." in client.get(at).content.decode()
    assert "Runs without asking" not in client.post(at, {"tool": "read", "state": "ask"}).content.decode()
    assert not ToolRule.objects.exists()


@pytest.mark.parametrize("name", ["../x", "read,send", "", "READ", "x" * 65])
def test_an_invalid_tool_name_is_refused(name: str, client: Client, ada: User, talk: Conversation) -> None:
    client.force_login(ada)
    switched = [client.post(f"/c/{talk.pk}/tools/", {"tool": each, "state": "off"}).status_code for each in (name, "read")]
    assert switched == [404, 200] and not ToolRule.objects.filter(tool=name).exists()


SERVERS = """
[[backend]]
name = "plain"
kind = "chat"
url = "http://127.0.0.1:9"
models = ["a"]

[[backend]]
name = "searching"
kind = "responses"
url = "http://127.0.0.1:9"
models = ["b"]
server_tools = [{ type = "web_search" }, { type = "shell_<b>use" }]
"""
NOTICE = "The model server may also use: web search, shell &lt;b&gt;use"


def fetch(city: str) -> str:
    """Fetches something."""
    return city


@pytest.fixture
def browser(ada: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Client:
    file = tmp_path / "backends.toml"
    file.write_text(SERVERS)
    environment.change(monkeypatch, {"backends_file": file})
    client = Client()
    client.force_login(ada)
    return client


def menu(browser: Client, address: str) -> str:
    return " ".join(browser.get(address).content.decode().split())


def test_a_new_conversation_lists_them_for_the_chosen_model(browser: Client) -> None:
    assert 'id="tools-menu"' in browser.get("/").content.decode()
    assert NOTICE in menu(browser, "/tools/?choice=searching")
    assert "checkbox" not in menu(browser, "/tools/?choice=searching") and "What the model may use" not in menu(
        browser, "/tools/?choice=searching"
    )
    for other in ("plain", "", "nothing"):
        assert "model server" not in menu(browser, f"/tools/?choice={other}"), other


def test_a_conversation_lists_them_for_its_model_unless_another_is_chosen(browser: Client, ada: User) -> None:
    row = Conversation.objects.create(owner=ada, choice="searching")
    assert NOTICE in menu(browser, f"/c/{row.pk}/tools/")
    assert "model server" not in menu(browser, f"/c/{row.pk}/tools/?choice=plain")


def test_unused_server_tools_are_not_listed(browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Conversation.objects.create(owner=ada, choice="searching", imported_at=timezone.now())
    assert "model server" not in menu(browser, f"/c/{row.pk}/tools/")
    offer(monkeypatch, fetch)
    environment.change(monkeypatch, {"tool_facts": {"fetch": ("private",)}})
    assert "model server" not in menu(browser, "/tools/?choice=searching")
    assert NOTICE in menu(browser, "/tools/?choice=searching&off=fetch"), "without the tool that reads"


def test_without_tools_there_is_no_menu(browser: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "plain.toml"
    file.write_text(SERVERS.partition('[[backend]]\nname = "searching"')[0])
    environment.change(monkeypatch, {"backends_file": file})
    assert 'id="tools-menu"' not in browser.get("/").content.decode()
