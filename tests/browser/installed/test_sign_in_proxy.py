"""Behind a proxy that asks for sign-in, the app can be installed, its offline page leads to the sign-in, and nothing reloads in a loop."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.installed.conftest import CACHES, READY, Opening
from tests.browser.visits import Contexts, Visits, until
from tests.services.proxy import Proxy
from tests.support.cases import extended
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

NETWORK = "ERR_|WebSocket connection to .* failed|Failed to load resource|CORS policy|login.example"
MANIFEST = "**/manifest.webmanifest"


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment for this test alone, whose server may be stopped."""
    deployment = Deployment(tmp_path_factory.mktemp("own"))
    try:
        deployment.start()
        deployment.make_people(ada=(False, []))
        yield deployment
    finally:
        deployment.stop()


@pytest.fixture(params=["deny deny_status 401", "redirect location /healthz"])
def proxy(request: pytest.FixtureRequest, demo: Server, tmp_path: Path) -> Iterator[Proxy]:
    """A proxy that lets only requests with its cookie through."""
    # It refuses others, or redirects them to a page that is not the requested one.
    proxy = Proxy(tmp_path, [demo], rules=f"    http-request {request.param} unless {{ path /healthz }} or {{ req.cook(proxy) -m found }}")
    yield proxy
    proxy.stop()


def test_behind_a_sign_in_proxy_the_page_can_be_installed(proxy: Proxy, demo: Server, full_chromium: Browser) -> None:
    visits = Visits(Contexts(full_chromium))
    visits.allow("Failed to load resource")  # the first attempt to fetch the offline page
    page = visits.open(demo, "ada", "about:blank", own=True, service_workers="allow")
    page.context.add_cookies([{"name": "proxy", "value": "x", "url": proxy.url}])
    page.goto(proxy.url)
    assert page.evaluate(READY).endswith("/sw.js")
    kept = page.evaluate(CACHES)[f"{proxy.url}/offline/"]
    assert "No connection" in kept[1]
    session = page.context.new_cdp_session(page)
    found = session.send("Page.getAppManifest")
    assert found["errors"] == [] and "standalone" in found["data"]
    visits.close()
    assert visits.complaints == []


def without_server(own: Deployment, with_worker: Opening) -> Page:
    page = with_worker("ada", own.servers[0])
    own.servers[0].stop()
    page.reload()
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    return page


@pytest.mark.parametrize("status", [302, extended(401)])
def test_an_expired_sign_in_at_the_proxy_is_requested_by_the_page_itself(
    own: Deployment, with_worker: Opening, visits: Visits, status: int
) -> None:
    visits.allow(NETWORK)
    page = without_server(own, with_worker)
    headers = {"Location": "https://login.example/"} if status == 302 else {}
    page.route(MANIFEST, lambda route: route.fulfill(status=status, headers=headers))
    own.start_again(own.servers[0])
    expect(page.locator("chat-composer")).to_be_visible()


@pytest.mark.extended
def test_an_unreachable_page_is_retried_less_and_less_often(own: Deployment, with_worker: Opening, visits: Visits) -> None:
    visits.allow(NETWORK)
    page = without_server(own, with_worker)
    moments: list[float] = []

    def answer(route: Route) -> None:
        moments.append(time.monotonic())
        route.fulfill(status=200, body="{}")

    page.route(MANIFEST, answer)
    page.reload()
    until(page, lambda: len(moments) >= 3)
    first, second, third = moments[:3]
    assert second - first > 3 and third - second > 7, "2, 4 and 8 seconds after a page came"
