"""The service worker: an offline page, nobody's data in its cache, new versions, and a way to switch it off."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.installed.conftest import CACHES, Opening, until
from tests.browser.test_accounts import sign_out
from tests.browser.visits import Visits, still
from tests.support.served import PASSWORD, Deployment, Server

pytestmark = pytest.mark.browser

SECRET = "SECRET-OF-ADA-7741"
CACHED = re.compile(r"/static/.+\.[0-9a-f]{12}\.\w+|/offline/")
NETWORK = "ERR_INTERNET_DISCONNECTED|ERR_FAILED|ERR_CONNECTION|WebSocket connection to .* failed|Failed to load resource"


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment for each test alone: people may sign out, and it may be restarted with other settings."""
    deployment = Deployment(tmp_path_factory.mktemp("own"), CHATUI_DEMO_TOKENS_PER_SECOND="20")
    try:
        deployment.start()
        deployment.make_people(ada=(False, []), bela=(False, []))
        yield deployment
    finally:
        deployment.stop()


def test_without_a_network_there_is_an_honest_page_and_with_it_again_the_conversation(with_worker: Opening, visits: Visits) -> None:
    visits.allow(NETWORK)
    chat = Chat(with_worker("ada"))
    page = chat.page
    chat.ask_and_wait(f"Hello, {SECRET}")
    chat.settle()

    page.context.set_offline(True)
    page.reload()

    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    expect(page.locator("body")).not_to_contain_text(SECRET)
    assert page.locator(".card").evaluate("card => getComputedStyle(card).backgroundColor") != "rgba(0, 0, 0, 0)", "it has its styles"
    expect(page.locator("body")).not_to_contain_text("ada")
    page.get_by_role("link", name="Try again").click()
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    page.context.set_offline(False)
    expect(chat.question).to_contain_text(SECRET)


def test_another_person_at_the_same_browser_finds_nothing_of_the_first(own: Deployment, with_worker: Opening, visits: Visits) -> None:
    visits.allow(NETWORK)
    chat = Chat(with_worker("ada", own.servers[0]))
    page = chat.page
    chat.ask_and_wait(f"Hello {SECRET}")
    chat.settle()
    conversation = urlsplit(page.url).path
    with page.expect_download():
        page.evaluate(f"() => location.assign('{conversation}download/?format=markdown')")
    for path in ("/archived/", "/bin/", "/shares/", "/search/?q=SECRET", conversation, "/"):
        page.goto(path)
        still(page)
    chat.box.fill(f"{SECRET}, unsent")
    page.wait_for_function("() => Object.values(localStorage).some(text => text.includes('unsent'))")
    sign_out(page, f"{SECRET}, unsent")

    cached = page.evaluate(CACHES)
    assert len(cached) > 8 and any("/js/chat/page." in address for address in cached), "the premise: the cache is not empty"
    assert [address for address in cached if not CACHED.fullmatch(urlsplit(address).path)] == []
    assert [address for address, (_, text) in cached.items() if SECRET in text or ">ada<" in text or '"csrf-token" content' in text] == []
    stored = page.evaluate("() => [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie].join()")
    assert SECRET not in stored and "chatui:draft" not in stored

    page.get_by_label("Username").fill("bela")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".account-name")).to_have_text("bela")
    expect(page.locator("body")).not_to_contain_text(SECRET)
    page.context.set_offline(True)
    page.goto(conversation)
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    page.go_back()
    expect(page.locator("body")).not_to_contain_text(SECRET)


@pytest.mark.extended
def test_a_new_version_offers_to_reload_but_not_during_an_answer(own: Deployment, with_worker: Opening, visits: Visits) -> None:
    visits.allow(NETWORK + "|503")
    page = with_worker("ada", own.servers[0])
    chat = Chat(page)
    before = {name for name, _ in page.evaluate(CACHES).values()}
    own.environment["CHATUI_ACCENT"] = "#aa0044"
    server = own.start_again(own.servers[0])
    expect(chat.banner).to_be_hidden()
    line = page.locator(".banner-version")
    chat.ask("explain")
    expect(chat.stop).to_be_visible()

    page.evaluate("async () => (await navigator.serviceWorker.getRegistration()).update()")
    until(page, "async () => (await navigator.serviceWorker.getRegistration()).waiting !== null")
    expect(chat.stop).to_be_visible()
    expect(line).to_be_hidden()
    chat.stop.click()
    expect(line).to_be_visible()
    expect(line).to_contain_text("A new version is ready.")

    chat.box.fill("not lost")
    page.wait_for_timeout(500)
    with page.expect_navigation():
        line.get_by_role("button", name="Reload").click()
    expect(line).to_be_hidden()
    expect(chat.box).to_have_value("not lost")
    still(page)
    after = {name for name, _ in page.evaluate(CACHES).values()}
    assert len(after) == 1 and not after & before, "the old version's cache is deleted"
    assert server.url in page.url


@pytest.mark.extended
def test_whoever_reloads_after_an_upgrade_is_not_told_of_it_again(own: Deployment, with_worker: Opening, visits: Visits) -> None:
    visits.allow(NETWORK + "|503")
    page = with_worker("ada", own.servers[0])
    older = page.context.new_page()
    older.goto("/")
    before = {name for name, _ in page.evaluate(CACHES).values()}
    own.environment["CHATUI_ACCENT"] = "#aa0044"
    own.start_again(own.servers[0])
    page.reload()
    until(page, "async () => (await navigator.serviceWorker.getRegistration()).waiting !== null")
    line = ".banner-version"
    expect(older.locator(line)).to_be_visible()
    page.reload()
    still(page)
    expect(page.locator(line)).to_be_hidden()
    older.close()

    page.reload()
    until(page, "async () => (await navigator.serviceWorker.getRegistration()).waiting === null")
    until(page, "async () => (await caches.keys()).length === 1")
    expect(page.locator(line)).to_be_hidden()
    assert not {name for name, _ in page.evaluate(CACHES).values()} & before, "the worker of that version has taken over"


@pytest.mark.extended
def test_a_worker_that_is_switched_off_unregisters_and_deletes_its_caches(own: Deployment, with_worker: Opening, visits: Visits) -> None:
    visits.allow(NETWORK + "|503")
    page = with_worker("ada", own.servers[0])
    assert page.evaluate(CACHES)
    own.environment["CHATUI_SERVICE_WORKER"] = "off"
    own.start_again(own.servers[0])

    page.goto("/")  # the browser checks for a new worker by itself

    until(page, "async () => (await navigator.serviceWorker.getRegistrations()).length === 0 && !(await caches.keys()).length")
    page.reload()
    still(page)
    assert page.evaluate("async () => (await navigator.serviceWorker.getRegistrations()).length") == 0
    chat = Chat(page)
    chat.ask_and_wait("Hello")


def test_no_other_address_becomes_a_worker_and_a_browser_without_workers_does_without(demo: Server, visits: Visits) -> None:
    visits.allow("TrustedScriptURL|policy: ")
    page = visits.open(demo, "ada", own=True, service_workers="allow")
    still(page)
    register = "address => navigator.serviceWorker.register(address).then(() => 'done', error => error.name)"
    assert page.evaluate(register, "/sw.js") == "TypeError", "a plain string is not a TrustedScriptURL"
    assert page.evaluate("policiesMade") == ["chatui"]
