"""Two people connect accounts of their own at a real tool server, from the card of the call that needs one, and ask again."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits
from tests.support import peer as peers
from tests.support import published_servers as published
from tests.support.peer import PeerRequest, peer
from tests.support.served import Deployment, Server
from tests.support.stub import DONE, chunk

pytestmark = pytest.mark.browser

ADMIN = ["view_hidden_channels", "view_any_conversation"]
FILE = '[[mcp]]\nname = "accounts"\nurl = "http://127.0.0.1:{port}/mcp"\ntools = ["whoami"]\nresources = true\n[mcp.oauth]\n'


async def model(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
    """A model that calls the tool for each question, and then answers with what it was told."""
    if request.method == "GET":
        await peers.send(writer, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        return
    last = request.json["messages"][-1]
    if last["role"] == "tool":
        body = chunk("stop", content="The tool says: " + " ".join(last["content"].split())[:200].replace('"', "").replace("\\", ""))
    else:
        call: dict[str, Any] = {"name": "accounts_whoami", "arguments": json.dumps({})}
        body = chunk("tool_calls", tool_calls=[{"index": 0, "id": f"c{uuid4().hex}", "type": "function", "function": call}])
    await peers.send(writer, body + DONE, kind="text/event-stream")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deployment, Server]]:
    directory: Path = tmp_path_factory.mktemp("accounts")
    with published.listening([published.python(), published.ACCOUNTS]) as port, peer(model) as backend:
        file = directory / "tools.toml"
        file.write_text(FILE.format(port=port))
        deployment = Deployment(
            directory,
            CHATUI_BACKEND_URL=backend.url,
            CHATUI_BACKEND_KIND="chat",
            CHATUI_TOOLS_FILE=str(file),
            CHATUI_TOOLS="accounts_whoami",
            CHATUI_TOOLS_WITHOUT_APPROVAL="accounts_whoami",
        )
        try:
            server = deployment.start()
            deployment.make_people(grace=(True, ADMIN), ada=(False, []), bela=(False, []))
            yield deployment, server
        finally:
            deployment.stop()


def sign_in_there(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Sign in there").click()


def test_two_people_connect_their_own_accounts_and_ask_again(place: tuple[Deployment, Server], visits: Visits) -> None:
    deployment, server = place
    staff = visits.open(server, "grace")
    staff.goto("/settings/")
    staff.get_by_role("link", name="Connected accounts").click()
    staff.get_by_role("button", name="Connect", exact=True).click()
    sign_in_there(staff, "grace-there")
    expect(staff.get_by_role("button", name="Disconnect")).to_be_visible()
    assert "Confirmed: accounts_whoami" in deployment.manage("tools", "accounts_whoami", "--confirm", "--as", "grace")

    chats = []
    for person, options in (("ada", {}), ("bela", PHONE)):
        chat = Chat(visits.open(server, person, **options))
        chat.ask_and_wait("Who am I there?")
        card = chat.last.locator(".approval")
        expect(card).to_contain_text("needs your own account")
        expect(chat.answer).to_contain_text("has not signed in there yet")
        chat.page.reload()
        card.get_by_role("button", name="Connect").click()
        sign_in_there(chat.page, f"{person}-there")
        chat.page.wait_for_url("**/c/*/")
        chat.last.get_by_role("button", name="Ask again").click()
        expect(chat.exchanges).to_have_count(2)
        chat.finish()
        expect(chat.answer).to_contain_text(f"You are {person}-there.")
        chats.append(chat)
        chat.page.get_by_role("button", name="Attach from a tool server").click()
        chat.page.get_by_role("dialog").get_by_role("button", name="Account").click()
        link = chat.page.locator(".chip").get_by_role("link", name="Account.md")
        text = chat.page.request.get(f"{server.url}{link.get_attribute('href')}").text()
        assert text == f"This is the account of You are {person}-there."
        # Beside a document, no tool is offered of which it is not known that it sends nothing.
        chat.page.get_by_role("button", name="Remove Account.md").click()
        expect(chat.page.locator(".chip")).to_have_count(0)

    first = chats[0]
    first.page.goto("/settings/accounts/")
    first.page.get_by_role("button", name="Disconnect").click()
    expect(first.page.get_by_text("not connected")).to_be_visible()
    first.page.goto("/")
    first.page.get_by_role("button", name="Attach from a tool server").click()
    status = first.page.get_by_role("dialog").get_by_role("status")
    expect(status).to_contain_text("accounts needs your own account there.")
    expect(status.get_by_role("link", name="Connected accounts")).to_have_attribute("href", "/settings/accounts/")
    chats[1].ask_and_wait("And now?")
    expect(chats[1].answer).to_contain_text("You are bela-there.")
