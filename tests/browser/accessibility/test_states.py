"""Every state by keyboard, zoomed, with wide text spacing, and by touch."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize

from tests.browser.accessibility import states_of_chats, states_of_pages, states_of_staff
from tests.browser.accessibility.states import EVERYTHING, State
from tests.browser.accessibility.world import World
from tests.support.cases import is_drawn

pytestmark = pytest.mark.browser
STATES = (*states_of_chats.STATES, *states_of_pages.STATES, *states_of_staff.STATES)


def drawn(what: str) -> list[State]:
    """The states to test: all for ``make accessibility``; else one in forty, different ones for each test. The states share their parts,
    so that these find nearly everything."""
    return [state for state in STATES if EVERYTHING or is_drawn(40, what, state)]


MEASURES = (Path(__file__).parent / "measures.js").read_text(encoding="utf-8")
WIDE: ViewportSize = {"width": 1280, "height": 800}
ZOOMED: dict[str, ViewportSize] = {"200 %": {"width": 640, "height": 400}, "400 %": {"width": 320, "height": 256}}
# WCAG 1.4.12. A constructed style sheet needs no exception from the policy.
SPACED = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
    p { margin-block-end: 2em !important; }`);
  document.adoptedStyleSheets = [sheet];
}"""
MAX_STOPS = 400
BROKEN = """() => {
  const styles = {
    "Without a ring": "outline: none",
    "Covered": "position: fixed; inset: 60px auto auto 0; z-index: 1",
    "Above": "position: fixed; inset: 0 auto auto 0",
  };
  for (const [text, style] of Object.entries(styles)) {
    const button = document.body.appendChild(document.createElement("button"));
    [button.textContent, button.style.cssText] = [text, style];
  }
  const cover = document.body.appendChild(document.createElement("div"));
  cover.style.cssText = "position: fixed; inset: 50px auto auto 0; width: 200px; height: 80px; z-index: 2";
  const text = document.body.appendChild(document.createElement("p"));
  text.textContent = "Text that does not fit its box";
  text.style.cssText = "width: 3rem; height: 1rem; overflow: hidden; min-width: 3rem";
  const wide = document.body.appendChild(document.createElement("div"));
  wide.style.cssText = "width: 400px; flex: none; height: 1px";
}"""


@pytest.mark.parametrize("state", drawn("walked"), ids=str)
def test_a_walk_with_the_tab_key(world: World, state: State) -> None:
    """From the first tab stop to the last: Tab reaches every control in the order of the page, and the focus is always visible."""
    page = reached(world, state, WIDE)
    page.wait_for_timeout(100)
    expected: list[str] = page.evaluate("measures.stops()")
    steps = walk(page)

    still: list[str] = page.evaluate("measures.stops()")
    missed = sorted(set(expected) & set(still) - {stop["name"] for stop in steps})
    unseen = [stop["name"] for stop in steps if not stop["isSeen"]]
    unringed = [f"{stop['name']} {stop['looks']}" for stop in steps if not stop["isRinged"]]
    assert not (missed or unseen or unringed), f"not reached: {missed}\nnot seen: {unseen}\nwithout a ring: {unringed}"
    assert page.evaluate("walked => measures.backward(walked)", [stop["number"] for stop in steps]) == []


@pytest.mark.parametrize("state", drawn("zoomed"), ids=str)
def test_zoomed(world: World, state: State) -> None:
    """At 200 and 400 %, and with wide text spacing: no page scrolls sideways, and no text is cut off."""
    found: dict[str, list[str]] = {}
    for zoom, size in ZOOMED.items():
        page = reached(world, state, size)
        found[zoom] = page.evaluate("measures.sideways()")
        found[f"{zoom}, cut off"] = before = page.evaluate("measures.cutOff()")
        page.evaluate(SPACED)
        found[f"{zoom}, spaced"] = page.evaluate("measures.sideways()")
        found[f"{zoom}, spaced, cut off"] = sorted(set(page.evaluate("measures.cutOff()")) - set(before))
    assert {where: what for where, what in found.items() if what} == {}


@pytest.mark.parametrize("state", [state for state in drawn("finger") if state not in states_of_staff.STATES], ids=str)
def test_targets_are_large_enough_to_touch(world: World, state: State) -> None:
    """WCAG requires targets of 24 pixels, which axe-core checks; controls on phones have 44."""
    world.is_phone = True
    try:
        page = state.reach(world)
        page.evaluate(MEASURES)
        assert page.evaluate("measures.small()") == []
    finally:
        world.is_phone = False


CROWDED_NAMES = {"answer with everything", "share", "bin", "debug frames", "audit log", "administration whole person"}
CROWDED = [state for state in STATES if state.name in (CROWDED_NAMES if EVERYTHING else {"answer with everything"})]


@pytest.mark.parametrize("state", CROWDED, ids=str)
def test_nothing_lies_over_the_focus_in_a_zoomed_window(world: World, state: State) -> None:
    steps = walk(reached(world, state, ZOOMED["400 %"]))
    assert [stop["name"] for stop in steps if not stop["isSeen"]] == []


def test_secrets_can_be_filled_in_and_pasted(world: World) -> None:
    """Nobody has to remember or transcribe secrets: password managers recognize each field, and pasting works."""
    page = world.page_of("")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/sign-in/")
    fields = {each: page.locator(f"[name={each}]") for each in ("username", "password")}
    assert [field.get_attribute("autocomplete") for field in fields.values()] == ["username webauthn", "current-password"]
    page.evaluate("navigator.clipboard.writeText('pasted words')")
    for field in fields.values():
        field.focus()
        page.keyboard.press("ControlOrMeta+V")
        assert field.input_value() == "pasted words"
    page.goto(world.places["password link"])
    for box in page.locator("input[type=password]").all():
        assert box.get_attribute("autocomplete") == "new-password"


def reached(world: World, state: State, size: ViewportSize) -> Page:
    world.page_of(state.person).set_viewport_size(size)
    page = state.reach(world)
    page.wait_for_load_state()
    page.evaluate(MEASURES)
    return page


def walk(page: Page) -> list[dict[str, Any]]:
    """Every tab stop once, from the present focus until it returns there. Where a mouse set the focus, there may be no focus ring."""
    stops: list[dict[str, Any]] = []
    last = None
    for pressed in range(MAX_STOPS):
        stop = page.evaluate("measures.focused()")
        # A date field has several tab stops inside.
        if stop and not (last and stop["number"] == last["number"]):
            if any(stop["number"] == other["number"] for other in stops):
                return stops
            stops.append(stop | {"isRinged": stop["isRinged"] or not pressed})
        last = stop
        page.keyboard.press("Tab")
    raise AssertionError(f"the walk does not end: {stops[-3:]}")


def test_what_is_wrong_is_noticed(world: World) -> None:
    page = reached(world, states_of_pages.STATES[0], WIDE)
    assert page.evaluate("measures.sideways()") == page.evaluate("measures.cutOff()") == []
    page.evaluate(BROKEN)
    steps = walk(page)
    assert [stop["name"] for stop in steps if not stop["isRinged"]] == ["button. “Without a ring”"]
    assert [stop["name"] for stop in steps if not stop["isSeen"]] == ["button. “Covered”"]
    backward: list[str] = page.evaluate("walked => measures.backward(walked)", [stop["number"] for stop in steps])
    assert any(step.endswith("to button. “Above”") for step in backward)
    assert "p. “Text that does not fit its box”" in page.evaluate("measures.cutOff()")
    page.set_viewport_size({"width": 320, "height": 256})
    assert page.evaluate("measures.sideways()")
