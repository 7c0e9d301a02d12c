"""The tools menu at the message box lists the tools that the model server runs itself, without a switch."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.tools.offering import offer
from tests.support import environment

pytestmark = pytest.mark.django_db

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
