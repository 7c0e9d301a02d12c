"""The editor of a question with files: it shows its files, which can be removed by keyboard, and others can be added in every way."""

import pytest
from playwright.sync_api import FilePayload, Locator, expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits, until
from tests.browser.writing.test_documents import NOTES, TABLE, attach, opened
from tests.support.served import Server

pytestmark = pytest.mark.browser


PICTURES: list[FilePayload] = [{"name": f"{name}.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"} for name in ("cat", "dog")]
"""Files that are refused."""


def question_with_files(chat: Chat) -> Locator:
    """Ask with two files; returns the open editor of this question."""
    attach(chat.page, NOTES, TABLE)
    expect(chat.page.locator(".chip")).to_contain_text(["of the limit", "of the limit"])
    chat.ask_and_wait("What is in them?")
    chat.settle()
    return edited(chat)


def edited(chat: Chat) -> Locator:
    button = chat.last.locator("[data-action=edit]")
    button.focus()
    chat.page.keyboard.press("Enter")
    return chat.page.get_by_role("form", name="Edit your message")


def documents(chat: Chat) -> Locator:
    return chat.last.get_by_role("region", name="Documents").get_by_role("listitem")


def test_files_are_changed_with_keys_alone_and_exactly_those_are_sent(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    editor = question_with_files(chat)
    chips = editor.get_by_role("list", name="Files of this question").get_by_role("listitem")
    expect(chips).to_contain_text(["notes.txt", "figures.csv"])
    expect(documents(chat)).to_have_count(0)  # files in the editor are not shown twice
    box = editor.get_by_role("textbox")
    expect(box).to_be_focused()
    for name in ("notes.txt", "Remove notes.txt", "figures.csv"):
        chat.page.keyboard.press("Tab")
        if name.startswith("Remove"):
            expect(editor.get_by_role("button", name=name)).to_be_focused()
            break
    chat.page.keyboard.press("Enter")
    expect(chips).to_contain_text(["figures.csv"])
    expect(box).to_be_focused()
    editor.locator("input[type=file]").set_input_files({**NOTES, "name": "other.txt"})
    expect(chips).to_contain_text(["figures.csv", "other.txt"])
    expect(chips.nth(1)).to_contain_text("of the limit")
    editor.get_by_role("button", name="Earlier files").focus()
    chat.page.keyboard.press("Enter")
    chat.page.get_by_role("dialog", name="Earlier files").get_by_role("button", name="notes.txt").first.press("Enter")
    expect(chips).to_contain_text(["figures.csv", "other.txt", "notes.txt"])
    expect(chat.page.locator("chat-composer .chip")).to_have_count(0)
    box.focus()
    chat.page.keyboard.press("Enter")
    chat.finish()
    expect(documents(chat)).to_contain_text(["figures.csv", "other.txt", "notes.txt"])
    chat.settle()
    chat.page.reload()
    expect(documents(chat)).to_contain_text(["figures.csv", "other.txt", "notes.txt"])
    expect(chat.page.locator("chat-composer .chip")).to_have_count(0)
    chat.last.get_by_role("group", name="Versions of your message").get_by_role("button", name="Previous version").click()
    expect(documents(chat)).to_contain_text(["notes.txt", "figures.csv"])
    expect(documents(chat)).to_have_count(2)


def test_a_question_whose_files_stay_is_sent_with_them_and_one_without_can_have_some(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    chat.ask_and_wait("Hello")
    chat.settle()
    editor = edited(chat)
    editor.locator("input[type=file]").set_input_files(NOTES)
    expect(editor.locator(".chip")).to_contain_text("of the limit")
    editor.get_by_role("textbox").press("Enter")
    chat.finish()
    expect(documents(chat)).to_contain_text(["notes.txt"])
    chat.settle()
    editor = edited(chat)
    expect(editor.locator(".chip")).to_contain_text("notes.txt")
    editor.get_by_role("textbox").fill("Hello again")
    editor.get_by_role("textbox").press("Enter")
    chat.finish()
    expect(documents(chat)).to_contain_text(["notes.txt"])
    chat.settle()
    editor = edited(chat)
    editor.get_by_role("button", name="Remove notes.txt").click()
    editor.get_by_role("textbox").press("Enter")
    chat.finish()
    chat.settle()
    chat.page.reload()
    expect(chat.last.locator(".question-text")).to_contain_text("Hello again")
    expect(documents(chat)).to_have_count(0)


DROP = """element => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(["Some text in a file"], "dropped.txt", { type: "text/plain" }));
  element.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}"""


PASTE = DROP.replace("dropped", "pasted").replace(
    'new DragEvent("drop", { dataTransfer,', 'new ClipboardEvent("paste", { clipboardData: dataTransfer,'
)


@pytest.mark.extended
def test_what_is_dropped_and_pasted_goes_where_it_is_meant_and_cancelling_changes_nothing(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits, **PHONE)
    editor = question_with_files(chat)
    chips = editor.locator(".chip")
    expect(chips).to_have_count(2)
    editor.evaluate(DROP)
    editor.get_by_role("textbox").evaluate(PASTE)
    expect(chips).to_contain_text(["notes.txt", "figures.csv", "dropped.txt", "pasted.txt"])
    expect(chips.nth(3)).to_contain_text("of the limit")
    chat.box.evaluate(PASTE)
    at_the_box = chat.page.locator("chat-composer .chip")
    expect(at_the_box).to_contain_text(["of the limit"])
    assert chat.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the phone"
    editor.get_by_role("button", name="Remove notes.txt").click()
    with chat.page.expect_response(lambda response: "/delete/" in response.url):
        chat.page.keyboard.press("Escape")
    expect(documents(chat)).to_contain_text(["notes.txt", "figures.csv"])
    expect(at_the_box).to_have_count(1)
    chat.page.reload()
    expect(documents(chat)).to_contain_text(["notes.txt", "figures.csv"])
    expect(at_the_box).to_contain_text(["pasted.txt"])
    at_the_box.get_by_role("button", name="Remove pasted.txt").click()
    expect(at_the_box).to_have_count(0)


def test_refused_files_and_a_text_that_is_too_long_take_one_click_in_the_editor_too(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    editor = question_with_files(chat)
    chips, box = editor.locator(".chip"), editor.get_by_role("textbox")
    expect(chips).to_have_count(2)
    editor.locator("input[type=file]").set_input_files(PICTURES)
    expect(chips).to_have_count(4)
    complaint = editor.get_by_role("alert")
    attach_it = complaint.get_by_role("button", name="Attach it as a file")
    before = box.input_value()
    box.fill("word " * 20_000)
    expect(complaint).to_contain_text("too long")
    box.press("Enter")
    expect(complaint).to_contain_text("too long")
    attach_it.click()
    expect(chips).to_have_count(5)
    expect(chips.last).to_contain_text("of the limit")
    expect(box).to_have_value("")
    expect(complaint).to_be_empty()
    box.fill(before + " Really?")
    box.press("Enter")
    expect(complaint).to_contain_text("2 files could not be attached. Remove them to send the message.")
    complaint.get_by_role("button", name="Send without them").click()
    chat.finish()
    expect(chat.question).to_contain_text("Really?")
    expect(documents(chat)).to_contain_text(["notes.txt", "figures.csv", "Pasted text.txt"])
    expect(documents(chat)).to_have_count(3)


def test_on_a_phone_the_whole_editor_stays_above_the_message_box_when_files_are_refused(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits, **PHONE | {"viewport": {"width": 390, "height": 844}})
    chat.ask_and_wait("How do I restore a backup?")
    editor = question_with_files(chat)
    editor.evaluate("editor => editor.scrollIntoView({ block: 'end' })")
    editor.locator("input[type=file]").set_input_files(PICTURES)
    expect(editor.locator(".chip[data-state=failed]")).to_have_count(2)
    editor.get_by_role("textbox").press("Control+Enter")
    expect(editor.get_by_role("alert")).to_contain_text("2 files could not be attached.")
    until(chat.page, lambda: chat.page.evaluate(HIDDEN_PX) <= 0)


HIDDEN_PX = """() => {
  const [editor, view] = [".question-editor", ".scroller"].map(each => document.querySelector(each).getBoundingClientRect());
  return Math.max(editor.bottom - view.bottom, view.top - editor.top);
}"""
"""How much of the editor is outside of what is visible of the conversation, in CSS pixels."""
