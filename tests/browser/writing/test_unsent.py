"""Nothing unsent is lost unasked: the text is there again for the same account, or the page asked before it was left."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conversation.test_temporary import temporary_chat
from tests.browser.test_accounts import press_sign_out
from tests.browser.visits import Visits, still
from tests.support.served import PASSWORD, Server

pytestmark = pytest.mark.browser

WORDS = "half a thought"
STORED = "() => [localStorage, sessionStorage].flatMap(storage => Object.entries(storage)).join()"
WAYS: dict[str, Callable[[Page], object]] = {
    "back": lambda page: page.evaluate("() => history.back()"),
    "link": lambda page: page.evaluate("() => document.querySelector('a[href]:not([target], [href^=\"#\"])').click()"),
    "reload": lambda page: page.evaluate("() => location.reload()"),
    "close": lambda page: page.close(run_before_unload=True),
}
FORMS = {"/settings/": "grace", "/manage/people/invite/": "grace", "/sign-in/": ""}
FIELDS = (
    ":is(form[method=post]:not(.language), .reference-try) :is(textarea, input:not([type]), [type=text], [type=email], [type=password])"
)


def is_stored(page: Page, text: str) -> bool:
    return text in page.evaluate(STORED)


def is_asked(page: Page, leave: Callable[[Page], object]) -> None:
    """The page asks before it is left this way; the person stays."""
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        leave(page)
    assert asked.value.type == "beforeunload"


def choose_german(page: Page) -> None:
    page.get_by_label("Language").select_option("de")


def sign_in(page: Page, name: str) -> None:
    page.locator("[name=username]").fill(name)
    page.locator("[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


@pytest.mark.parametrize("path", FORMS)
def test_a_form_that_was_changed_asks_before_it_is_left(demo: Server, visits: Visits, path: str) -> None:
    page = visits.open(demo, FORMS[path] or None, "/pages/help/")
    page.goto(path)
    still(page)
    page.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true; })")
    fields = page.locator(FIELDS).and_(page.locator(":not([readonly])"))
    visible = [field for field in fields.all() if field.is_visible()]
    assert visible, "the premise: there is something to type into"
    for field in visible:
        before = field.input_value()
        field.fill(WORDS)
        is_asked(page, WAYS["reload"])
        expect(field).to_have_value(WORDS)
        field.fill(before)
    page.reload()
    still(page)
    page.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true; })")
    visible[0].fill(WORDS)
    for leave in WAYS.values():
        is_asked(page, leave)


def test_what_is_sent_or_only_searched_for_is_not_asked_about(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", "/settings/")
    still(page)
    page.locator("textarea").first.fill("Be brief.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your settings are saved.")).to_be_visible()
    page.locator("textarea").first.fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your settings are saved.")).to_be_visible()
    page.goto("/")
    page.get_by_placeholder("Search").first.fill("something")
    page.reload()
    expect(page.get_by_placeholder("Search").first).to_have_value("")


def test_the_language_keeps_what_was_typed_but_no_password(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, None, "/sign-in/", locale="en-GB")
    still(page)
    page.locator("[name=username]").fill("ada")
    choose_german(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Anmelden")
    expect(page.locator("[name=username]")).to_have_value("ada")
    assert not is_stored(page, "ada"), "kept for one page"
    page.locator("[name=password]").fill("a password to be typed")
    is_asked(page, lambda page: page.locator(".language-choice").select_option("en"))
    assert not is_stored(page, "a password")


def test_the_language_keeps_the_message_and_the_edited_question(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", locale="en-GB")
    chat = Chat(page)
    chat.ask_and_wait("Hello")
    chat.settle()
    chat.box.fill(WORDS)
    page.locator(".question").hover()
    page.locator(".question [data-action=edit]").click()
    page.locator(".question-editor textarea").fill("Hello, but better")
    page.locator(".account-button").click()
    with page.expect_navigation():
        choose_german(page)
    expect(page.locator("#composer-text")).to_have_value(WORDS)
    page.locator(".question").hover()
    page.locator(".question [data-action=edit]").click()
    expect(page.locator(".question-editor textarea")).to_have_value("Hello, but better")
    page.locator("#composer-text").fill("")
    page.keyboard.press("Escape")
    page.locator(".account-button").click()
    with page.expect_navigation():
        page.locator(".language-choice").select_option("")


def test_what_was_sent_after_the_session_had_ended_is_there_after_signing_in(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada", "/folders/new/")
    still(page)
    page.locator("[name=name]").fill(WORDS)
    page.context.clear_cookies(name="chatui_session")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/sign-in/**")
    sign_in(page, "bela")
    page.wait_for_url("**/folders/new/")
    expect(page.locator("[name=name]")).to_have_value("")
    assert not is_stored(page, WORDS), "another account does not see it"

    page.locator("[name=name]").fill(WORDS)
    page.context.clear_cookies(name="chatui_session")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/sign-in/**")
    sign_in(page, "bela")
    page.wait_for_url("**/folders/new/")
    expect(page.locator("[name=name]")).to_have_value(WORDS)
    assert not is_stored(page, WORDS)


def test_what_was_sent_in_a_form_that_was_refused_is_there_when_it_is_opened_again(demo: Server, visits: Visits) -> None:
    visits.allow("403")
    page = visits.open(demo, "ada", "/folders/new/")
    still(page)
    page.locator("[name=name]").fill(WORDS)
    page.locator("form:has([name=name]) [name=csrfmiddlewaretoken]").evaluate("field => { field.value = 'x'; }")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="Open the page again").click()
    expect(page.locator("[name=name]")).to_have_value(WORDS)


@pytest.mark.parametrize("way", ["link", "close"])
def test_a_temporary_chat_asks_and_stores_nothing(demo: Server, visits: Visits, way: str) -> None:
    chat = temporary_chat(visits, demo)
    page = chat.page
    chat.box.fill(WORDS)
    if way == "link":
        page.get_by_role("link", name="New conversation").click()
        page.get_by_role("dialog").get_by_role("button", name="Stay").click()
    else:
        is_asked(page, WAYS[way])
    expect(chat.box).to_have_value(WORDS)
    page.locator(".question").hover()
    page.locator(".question [data-action=edit]").click()
    page.locator(".question-editor textarea").fill("another secret")
    chat.box.fill("")
    is_asked(page, WAYS["reload"])
    assert not is_stored(page, "thought") and not is_stored(page, "secret")


def two_tabs(server: Server, visits: Visits) -> tuple[Chat, Chat]:
    """Two tabs of one browser: a conversation, and a new one with unsent text."""
    one = Chat(visits.open(server, "pavel"))
    one.ask_and_wait("My own question")
    one.settle()
    one.box.fill(WORDS)
    two = Chat(one.page.context.new_page())
    two.page.goto("/")
    two.page.wait_for_load_state()
    two.box.fill("another thought")
    return one, two


def test_signing_out_names_what_is_unsent_and_empties_the_other_pages(demo: Server, visits: Visits) -> None:
    one, two = two_tabs(demo, visits)
    settings = one.page.context.new_page()
    settings.goto("/settings/")
    still(settings)
    settings.locator("textarea").first.fill("an unsent instruction")
    secret = one.page.context.new_page()
    secret.goto("/?temporary=1")
    still(secret)
    Chat(secret).box.fill("of a temporary chat")

    press_sign_out(two.page)
    dialog = two.page.get_by_role("dialog", name="Sign out and delete this unsent text?")
    expect(dialog.locator("li")).to_have_count(4)
    assert sorted(dialog.locator("li").all_inner_texts()) == [
        "My own question\nhalf a thought",
        "New conversation\nanother thought",
        "Settings\nan unsent instruction",
        "Temporary chat\nof a temporary chat",
    ]
    dialog.get_by_role("button", name="Stay").click()
    expect(two.box).to_have_value("another thought")
    expect(one.box).to_have_value(WORDS)

    press_sign_out(two.page)
    dialog.get_by_role("button", name="Sign out").click()
    two.page.wait_for_url("**/sign-in/")
    for page in (one.page, settings, secret):
        expect(page.get_by_role("heading", level=1)).to_have_text("You have been signed out.")
        assert page.locator("body").inner_text().split("\n")[-1] == "Sign in again"
        expect(page).to_have_title("You have been signed out.")
        assert not is_stored(page, "thought")
    one.page.bring_to_front()
    expect(one.page).to_have_title("You have been signed out.")
    one.page.get_by_role("link", name="Sign in again").click()
    sign_in(one.page, "pavel")
    expect(one.box).to_have_value("")


def test_a_session_that_ended_keeps_drafts_for_its_own_account_only(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, "ada")
    chat = Chat(page)
    still(page)
    chat.box.fill(WORDS)
    page.context.clear_cookies()
    page.goto("/")
    sign_in(page, "bela")
    page.wait_for_url(demo.url + "/")
    expect(chat.box).to_have_value("")
    chat.box.fill("of bela")
    press_sign_out(page)
    dialog = page.get_by_role("dialog", name="Sign out and delete this unsent text?")
    expect(dialog.locator("li")).to_have_text(["New conversationof bela"])
    dialog.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/")
    sign_in(page, "ada")
    page.wait_for_url(demo.url + "/")
    expect(chat.box).to_have_value(WORDS)
    chat.box.fill("")


def test_a_comment_that_could_not_be_sent_is_still_there(demo: Server, visits: Visits) -> None:
    visits.allow("403|401|status of")
    chat = Chat(visits.open(demo, "ada"))
    chat.ask_and_wait("Hello")
    chat.settle()
    chat.last.locator("[data-action=rate][data-verdict=down]").click()
    dialog = chat.page.get_by_role("dialog")
    dialog.locator("input[type=radio]").first.check()
    dialog.locator("textarea").fill(WORDS)
    chat.page.context.clear_cookies(name="chatui_session")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    expect(dialog.locator("textarea")).to_have_value(WORDS)
    is_asked(chat.page, WAYS["reload"])


def test_two_new_conversations_do_not_replace_each_other(demo: Server, visits: Visits) -> None:
    one = Chat(visits.open(demo, "milo"))
    still(one.page)
    two = Chat(one.page.context.new_page())
    two.page.goto("/")
    still(two.page)
    one.box.fill(WORDS)
    one.page.wait_for_function("() => Object.values(localStorage).some((text) => text.includes('half'))")
    two.box.fill("another thought")
    for leave in WAYS.values():
        is_asked(two.page, leave)
    one.page.close()
    two.page.once("dialog", lambda dialog: dialog.accept())
    two.page.reload()
    expect(two.box).to_have_value(WORDS)
    two.box.fill("")
