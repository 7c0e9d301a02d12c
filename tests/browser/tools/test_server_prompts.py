"""People take prompts of tool servers into the message box by keyboard; a server that is slow or away holds up nothing else."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility.axe import complaints
from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits
from tests.support import peer as peers
from tests.support import published_servers as published
from tests.support.mcp_server import Mcp, result
from tests.support.peer import PeerRequest, peer
from tests.support.served import Deployment, Server
from tests.tools import node

pytestmark = pytest.mark.browser

FILE = """
[[mcp]]
name = "library"
command = ["{python}", "{program}"]
tools = ["find"]
seconds = 60
[[mcp]]
name = "archive"
url = "{url}"
tools = ["add"]
[[mcp]]
name = "closed"
url = "{url}"
tools = ["add"]
"""
_SET = """
from chatui.models import SavedPrompt, User
ada = User.objects.get(username="ada")
SavedPrompt.objects.create(owner=ada, name="Shorten", text="Shorten this.")
"""


class Archive:
    """A server that answers the list of its prompts once ``opened`` is set."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.is_away = False
        introduced = result({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "prompts": {}}})
        self.answer = Mcp(on={"server/discover": introduced, "prompts/list": self._list, "prompts/get": self._get})

    async def _list(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        while not self.opened.is_set():
            await asyncio.sleep(0.02)
        if self.is_away:
            await peers.reset(request, writer)
        await result({"prompts": [{"name": "summarize", "title": "Summarize the archive"}]})(request, writer)

    async def _get(self, request: PeerRequest, writer: asyncio.StreamWriter) -> None:
        await result({"messages": [{"role": "user", "content": {"type": "text", "text": "Summarize what is in the archive."}}]})(
            request, writer
        )


Place = tuple[Server, Archive]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory: Path = tmp_path_factory.mktemp("prompts")
    archive = Archive()
    with peer(archive.answer) as served:
        file = directory / "tools.toml"
        file.write_text(FILE.format(url=served.url, python=published.python(), program=published.LIBRARY))
        deployment = Deployment(
            directory,
            CHATUI_BACKEND_URL="http://127.0.0.1:9",
            CHATUI_BACKEND_KIND="chat",
            CHATUI_TOOLS_FILE=str(file),
            CHATUI_TOOLS="library_find,archive_add,closed_add=staff",
        )
        try:
            server = deployment.start()
            deployment.make_people(ada=(False, []))
            deployment.manage("shell", "--no-imports", "-c", _SET)
            deployment.manage("tools", "--confirm", "library_find", "archive_add", "closed_add")
            yield server, archive
        finally:
            archive.opened.set()
            deployment.stop()


def box(page: Page) -> Locator:
    return page.locator("#composer-text")


def options(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Saved prompts").get_by_role("option")


def opened(place: Place, visits: Visits, **options: Any) -> Page:
    page = visits.open(place[0], "ada", **options)
    page.goto("/")
    return page


def is_accessible(page: Page) -> None:
    if not node.why_not():
        assert complaints(page) == []


def test_ones_own_are_there_at_once_and_those_of_servers_as_they_answer(place: Place, visits: Visits) -> None:
    archive = place[1]
    archive.opened.clear()
    archive.is_away = False
    page = opened(place, visits)
    box(page).press_sequentially("/")
    expect(options(page)).to_have_count(3)
    expect(options(page).first).to_contain_text("Shorten")
    panel = page.locator(".prompt-panel")
    expect(panel).to_contain_text("archive: The server is asked…")
    is_accessible(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    active = page.locator(".prompt-item[aria-selected=true]")
    chosen = active.inner_text()
    archive.opened.set()
    expect(options(page)).to_have_count(4)
    expect(panel).not_to_contain_text("is asked…")
    assert active.inner_text() == chosen, "what was chosen stays chosen"
    assert box(page).get_attribute("aria-activedescendant") == active.get_attribute("id")
    expect(options(page).filter(has_text="archive")).to_contain_text("Tool server · archive")
    expect(page.locator(".prompt-panel").get_by_role("img")).to_have_count(0)
    expect(options(page).filter(has_text="Interview")).to_contain_text("<img src=x> Interview")
    box(page).press_sequentially("summ")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value("Summarize what is in the archive.")
    expect(box(page)).to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(Chat(page).exchanges).to_have_count(0)
    page.reload()
    expect(box(page)).to_have_value("Summarize what is in the archive.")
    expect(Chat(page).exchanges).to_have_count(0)


@pytest.mark.parametrize("look", [{}, PHONE | {"color_scheme": "dark"}], ids=["wide", "phone"])
def test_arguments_are_filled_in_by_keyboard_and_kept_if_the_server_refuses(place: Place, visits: Visits, look: dict[str, Any]) -> None:
    place[1].opened.set()
    page = opened(place, visits, **look)
    box(page).press_sequentially("/a book")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Shorten a book")
    title, tone = dialog.get_by_label("title"), dialog.get_by_label("tone (optional)")
    expect(title).to_be_focused()
    expect(dialog).to_contain_text("Says in a few sentences what a book says")
    expect(dialog).to_contain_text("What you fill in goes to library.")
    page.keyboard.press("Enter")
    assert title.evaluate("field => field.validity.valueMissing"), "what is required is asked for"
    page.keyboard.insert_text("nothing")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("library did not give this prompt")
    expect(dialog).not_to_contain_text("secret")
    expect(title).to_have_value("nothing")
    is_accessible(page)
    title.fill("")
    page.evaluate("text => document.execCommand('insertText', false, text)", "The\nWall")
    page.keyboard.press("Tab")
    expect(tone).to_be_focused()
    page.keyboard.insert_text("dry")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(box(page)).to_have_value("Shorten the book “The\nWall”.\n\nTone: dry.<end|>")
    expect(box(page)).to_be_focused()
    expect(Chat(page).exchanges).to_have_count(0)


def test_what_is_no_text_is_named_and_a_closed_form_changes_nothing(place: Place, visits: Visits) -> None:
    place[1].opened.set()
    page = opened(place, visits)
    box(page).press_sequentially("/shorten a")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(box(page)).to_have_value("/shorten a")
    box(page).fill("")
    box(page).press_sequentially("/interview")
    options(page).click()
    expect(box(page)).to_have_value("Ask me about <b>my book</b>.\n\nIt is about a wall.")
    expect(page.locator("#composer-problem")).to_have_text(
        "Only text can be inserted. Left out of what library gave: prepared answers, pictures."
    )


def test_a_server_that_is_away_is_one_line_and_takes_nothing_from_the_others(place: Place, visits: Visits) -> None:
    place[1].opened.set()
    place[1].is_away = True
    page = opened(place, visits)
    box(page).press_sequentially("/")
    expect(options(page)).to_have_count(3)
    line = page.locator(".prompt-note")
    expect(line).to_have_text("archive gives no prompts now: it could not be reached in time, or refused.")
    expect(page.locator(".prompt-panel + [role=status]")).to_contain_text("archive gives no prompts now")
    is_accessible(page)
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value("Shorten this.")
    place[1].is_away = False
    box(page).fill("")
    box(page).press_sequentially("/")
    expect(options(page)).to_have_count(4)
    expect(line).to_have_count(0)


def test_what_comes_after_the_person_has_left_the_box_opens_nothing(place: Place, visits: Visits) -> None:
    place[1].opened.clear()
    page = opened(place, visits)
    box(page).press_sequentially("/")
    expect(options(page)).to_have_count(3)
    page.get_by_role("searchbox").first.focus()
    expect(options(page)).to_have_count(0)
    with page.expect_response("**/prompts/servers/archive/"):
        place[1].opened.set()
    page.wait_for_timeout(300)
    expect(options(page)).to_have_count(0)
    box(page).press_sequentially("su")
    expect(options(page)).to_have_count(1)


def test_a_server_of_which_one_is_offered_no_tool_is_not_named(place: Place, visits: Visits) -> None:
    place[1].opened.set()
    page = opened(place, visits)
    assert page.request.get(f"{place[0].url}/prompts/offered/").json()["servers"] == ["archive", "library"]
    assert page.request.get(f"{place[0].url}/prompts/servers/closed/").status == 404
