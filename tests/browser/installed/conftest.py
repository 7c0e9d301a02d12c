"""Fixtures: browsers in which service workers are allowed."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.visits import Visits, still
from tests.support.served import Server

READY = """async () => {
  const registration = await navigator.serviceWorker.ready;
  const worker = registration.active;
  if (worker.state === "activated") return worker.scriptURL;
  await new Promise(done => worker.addEventListener("statechange", () => worker.state === "activated" && done()));
  return worker.scriptURL;
}"""
CACHES = """async () => {
  const found = {};
  for (const name of await caches.keys())
    for (const request of await (await caches.open(name)).keys())
      found[request.url] = [name, await (await (await caches.open(name)).match(request)).text()];
  return found;
}"""

STEPS = 300

Opening = Callable[..., Page]


def until(page: Page, script: str) -> None:
    """Wait until the script resolves to a true value."""
    for _ in range(STEPS):
        if page.evaluate(script):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"did not become true: {script}")


def open_with_worker(visits: Visits, server: Server, name: str, **options: Any) -> Page:
    """The home page of a person in a new browser context, once its service worker is active."""
    page = visits.open(server, name, own=True, service_workers="allow", **options)
    page.wait_for_load_state()
    assert page.evaluate(READY).endswith("/sw.js")
    page.reload()
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    still(page)
    return page


@pytest.fixture
def with_worker(demo: Server, visits: Visits) -> Opening:
    """``open_with_worker`` in the headless shell."""
    return lambda name, server=demo, **options: open_with_worker(visits, server, name, **options)
