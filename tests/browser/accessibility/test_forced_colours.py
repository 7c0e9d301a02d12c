"""In forced colours, lines show what backgrounds show otherwise."""

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility.world import World

pytestmark = pytest.mark.browser

LINE = "element => getComputedStyle(element).outlineStyle"


def test_the_chosen_and_the_current_item_have_a_line(world: World) -> None:
    page = world.page_of("ada")
    page.set_viewport_size({"width": 1280, "height": 800})  # the previous test may have changed it
    page.emulate_media(forced_colors="active")
    page.goto(world.places["everything"])
    page.get_by_role("button", name="Account: ada").click()
    chosen, other = page.locator("#account-menu [aria-pressed=true]"), page.locator("#account-menu .theme-choice[aria-pressed=false]").first
    expect(chosen).to_have_text("Auto")
    assert (chosen.evaluate(LINE), other.evaluate(LINE)) == ("solid", "none")
    open_one = page.locator(".conversation-link[aria-current=page]")
    assert open_one.evaluate(LINE) == "solid"
    page.keyboard.press("Escape")
    text, box = page.locator("#composer-text"), page.locator(".composer-box")
    text.focus()
    assert (text.evaluate(LINE), box.evaluate(LINE)) == ("none", "solid")
    page.emulate_media(forced_colors="none")
    assert (chosen.evaluate(LINE), open_one.evaluate(LINE)) == ("none", "none")
