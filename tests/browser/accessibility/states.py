"""The type of a page state, and steps to reach one. Each page, menu and mode has a row in the ``states_of_*`` modules."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, expect

from tests.browser.accessibility.world import World

EVERYTHING = os.environ.get("CHATUI_TEST_STATES") == "all"
"""Whether every state is tested in every way, as ``make accessibility`` does."""
Reach = Callable[[World, Page], None]


@dataclass(frozen=True)
class State:
    """A page state and how to reach it. ``person`` is "" for somebody who is not signed in."""

    name: str
    person: str
    path: str
    then: Reach | None = None

    def reach(self, world: World) -> Page:
        """Bring the person's page into this state. ``path`` may begin with the name of one of the world's places, in braces."""
        page = world.page_of(self.person)
        page.goto(self.path.format_map(world.places))
        if self.then:
            self.then(world, page)
        return page

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def press(name: str, within: str = "body") -> Reach:
    """Press a button or follow a link."""

    def then(world: World, page: Page) -> None:
        place = page.locator(within)
        place.get_by_role("button", name=name).or_(place.get_by_role("link", name=name)).first.click()

    return then


def each(*steps: Reach) -> Reach:
    """Run several steps in order."""

    def then(world: World, page: Page) -> None:
        for step in steps:
            step(world, page)

    return then


def fill(label: str, text: str) -> Reach:
    """Fill in a field."""
    return lambda world, page: page.get_by_label(label, exact=True).first.fill(text)


def key(keys: str) -> Reach:
    """Press keys."""
    return lambda world, page: page.keyboard.press(keys)


def visible_at(selector: str) -> Reach:
    """Wait until the first such element is visible."""
    return lambda world, page: expect(page.locator(selector).first).to_be_visible()


def drawn(world: World, page: Page) -> None:
    """Come to the diagram and wait until it is drawn: that moves all below it, perhaps the focus out of the window."""
    diagram = page.locator(".code-frame:has(.language-mermaid)")
    diagram.scroll_into_view_if_needed()
    expect(diagram).to_have_attribute("data-diagram", "drawn")


def unfold(world: World, page: Page) -> None:
    """Open all that is folded."""
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")


def shown_list(world: World, page: Page) -> None:
    """Show the list of conversations, which is a drawer on a narrow page."""
    page.wait_for_load_state()
    opener = page.get_by_role("button", name="Open the list of conversations")
    if opener.is_visible():
        opener.click()
    expect(page.locator("#sidebar")).to_be_in_viewport(ratio=0.9)
