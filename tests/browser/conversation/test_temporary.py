"""Temporary chats: started with one press, marked by a banner, reloaded, closed, left, and turned into ordinary ones."""

import time

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

SAYS = "Not listed, not searchable."
UNTIL = "from chatui.models import Conversation; print(Conversation.objects.get(pk='{}').temporary_until.timestamp())"


def temporary_chat(visits: Visits, demo: Server, **options: object) -> Chat:
    page = visits.open(demo, "ada", **options)  # type: ignore[arg-type]
    page.get_by_role("link", name="Temporary chat").click()
    chat = Chat(page)
    expect(page.get_by_role("complementary", name="Temporary chat")).to_contain_text(SAYS)
    expect(page.get_by_role("button", name="Close and delete")).to_be_hidden()
    chat.ask_and_wait("Hello")
    chat.settle()
    return chat


def seconds_left(deployment: Deployment, url: str) -> float:
    key = url.rstrip("/").rpartition("/")[2]
    return float(deployment.manage("shell", "--no-imports", "-c", UNTIL.format(key))) - time.time()


def is_gone(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Temporary chat")
    expect(page.locator("chat-transcript")).to_have_count(0)


def test_a_temporary_chat_is_in_no_list_survives_a_reload_and_is_deleted_when_closed(
    demo: Server, demo_deployment: Deployment, visits: Visits
) -> None:
    visits.allow("status of 404")
    chat = temporary_chat(visits, demo)
    page, url = chat.page, chat.page.url
    expect(page).to_have_title("Temporary chat · chatui")
    expect(page.get_by_role("heading", level=1)).to_have_text("Temporary chat")
    links = [link.get_attribute("href") for link in chat.links.all()]
    assert url.removeprefix(demo.url) not in links and not page.locator("[aria-current=page]").count()
    # Only after the reload does the server learn that the previous page was left.
    with page.expect_response(lambda response: response.url == f"{url}temporary/stay/"):
        page.reload()
    assert seconds_left(demo_deployment, url) > 3_000
    expect(chat.exchanges).to_have_count(1)
    expect(page.get_by_role("link", name="Regular conversation")).to_have_count(0)
    page.get_by_role("button", name="Options for this conversation").click()
    menu = page.get_by_role("group", name="This conversation")
    expect(menu.get_by_text("Print…")).to_be_visible()
    expect(menu.get_by_text("Rename")).to_have_count(0)
    page.keyboard.press("Escape")
    chat.box.fill("a secret that I do not send")
    page.locator(".question").hover()
    page.locator(".question [data-action=edit]").click()
    page.locator(".question-editor textarea").fill("a secret that I do not ask")
    page.get_by_role("button", name="Close and delete").click()
    page.wait_for_url(demo.url + "/")
    expect(chat.box).to_have_value("")
    is_gone(page, url)


def test_another_tab_is_informed_and_clears_what_it_shows(demo: Server, visits: Visits) -> None:
    chat = temporary_chat(visits, demo)
    other = Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    expect(other.exchanges).to_have_count(1)
    chat.page.get_by_role("button", name="Close and delete").click()
    expect(other.page.get_by_text("This temporary chat has ended and was deleted.")).to_be_visible()
    expect(other.exchanges).to_have_count(0)
    expect(other.page.get_by_role("button", name="Undo")).to_have_count(0)


def test_a_temporary_chat_that_is_kept_is_an_ordinary_conversation(demo: Server, visits: Visits) -> None:
    chat = temporary_chat(visits, demo)
    chat.box.fill("half a thought")
    chat.page.get_by_role("button", name="Keep this chat").click()
    expect(chat.page.get_by_role("heading", level=1)).to_have_text("Hello")
    expect(chat.page.get_by_text(SAYS)).to_have_count(0)
    expect(chat.page.locator("[aria-current=page] .conversation-title")).to_have_text("Hello")
    expect(chat.box).to_have_value("half a thought")
    chat.box.fill("")


def test_leaving_the_page_ends_the_chat_soon_unless_another_tab_shows_it(demo: Server, demo_deployment: Deployment, visits: Visits) -> None:
    chat = temporary_chat(visits, demo)
    url = chat.page.url
    other = chat.page.context.new_page()
    other.goto(url)
    expect(Chat(other).exchanges).to_have_count(1)
    with other.expect_response(lambda response: response.url == f"{url}temporary/stay/") as objection:
        chat.page.goto("/")
    assert objection.value.status == 200 and seconds_left(demo_deployment, url) > 3_000
    other.goto("/")
    assert 0 < seconds_left(demo_deployment, url) <= 60
