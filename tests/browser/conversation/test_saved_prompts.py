"""Saved prompts in a browser: a slash opens them, typing filters, Enter and Tab take one, Escape leaves what was typed, by keyboard."""

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

PROMPTS = (
    ("Short summary", "Summarize this in one sentence."),
    ("Shorten", "Make this {{tone: formal | friendly}} and short by {{date}}:\n\n{{text}}"),
    ("Mail", "Answer this:\n\n{{the mail}}"),
    ("회의록요약하기", "회의록을 요약해 줘."),
)
_SET = """
from chatui.models import SavedPrompt, User
bela = User.objects.get(username="bela")
SavedPrompt.objects.filter(owner=bela).delete()
SavedPrompt.objects.bulk_create(SavedPrompt(owner=bela, name=name, text=text) for name, text in {prompts!r})
"""


@pytest.fixture
def page(demo_deployment: Deployment, visits: Visits, demo: Server) -> Page:
    page = visits.open(demo, "bela")
    demo_deployment.manage("shell", "--no-imports", "-c", _SET.format(prompts=PROMPTS))
    return page


def box(page: Page) -> Locator:
    return page.locator("#composer-text")


def options(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Saved prompts").get_by_role("option")


def test_a_slash_opens_them_typing_filters_and_enter_takes_one(page: Page) -> None:
    box(page).press_sequentially("/")
    expect(options(page)).to_have_count(4)
    box(page).press_sequentially("sh")
    expect(options(page)).to_have_count(2)
    active = page.locator(".prompt-item[aria-selected=true]")
    expect(active).to_contain_text("Short summary")
    assert box(page).get_attribute("aria-activedescendant") == active.get_attribute("id")
    page.keyboard.press("ArrowDown")
    expect(active).to_contain_text("Shorten")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value("Summarize this in one sentence.")
    expect(box(page)).to_be_focused()
    expect(options(page)).to_have_count(0)
    expect(Chat(page).exchanges).to_have_count(0)
    page.reload()
    expect(box(page)).to_have_value("Summarize this in one sentence.")


def test_blanks_are_filled_in_by_keyboard(page: Page) -> None:
    box(page).press_sequentially("/shorten")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Tab")
    dialog = page.get_by_role("dialog", name="Shorten")
    expect(dialog.get_by_label("tone")).to_be_focused()
    page.keyboard.press("ArrowDown")
    dialog.get_by_label("Date").fill("2026-12-24")
    dialog.get_by_label("Text").fill("A long text with {{braces}}.")
    dialog.get_by_role("button", name="Insert").focus()
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value("Make this friendly and short by December 24, 2026:\n\nA long text with {{braces}}.")
    expect(box(page)).to_be_focused()
    page.keyboard.press("Enter")
    Chat(page).finish()
    expect(Chat(page).exchanges).to_have_count(1)


def test_a_blank_keeps_the_lines_of_what_is_pasted_and_enter_inserts_it(page: Page) -> None:
    box(page).press_sequentially("/mail")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Mail").get_by_label("the mail")).to_be_focused()
    page.evaluate("text => document.execCommand('insertText', false, text)", "Dear Anna,\nthank you.")
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value("Answer this:\n\nDear Anna,\nthank you.")


def test_enter_goes_on_to_the_next_empty_blank_and_inserts_from_the_last(demo_deployment: Deployment, page: Page) -> None:
    prompts = (("Invite", "Ask {{who}} to {{what}} at {{place}}."),)
    demo_deployment.manage("shell", "--no-imports", "-c", _SET.format(prompts=prompts))
    box(page).press_sequentially("/inv")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Invite")
    dialog.get_by_label("what").fill("a dance")
    dialog.get_by_label("who").fill("Bela")
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("place")).to_be_focused()
    expect(box(page)).to_have_value("/inv")
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value("Ask Bela to a dance at .")


def test_escape_closes_and_leaves_what_was_typed_and_a_closed_form_changes_nothing(page: Page) -> None:
    box(page).press_sequentially("/short")
    expect(options(page)).to_have_count(2)
    page.keyboard.press("Escape")
    expect(options(page)).to_have_count(0)
    box(page).press_sequentially("en")
    expect(box(page)).to_have_value("/shorten")
    expect(options(page)).to_have_count(0)
    box(page).fill("")
    box(page).press_sequentially("/shorten")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Shorten")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Shorten")).to_have_count(0)
    expect(box(page)).to_have_value("/shorten")
    expect(box(page)).to_be_focused()


def test_a_path_is_sent_as_it_is_and_a_slash_inside_text_does_nothing(page: Page) -> None:
    box(page).press_sequentially("and/or /sh")
    expect(options(page)).to_have_count(0)
    box(page).fill("")
    box(page).press_sequentially("/etc/sh")
    expect(options(page)).to_have_count(0)
    page.keyboard.press("Enter")
    Chat(page).finish()
    expect(page.locator(".question").first).to_contain_text("/etc/sh")


def test_part_of_a_korean_word_is_found_and_a_click_takes_it(page: Page) -> None:
    box(page).fill("/요약")
    options(page).click()
    expect(box(page)).to_have_value("회의록을 요약해 줘.")
    expect(box(page)).to_be_focused()


def test_who_has_none_is_led_to_the_page(demo_deployment: Deployment, page: Page) -> None:
    demo_deployment.manage("shell", "--no-imports", "-c", _SET.format(prompts=()))
    box(page).press_sequentially("/")
    page.get_by_role("link", name="You have no saved prompt yet").click()
    page.get_by_role("link", name="New prompt").click()
    page.get_by_label("Name").fill("Poem")
    page.get_by_label("Text").fill("Write a poem about {{text}}.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    page.get_by_role("button", name="Delete “Poem”").click()
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("The prompt is back.")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    assert json.loads(download.value.path().read_text("utf-8"))["prompts"][0]["name"] == "Poem"
