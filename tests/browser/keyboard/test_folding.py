"""The list of conversations folds away on wide screens and stays folded; on narrow ones it remains a drawer."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

WIDTHS = """() => {
  globalThis.widths = [];
  const note = () => {
    const list = document.querySelector("#sidebar");
    if (list) widths.push(list.getBoundingClientRect().width);
    requestAnimationFrame(note);
  };
  note();
}"""
"""Records the width of the list in every animation frame from the first, which shows whether the list flashes."""


def test_the_list_folds_away_and_stays_so_without_a_flash(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "sam", viewport={"width": 1440, "height": 800}, reduced_motion="no-preference"))
    chat.page.wait_for_load_state()
    sidebar = chat.page.locator("#sidebar")
    close = chat.page.get_by_role("button", name="Close the list of conversations")
    open_ = chat.page.get_by_role("button", name="Open the list of conversations")
    expect(open_).to_be_hidden()

    close.press("Enter")
    expect(sidebar).to_be_hidden()
    expect(open_).to_be_focused()
    expect(chat.page.get_by_role("link", name="New conversation")).to_be_visible()

    chat.page.add_init_script(f"({WIDTHS})()")
    chat.page.reload()
    chat.page.wait_for_function("() => globalThis.widths?.length > 5 && document.readyState === 'complete'")
    assert set(chat.page.evaluate("widths")) == {0}

    open_.press("Enter")
    expect(sidebar).to_be_visible()
    expect(close).to_be_focused()
    chat.page.reload()
    expect(sidebar).to_be_visible()
