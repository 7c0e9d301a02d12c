"""The accessibility engine finds nothing in any state of any page: wide and narrow, in light, dark and forced colours."""

from __future__ import annotations

import pytest
from playwright.sync_api import ViewportSize

from tests.browser.accessibility import states_of_chats, states_of_pages, states_of_staff
from tests.browser.accessibility.axe import COLOURS, LOOKS, complaints
from tests.browser.accessibility.states import State
from tests.browser.accessibility.world import World
from tests.tools import node

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(node.why_not()), reason="Without Node.js and npm there is no axe-core.")]
STATES = (*states_of_chats.STATES, *states_of_pages.STATES, *states_of_staff.STATES)
SIZES: tuple[ViewportSize, ...] = ({"width": 1280, "height": 800}, {"width": 360, "height": 740})


@pytest.mark.parametrize("state", STATES, ids=str)
def test_nothing_is_found(world: World, state: State) -> None:
    found: list[str] = []
    for size in SIZES:
        world.page_of(state.person).set_viewport_size(size)
        page = state.reach(world)
        for number, look in enumerate(LOOKS[: 3 if size == SIZES[0] else 2]):  # what colours are forced does not depend on the width
            page.emulate_media(**look)
            where = f"{size['width']} px, {look['color_scheme']}, forced colours {look['forced_colors']}"
            found += [f"{where}: {complaint}" for complaint in complaints(page, COLOURS if number else None)]
        page.emulate_media(**LOOKS[0])
    assert not found, "\n".join(found)
