"""Fixtures: the world that the package's tests share, and the browser they run in."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.accessibility.model import Model
from tests.browser.accessibility.states import EVERYTHING
from tests.browser.accessibility.world import World, deploy, furnish
from tests.browser.visits import Contexts, Visits


@pytest.fixture(scope="package")
def browser(browser: Browser, request: pytest.FixtureRequest) -> Browser:
    """The headless shell, whose layout and accessibility tree are those of full Chromium; ``make accessibility`` uses full Chromium."""
    full: Browser | None = request.getfixturevalue("full_chromium") if EVERYTHING else None
    return full or browser


@pytest.fixture(scope="package")
def world(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world in which everything has happened once. Complaints of its pages fail the last test."""
    model, visits = Model(), Visits(Contexts(browser))
    deployment = deploy(tmp_path_factory.mktemp("accessible"), model)
    try:
        world = World(deployment.servers[0], deployment, model, visits)
        furnish(world)
        yield world
    finally:
        model.resume()
        visits.close()
        deployment.stop()
        model.close()
    assert not visits.complaints, "\n".join(sorted({*visits.complaints}))
