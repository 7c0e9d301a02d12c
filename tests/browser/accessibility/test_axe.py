"""axe-core finds no violation in any state of any page: wide and narrow, in light, dark and forced colours."""

from typing import Any

import pytest
from playwright.sync_api import ViewportSize

from tests.browser.accessibility import states_of_chats, states_of_pages, states_of_staff
from tests.browser.accessibility.axe import COLOURS, LOOKS, complaints
from tests.browser.accessibility.states import EVERYTHING, State
from tests.browser.accessibility.world import World
from tests.support.cases import drawn, is_drawn
from tests.tools import node

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(node.why_not()), reason="Without Node.js and npm there is no axe-core.")]
STATES = (*states_of_chats.STATES, *states_of_pages.STATES, *states_of_staff.STATES)
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 360, "height": 740}
LIGHT, DARK, FORCED = LOOKS
COLOURED_IN, NARROW_IN = 3, 6
ONE_IN = 10
"""How many of the states ``make test`` tests; ``make extended`` and ``make accessibility`` test the others."""


def ways(state: State) -> list[tuple[ViewportSize, dict[str, Any], list[str] | None]]:
    """Window sizes, colours and rules. ``make accessibility`` tests them all. Otherwise each state is tested once, with every rule: one in
    six on a phone, one in three in other colours, the rest wide and light. That is enough, as states share their parts."""
    if EVERYTHING:  # forced colours do not depend on the width
        return [(WIDE, LIGHT, None), (WIDE, DARK, COLOURS), (WIDE, FORCED, COLOURS), (NARROW, LIGHT, None), (NARROW, DARK, COLOURS)]
    if is_drawn(NARROW_IN, "phone", state):
        return [(NARROW, LIGHT, None)]
    if is_drawn(COLOURED_IN, "coloured", state):
        return [(WIDE, DARK if is_drawn(2, "dark", state) else FORCED, None)]
    return [(WIDE, LIGHT, None)]


def test_every_combination_is_tested_with_some_state() -> None:
    in_make_test = [case for case in drawn(ONE_IN, STATES) if isinstance(case, State)]
    tested = [way for state in in_make_test for way in ways(state)]
    assert {(size["width"], *look.values()) for size, look, _ in tested} >= {
        (1280, "light", "none"),
        (1280, "dark", "none"),
        (1280, "dark", "active"),
        (360, "light", "none"),
    }


@pytest.mark.parametrize("state", drawn(ONE_IN, STATES), ids=str)
def test_axe_finds_nothing(world: World, state: State) -> None:
    found: list[str] = []
    width = 0
    for size, look, rules in ways(state):
        if size["width"] != width:
            world.page_of(state.person).set_viewport_size(size)
            page, width = state.reach(world), size["width"]
        page.emulate_media(**look)
        where = f"{width} px, {look['color_scheme']}, forced colours {look['forced_colors']}"
        found += [f"{where}: {complaint}" for complaint in complaints(page, rules)]
        page.emulate_media(**LIGHT)
    assert not found, "\n".join(found)
