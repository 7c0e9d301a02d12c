"""One world for the package, and a person's page in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.accessibility.model import Model
from tests.browser.accessibility.states import EVERYTHING
from tests.browser.accessibility.world import World, deploy, furnish
from tests.browser.visits import Visits


@pytest.fixture(scope="package")
def browser(browser: Browser, request: pytest.FixtureRequest) -> Browser:
    """The light one, which lays out pages and makes the tree for screen readers with the same engine; all states go to the whole one."""
    whole: Browser | None = request.getfixturevalue("whole_browser") if EVERYTHING else None
    return whole or browser


@pytest.fixture(scope="package")
def world(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Everything has happened in it once. What its pages complain about fails the last test."""
    model, visits = Model(), Visits(browser)
    deployment = deploy(tmp_path_factory.mktemp("accessible"), model)
    try:
        world = World(deployment.servers[0], deployment, model, visits)
        furnish(world)
        yield world
    finally:
        model.go_on()
        visits.close()
        deployment.stop()
        model.close()
    assert not visits.complaints, "\n".join(sorted({*visits.complaints}))
