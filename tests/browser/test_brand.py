"""A deployment with the operator's own name, logo and colour shows them before and after signing in, under the strict policy."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

MARK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="11" fill="#aa0044"/></svg>'


@pytest.fixture
def branded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product under another name, and with a colour that is too light for the light theme."""
    directory = tmp_path_factory.mktemp("branded")
    (directory / "mark.svg").write_text(MARK, encoding="utf-8")
    deployment = Deployment(directory / "data", CHATUI_NAME="Ask Physics", CHATUI_MARK=str(directory / "mark.svg"), CHATUI_ACCENT="#ff8800")
    with served(deployment) as server:
        yield server


@pytest.mark.extended
def test_the_operators_name_mark_and_colour_are_where_the_products_were(branded: Server, visits: Visits) -> None:
    page = visits.open(branded, None, "/sign-in/")
    expect(page).to_have_title("Sign in · Ask Physics")
    expect(page.get_by_role("button", name="Sign in")).to_have_css("background-color", "rgb(158, 84, 0)")
    page.wait_for_function("() => document.querySelector('img.brand-mark').naturalWidth > 0")

    chat = Chat(visits.open(branded, "ada", color_scheme="dark"))
    expect(chat.page.locator(".banner-demo strong")).to_have_css("color", "rgb(255, 136, 0)")
    chat.ask_and_wait("Hello!")
    expect(chat.page).to_have_title(re.compile(" · Ask Physics$"))
