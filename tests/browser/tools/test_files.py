"""Files below an answer in a real browser: a picture in its box, a table that is saved, and nothing for anybody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

PLANT = """
from chatui.models import Turn
from chatui.store.files import keeping
from chatui.store.files.keeping import NewFile, Place
from tests.chatui.store.files.pictures import png
turn = Turn.objects.get(conversation='{}')
place = Place(turn.asked_by_id, turn.conversation_id, turn.pk)
for name, data in (('plot.png', png(640, 480)), ('a.csv', b'a,b'), ('x.svg', b"<svg onload='alert(1)'/>")):
    print(keeping.keep(place, NewFile(name, data)).pk)
"""


def planted(chat: Chat, deployment: Deployment) -> list[str]:
    """The addresses of three files of an answer that a tool was called for."""
    chat.ask_and_wait("What is the weather in Oslo?")
    chat.settle()
    key = chat.page.url.rstrip("/").rpartition("/")[2]
    return [f"/files/{line}/" for line in deployment.manage("shell", "--no-imports", "-c", PLANT.format(key)).split()]


def box(page: Page) -> Any:
    return page.locator(".file-picture img").bounding_box()


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_a_picture_has_its_box_before_it_comes_and_a_table_is_saved(
    options: dict[str, Any], demo: Server, demo_deployment: Deployment, visits: Visits
) -> None:
    chat = Chat(visits.open(demo, "ada", **options))
    picture, table, _ = planted(chat, demo_deployment)
    page = chat.page
    page.route(f"**{picture}", lambda route: route.abort())
    visits.allow("ERR_FAILED")
    page.reload()
    expect(page.get_by_role("link", name="Download a.csv 3 bytes")).to_be_visible()
    page.locator(".files").scroll_into_view_if_needed()
    before = box(page)
    page.unroute(f"**{picture}")
    page.reload()
    page.locator(".files").scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('.file-picture img').naturalWidth === 640")
    after = box(page)
    assert (before["width"], before["height"]) == (after["width"], after["height"]) and after["width"] > 250
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("img", name="Picture “plot.png”")).to_be_visible()
    with page.expect_download() as saving:
        page.get_by_role("link", name="Download a.csv").click()
    assert saving.value.suggested_filename == "a.csv" and Path(saving.value.path()).read_bytes() == b"a,b"
    assert saving.value.url.endswith(table)


def test_a_file_that_could_run_something_is_saved_and_nobody_else_gets_any(
    demo: Server, demo_deployment: Deployment, visits: Visits
) -> None:
    chat = Chat(visits.open(demo, "ada"))
    files = planted(chat, demo_deployment)
    with chat.page.expect_download() as saving:
        chat.page.evaluate("address => { location.href = address; }", files[2])
    assert saving.value.suggested_filename == "x.svg"
    visits.allow("404")
    other = visits.open(demo, "bela")
    answers = [other.request.get(address).status for address in files]
    assert answers == [404] * 3 and [chat.page.request.get(address).status for address in files] == [200] * 3
