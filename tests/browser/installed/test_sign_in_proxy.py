"""Behind a proxy that asks for sign-in, the app can be installed, its offline page leads to the sign-in, and nothing reloads in a loop."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.installed.conftest import CACHES, READY, Opening
from tests.browser.visits import Contexts, Visits
from tests.services.proxy import Proxy
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
    # Every browser context of a test is a private window, in which pages cannot be installed.
    assert [error["errorId"] for error in session.send("Page.getInstallabilityErrors")["installabilityErrors"]] == ["in-incognito"]
    visits.close()
    assert visits.complaints == []


def without_server(own: Deployment, with_worker: Opening) -> Page:
    page = with_worker("ada", own.servers[0])
    own.servers[0].stop()
    page.reload()
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    return page


def test_an_expired_sign_in_at_the_proxy_is_requested_by_the_page_itself(own: Deployment, with_worker: Opening, visits: Visits) -> None:
    visits.allow(NETWORK)
    page = without_server(own, with_worker)
    page.route(MANIFEST, lambda route: route.fulfill(status=302, headers={"Location": "https://login.example/"}))
    own.start_again(own.servers[0])
    expect(page.locator("chat-composer")).to_be_visible()
