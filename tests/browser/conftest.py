"""Fixtures: one Chromium per directory, the product with its demo, the real llama.cpp server and a model that tests write, and browsers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from tests.browser.content.writer import Writer
from tests.browser.relay import Relay
from tests.browser.visits import ARGUMENTS, LONGEST_MS, Contexts, Visits
from tests.llama.fixture import llama_server as llama_server
from tests.llama.fixture import llama_server_with_a_small_context as llama_server_with_a_small_context
from tests.support.served import Deployment, Server, served
from tests.tools import chromium

LOOK = ["view_hidden_channels", "view_any_conversation", "view_auditevent"]
PEOPLE: dict[str, tuple[bool, list[str]]] = {
    "ada": (False, []),
    "bela": (False, []),
    "nina": (False, []),  # for the test of a new visitor's first load alone
    "milo": (False, []),  # for the test of settings alone
    "petra": (False, []),  # for the tests of passkeys alone
    "pavel": (False, []),
    "paula": (False, []),
    "grace": (True, [*LOOK, "add_user", "change_user", "view_user"]),
    "sam": (True, ["view_user"]),
}
INSTRUCTIONS = "DEVELOPER-CANARY-5521: be kind."

expect.set_options(timeout=LONGEST_MS)


@pytest.fixture(scope="package")
def _driver() -> Iterator[Playwright]:
    """The Playwright driver. It stops after the directory's last test: while it runs, no test could run an event loop."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(_driver: Playwright) -> Iterator[Browser]:
    """Chromium's headless shell, which is lighter than full Chromium."""
    with _launched(_driver, chromium.find_headless()) as browser:
        yield browser


@pytest.fixture(scope="package")
def full_chromium(_driver: Playwright, chromium_path: Path) -> Iterator[Browser]:
    """Full Chromium, for tests of what the headless shell lacks."""
    with _launched(_driver, chromium_path) as browser:
        yield browser


@contextmanager
def _launched(driver: Playwright, path: Path | None) -> Iterator[Browser]:
    browser = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
    try:
        yield browser
    finally:
        browser.close()


@pytest.fixture(scope="package")
def contexts(browser: Browser) -> Contexts:
    """The contexts of Chromium, which tests have one after the other."""
    return Contexts(browser)


@pytest.fixture
def visits(contexts: Contexts) -> Iterator[Visits]:
    """Browsers for the people of one test, which fails if any page has complaints."""
    visits = Visits(contexts)
    yield visits
    visits.close()
    assert visits.complaints == []


@pytest.fixture(scope="package")
def demo_deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The product with its built-in demo, which answers immediately, a message limit that tests can exceed, and instructions."""
    deployment = Deployment(tmp_path_factory.mktemp("demo"), CHATUI_MAX_MESSAGE_CHARS="4000", CHATUI_INSTRUCTIONS=INSTRUCTIONS)
    try:
        deployment.start()
        deployment.make_people(**PEOPLE)
        yield deployment
    finally:
        deployment.stop()


@pytest.fixture(scope="package")
def demo(demo_deployment: Deployment) -> Server:
    """The server of ``demo_deployment``."""
    return demo_deployment.servers[0]


@pytest.fixture(scope="package")
def _relay(llama_server: str) -> Iterator[Relay]:
    relay = Relay(llama_server)
    yield relay
    relay.close()


@pytest.fixture
def relay(_relay: Relay) -> Iterator[Relay]:
    """The proxy between the product and llama.cpp, which can pause an answer in the middle."""
    yield _relay
    _relay.release()


@pytest.fixture(scope="package")
def llama(_relay: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with the real llama.cpp server."""
    deployment = Deployment(tmp_path_factory.mktemp("llama"), CHATUI_BACKEND_URL=_relay.url)
    try:
        server = deployment.start()
        deployment.make_people(**PEOPLE)
        yield server
    finally:
        deployment.stop()


@pytest.fixture(scope="package")
def _writer() -> Iterator[Writer]:
    writer = Writer()
    yield writer
    writer.close()


@pytest.fixture
def writer(_writer: Writer) -> Iterator[Writer]:
    """The model server. An answer that a test leaves paused is released afterwards."""
    yield _writer
    _writer.resume()


@pytest.fixture(scope="package")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the product's database."""
    return tmp_path_factory.mktemp("written") / "chatui.sqlite3"


@pytest.fixture(scope="package")
def written(_writer: Writer, database: Path) -> Iterator[Server]:
    """The product with this model server and database."""
    with served(Deployment(database.parent, CHATUI_BACKEND_URL=_writer.url)) as server:
        yield server
