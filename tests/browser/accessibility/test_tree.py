"""The accessibility tree that screen readers get: names of all controls, one outline, landmarks, and what is open, chosen or current."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import states_of_chats, states_of_pages, states_of_staff
from tests.browser.accessibility.states import State
from tests.browser.accessibility.world import World

pytestmark = pytest.mark.browser
STATES = {state.name: state for state in (*states_of_chats.STATES, *states_of_pages.STATES, *states_of_staff.STATES)}
READ = ("home with a list", "answer with everything", "debug frames")
NEEDS_NO_NAME = {"RootWebArea", "main"}  # the page itself, and the target of the skip link


def tree(page: Page, role: str = "main", name: str | None = None) -> list[dict[str, Any]]:
    """The nodes of the accessibility tree: role, name, description and states.

    ``role`` and ``name``: of a node to wait for. An open menu on a narrow page hides its main part.
    """
    session = page.context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = []
    for _ in range(100):  # a busy browser builds it some time after the page
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        if any(_is(node, role, name) for node in nodes):
            break
        page.wait_for_timeout(100)
    session.detach()
    return [
        {
            "role": node["role"]["value"],
            "name": node.get("name", {}).get("value", "").strip(),
            "description": node.get("description", {}).get("value", ""),
            **{each["name"]: each["value"].get("value") for each in node.get("properties", [])},
        }
        for node in nodes
        if not node.get("ignored")
    ]


def _is(node: dict[str, Any], role: str, name: str | None) -> bool:
    return node["role"]["value"] == role and not node.get("ignored") and name in (None, node.get("name", {}).get("value"))


@pytest.mark.parametrize("state", [STATES[name] for name in READ], ids=str)
def test_what_can_have_the_focus_has_a_name_and_the_outline_has_one_top(world: World, state: State) -> None:
    # A previous test may have left a narrow window, in which an open list makes everything else inert.
    world.page_of(state.person).set_viewport_size({"width": 1280, "height": 800})
    nodes = tree(state.reach(world))
    nameless = [node for node in nodes if node.get("focusable") and not node["name"] and node["role"] not in NEEDS_NO_NAME]
    assert nameless == []
    assert [node["role"] for node in nodes].count("main") == 1
    top = next(node["name"] for node in nodes if node["role"] == "heading")
    assert top and any(node["role"] == "heading" and node["level"] == 1 for node in nodes)


def test_an_answer_is_read_with_its_parts(world: World) -> None:
    state = STATES["answer with everything"]
    world.page_of(state.person).set_viewport_size({"width": 360, "height": 740})
    nodes = tree(state.reach(world))
    roles = {(node["role"], node["name"]) for node in nodes}
    assert {("heading", "You wrote"), ("heading", "Answer"), ("group", "Code: python"), ("columnheader", "Number")} <= roles
    assert ("region", "Wide table: it can be scrolled sideways") in roles
    assert any(role in ("math", "MathMLMath") for role, _ in roles)


def test_links_to_the_same_conversation_are_told_apart(world: World) -> None:
    """Their buttons have the same text; the description says when each link was created and when it expires."""
    nodes = tree(STATES["share"].reach(world))
    buttons = [node for node in nodes if node["name"] in ("Revoke", "Copy", "Open") and node["role"] in ("button", "link")]
    assert len(buttons) >= 6 and all("created on" in node["description"] for node in buttons)


def test_what_is_open_chosen_and_current_is_said(world: World) -> None:
    page = world.page_of("ada")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(world.places["everything"])
    opener = page.get_by_role("button", name="Open the list of conversations", include_hidden=True)
    expect(opener).to_have_attribute("aria-expanded", "false")
    opener.click()
    expect(page.locator(".drawer-open")).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("link", name="Show everything", exact=False).first).to_have_attribute("aria-current", "page")
    page.get_by_role("button", name="Account: ada").click()
    (auto,) = [node for node in tree(page, "button", "Auto") if node["role"] == "button" and node["name"] == "Auto"]
    assert auto["pressed"] == "true"
