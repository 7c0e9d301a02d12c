"""Attached files as context: chips at the message box, sending a question with them, and a reload."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, FilePayload, Page, Route, expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits, still, until
from tests.support.served import Server

pytestmark = pytest.mark.browser

NOTES: FilePayload = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"The meeting is on Tuesday. " * 40}
TABLE: FilePayload = {"name": "figures.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n" * 200}
EMPTY: FilePayload = {"name": "empty.txt", "mimeType": "text/plain", "buffer": b" "}


def attach(page: Page, *files: FilePayload) -> None:
    page.get_by_label("Attach files").set_input_files(list(files))


def opened(demo: Server, visits: Visits, **options: Any) -> Chat:
    """The page of a new conversation, without the unsent files of other tests."""
    chat = Chat(visits.open(demo, "ada", **options))
    still(chat.page)
    for _ in range(chat.page.locator(".chip").count()):
        with chat.page.expect_response(lambda response: "/delete/" in response.url):
            chat.page.locator(".chip .quiet").first.click()
    return chat


def test_a_file_is_brought_sent_found_again_and_deleted(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    attach(chat.page, NOTES, TABLE, EMPTY)
    chips = chat.page.get_by_role("list", name="Files for this message").get_by_role("listitem")
    expect(chips).to_have_count(3)
    for number in (0, 1):  # in any order
        expect(chips.nth(number)).to_contain_text("of the limit")
    expect(chips.nth(2)).to_contain_text("There is no text in this file.")
    chat.box.fill("When is the meeting?")
    chat.box.press("Enter")
    expect(chat.problem).to_contain_text("Remove it to send")
    chat.page.get_by_role("button", name="Remove empty.txt").click()
    chat.box.press("Enter")
    chat.finish()
    expect(chips).to_have_count(0)
    documents = chat.last.get_by_role("region", name="Documents")
    expect(documents.get_by_role("link")).to_contain_text(["notes.txt", "figures.csv"])
    chat.settle()

    chat.page.reload()
    expect(documents.get_by_role("listitem")).to_contain_text(["notes.txt", "figures.csv"])
    address = documents.get_by_role("link", name="notes.txt").first.get_attribute("href")
    assert address and "The meeting is on Tuesday." in chat.page.request.get(address).text()

    chat.page.get_by_role("button", name="Delete notes.txt").click()
    chat.page.locator(".toast-action").click()
    expect(documents.get_by_role("listitem").first).to_have_text("A document that was deleted")
    chat.page.reload()
    expect(documents.get_by_role("listitem")).to_contain_text(["A document that was deleted", "figures.csv"])


def test_a_file_that_is_attached_already_is_not_attached_again(demo: Server, visits: Visits, tmp_path: Path) -> None:
    chat, path = opened(demo, visits), tmp_path / "twice.txt"
    path.write_text("The meeting is on Tuesday.")
    picker = chat.page.get_by_label("Attach files")
    chips = chat.page.get_by_role("list", name="Files for this message").get_by_role("listitem")
    for _ in ("at first", "after a reload"):
        picker.set_input_files(path)
        expect(chips.filter(has_text="twice.txt").filter(has_text="of the limit")).to_have_count(1)
        picker.set_input_files(path)
        expect(chat.problem).to_have_text("twice.txt is already attached.")
        expect(chips).to_have_count(1)
        chat.page.reload()
        expect(chips).to_have_count(1)
    path.write_text("Another text under that name.")
    picker.set_input_files(path)
    expect(chips).to_have_count(2)


def test_files_are_restored_like_the_text_and_are_sent_with_it(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    attach(chat.page, NOTES, TABLE)
    chips = chat.page.locator(".chip")
    expect(chips).to_contain_text(["of the limit", "of the limit"])
    chat.box.fill("When is the meeting?")
    chat.page.wait_for_function("() => Object.values(localStorage).some((each) => each.includes('When is'))")
    dialogs: list[str] = []

    def answer(dialog: Dialog) -> None:
        dialogs.append(dialog.type)
        dialog.accept()

    chat.page.on("dialog", answer)
    chat.page.reload()
    expect(chips).to_have_count(2)
    expect(chat.box).to_have_value("When is the meeting?")
    chat.page.get_by_role("button", name="Remove figures.csv").click()
    expect(chips).to_have_count(1)
    chat.page.reload()
    expect(chips).to_contain_text(["notes.txt"])
    chat.box.press("Enter")
    chat.finish()
    expect(chat.last.get_by_role("region", name="Documents").get_by_role("listitem")).to_contain_text(["notes.txt"])
    chat.settle()
    attach(chat.page, TABLE)
    expect(chips).to_contain_text(["of the limit"])
    chat.page.reload()
    expect(chips).to_contain_text(["figures.csv"])
    still(visits.open(demo, "ada"))
    assert dialogs == [], "nothing would be lost"
    chat.page.get_by_role("button", name="Remove figures.csv").click()
    expect(chips).to_have_count(0)


KINDS = (
    "You can attach text, PDF, office documents (docx, odt, rtf), slides (pptx, odp), workbooks (xlsx, xlsm, xls, ods), mails (eml), "
    "books (epub) and notebooks (ipynb) of up to 20 MB each."
)


def test_what_cannot_be_attached_is_refused_at_its_chip_before_it_is_sent(demo: Server, visits: Visits, tmp_path: Path) -> None:
    chat = opened(demo, visits)
    sent: list[str] = []
    chat.page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    expect(chat.page.get_by_label("Attach files")).to_have_attribute("title", KINDS)
    picture, large = tmp_path / "cat.png", tmp_path / "large.txt"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    with large.open("wb") as file:
        file.truncate(20 * 1024 * 1024 + 1)
    chat.page.get_by_label("Attach files").set_input_files([picture, large])
    chips = chat.page.locator(".chip")
    expect(chips).to_contain_text(["cannot see pictures. " + KINDS, "This file is too large: it has 20.1 MB. " + KINDS])
    expect(chips.get_by_role("button")).to_have_text(["×", "×"])
    assert not [url for url in sent if "/files/" in url]
    chat.box.fill("Hello")
    chat.box.press("Enter")
    expect(chat.problem).to_contain_text("2 files could not be attached. Remove them to send the message.")
    attach(chat.page, NOTES)
    expect(chips.last).to_contain_text("of the limit")
    chat.box.press("Enter")
    chat.problem.get_by_role("button", name="Send without them").click()
    chat.finish()
    expect(chat.last.get_by_role("region", name="Documents").get_by_role("listitem")).to_contain_text(["notes.txt"])
    expect(chips).to_have_count(0)
    expect(chat.problem).to_be_empty()


def test_files_that_are_refused_at_once_are_all_announced(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    pictures: list[FilePayload] = [{"name": f"{name}.png", "mimeType": "image/png", "buffer": b"\x89PNG"} for name in ("cat", "dog")]
    attach(chat.page, *pictures)
    said = chat.page.locator("chat-composer p[role=status].visually-hidden")
    expect(said).to_have_text(re.compile(r"cat\.png: .*cannot see pictures.*dog\.png: .*cannot see pictures"))


def test_that_a_file_is_still_being_read_stays_said_while_others_end(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    held: list[Route] = []
    chat.page.route(
        "**/files/?*", lambda route: held.append(route) if route.request.headers.get("x-file-name") == "notes.txt" else route.continue_()
    )
    attach(chat.page, NOTES)
    until(chat.page, lambda: held)
    chat.box.fill("When is the meeting?")
    chat.box.press("Enter")
    expect(chat.problem).to_contain_text("still being read")
    attach(chat.page, TABLE)
    expect(chat.page.locator(".chip").last).to_contain_text("of the limit")
    expect(chat.problem).to_contain_text("still being read")
    held[0].continue_()
    expect(chat.page.locator(".chip").first).to_contain_text("of the limit")
    expect(chat.problem).to_be_empty()
    for name in ("notes.txt", "figures.csv"):
        chat.page.get_by_role("button", name=f"Remove {name}").click()
    expect(chat.page.locator(".chip")).to_have_count(0)


HTML = "<html><body>nginx</body></html>"
PASSING = "The server could not do that. Please try again. (HTTP"
REPLIES = [  # the status and body of the product or of a proxy, what the chip says, and whether it offers another try
    (200, HTML, f"{PASSING} 200)", True),
    (200, '{"ok": false, "message": "Ours."}', "Ours.", False),
    (400, HTML, "refused the file. (HTTP 400)", False),
    (401, HTML, "You have been signed out.", False),
    (413, HTML, "The server, or a proxy before it, takes no file of 0.1 MB.", False),
    (413, '{"error": {"message": "The body may have 1 bytes."}}', "takes no file of 0.1 MB.", False),
    (429, '{"ok": false, "message": "Ours."}', "Ours.", True),
    (502, HTML, f"{PASSING} 502)", True),
    (0, "", "The server could not be reached. Please try again.", True),
]


def replying(status: int, body: str) -> Callable[[Route], None]:
    """What a route does with an upload; 0: no reply."""

    def reply(route: Route) -> None:
        if status:
            route.fulfill(status=status, body=body, content_type="text/html" if body == HTML else "application/json")
        else:
            route.abort()

    return reply


def test_every_reply_to_a_file_reads_as_what_it_is_and_another_try_is_offered_where_it_can_help(demo: Server, visits: Visits) -> None:
    visits.allow("Failed to load resource")
    chat = opened(demo, visits)
    chip = chat.page.locator(".chip")
    for status, body, sentence, can_retry in REPLIES:
        chat.page.route("**/files/?*", replying(status, body))
        attach(chat.page, NOTES)
        expect(chip.locator(".chip-state")).to_contain_text(sentence)
        expect(chip.get_by_role("button")).to_have_text(["×", "Try again"] if can_retry else ["×"])
        chat.page.unroute("**/files/?*")
        if can_retry and status == 502:
            chip.get_by_role("button", name="Try notes.txt again").click()
            expect(chip).to_contain_text("of the limit")
        chat.page.get_by_role("button", name="Remove notes.txt").click()
        expect(chip).to_have_count(0)


def test_a_file_that_is_gone_when_it_is_sent_is_told_from_a_lost_connection(demo: Server, visits: Visits, tmp_path: Path) -> None:
    visits.allow("Failed to load resource")
    chat = opened(demo, visits)
    file, chip = tmp_path / "moved.txt", chat.page.locator(".chip")
    file.write_text("Some words")
    chat.page.route("**/files/?*", replying(502, HTML))
    chat.page.get_by_label("Attach files").set_input_files(file)
    expect(chip).to_contain_text("502")
    chat.page.unroute("**/files/?*")
    file.unlink()
    chip.get_by_role("button", name="Try moved.txt again").click()
    expect(chip).to_contain_text("This is a folder, or the file was moved.")
    expect(chip.get_by_role("button")).to_have_text(["×"])


def test_a_long_pasted_text_becomes_a_file_and_text_again(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    chat.box.focus()
    chat.page.evaluate("""() => {
      const data = new DataTransfer(), text = "word ".repeat(2000), box = document.activeElement;
      data.setData("text/plain", text);
      if (box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }))) {
        document.execCommand("insertText", false, text);
      }
    }""")
    chat.page.get_by_role("button", name="Attach it as a file").first.click()
    expect(chat.box).to_have_value("")
    expect(chat.page.locator(".chip")).to_contain_text("Pasted text.txt")
    chat.page.get_by_role("button", name="Undo").click()
    expect(chat.page.locator(".chip")).to_have_count(0)
    assert chat.box.input_value() == "word " * 2000


def test_a_text_that_is_too_long_can_be_attached_as_long_as_that_is_said(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    chat.page.wait_for_load_state()
    limit = int(chat.page.locator(".composer-form").get_attribute("data-text-chars") or 0)
    chat.box.fill("word " * (limit // 5 + 10))
    expect(chat.problem).to_contain_text("characters too long")
    chat.page.wait_for_function("() => JSON.stringify(localStorage).includes('word word')")
    chat.page.reload()
    expect(chat.problem).to_contain_text("characters too long")
    chat.problem.get_by_role("button", name="Attach it as a file").click()
    expect(chat.page.locator(".chip")).to_contain_text("Pasted text.txt")
    expect(chat.box).to_have_value("")
    expect(chat.problem).to_be_empty()
    chat.page.wait_for_function("() => !JSON.stringify(localStorage).includes('word word')")
    expect(chat.page.locator(".chip")).to_contain_text("of the limit")
    chat.page.get_by_role("button", name="Remove Pasted text.txt").click()


SEES_NONE = "cannot see pictures"
CELLS = "Name\tSum\nAda\t3"
ROWS = """<html><head><style>td { color: red }</style></head><body><!--StartFragment--><table>
  <tr><td>Name</td>
  <td>Sum</td></tr> <tr><td>Ada &amp; B&ouml;</td><td onclick="x()" title="a>b" data-x='>' id=it's>3 < 4</td></tr></table></body></html>"""
COPY = """async (text) => {
  const canvas = new OffscreenCanvas(2, 2);
  canvas.getContext("2d");
  const forms = { "image/png": await canvas.convertToBlob() };
  if (text) forms["text/plain"] = new Blob([text], { type: "text/plain" });
  await navigator.clipboard.write([new ClipboardItem(forms)]);
}"""
BRING = """(element, [what, text, html, name, type]) => {
  const data = new DataTransfer();
  if (text) data.setData("text/plain", text);
  if (html) data.setData("text/html", html);
  data.items.add(new File(["Some text in a file"], name, { type }));
  element.dispatchEvent(what === "drop" ?
    new DragEvent(what, { dataTransfer: data, bubbles: true, cancelable: true }) :
    new ClipboardEvent(what, { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def test_words_that_were_copied_as_a_picture_too_are_pasted_and_a_picture_alone_is_refused(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.ask_and_wait("Hello")
    chat.settle()
    chat.last.get_by_role("button", name="Edit").first.click()
    editor = chat.page.get_by_role("form", name="Edit your message")
    for form, box in ((chat.page.locator("chat-composer"), chat.box), (editor, editor.get_by_role("textbox"))):
        for text in (CELLS, " "):
            chat.page.evaluate(COPY, text)
            box.fill("Draft: ")
            box.press("Control+v")
            if text.strip():
                expect(box).to_have_value(f"Draft: {text}")
                expect(form).not_to_contain_text(SEES_NONE)
            else:
                expect(form).to_contain_text(SEES_NONE)
                expect(box).to_have_value("Draft: ")


def test_words_are_taken_out_of_html_beside_a_picture_and_typed_where_they_can_be_undone(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    chat.box.fill("Draft: ")
    for what in ("paste", "drop"):
        chat.box.evaluate(BRING, [what, "", ROWS, "image.png", "image/png"])
        expect(chat.box).to_have_value("Draft: Name\tSum\nAda & B\u00f6\t3 < 4")
        chat.box.press("Control+z")
        expect(chat.box).to_have_value("Draft: ")
    expect(chat.page.locator("chat-composer")).not_to_contain_text(SEES_NONE)
    chat.box.evaluate(BRING, ["paste", "", '<meta charset="utf-8"><img src="https://x/c.png" alt="c">', "image.png", "image/png"])
    expect(chat.page.locator("chat-composer")).to_contain_text(SEES_NONE)
    expect(chat.box).to_have_value("Draft: ")


def test_dropped_words_of_an_office_program_are_words_and_a_file_beside_its_name_is_a_file(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    chat.box.fill("Draft: ")
    body = chat.page.locator("body")
    body.evaluate(BRING, ["drop", "Some words", "", "image.png", "image/png"])
    expect(chat.box).to_have_value("Draft: Some words")
    for what in ("drop", "paste"):
        body.evaluate(BRING, [what, "notes.txt", "", "notes.txt", "text/plain"])
        expect(chat.page.locator(".chip")).to_contain_text(["of the limit"])
        expect(chat.box).to_have_value("Draft: Some words")
        chat.page.get_by_role("button", name="Remove notes.txt").click()
        expect(chat.page.locator(".chip")).to_have_count(0)


def test_files_are_dropped_anywhere_and_the_page_stays(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits, **PHONE)
    chat.box.fill("Draft")
    drop = """name => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["Some text in a file"], "dropped.txt", { type: "text/plain" }));
      document.body.dispatchEvent(new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true }));
    }"""
    chat.page.evaluate(drop, "dragover")
    expect(chat.page.locator("html")).to_have_attribute("data-aimed", "Drop files to attach them")
    chat.page.evaluate(drop, "drop")
    expect(chat.page.locator(".chip")).to_contain_text("of the limit")
    expect(chat.box).to_have_value("Draft")


SEEN = "() => document.dispatchEvent(new Event('visibilitychange'))"


@pytest.mark.extended
def test_a_refused_file_is_told_in_its_tab_alone_and_a_file_that_another_tab_has_sent_is_gone(demo: Server, visits: Visits) -> None:
    chat = opened(demo, visits)
    chat.ask_and_wait("Hello")
    chat.settle()
    attach(chat.page, NOTES, EMPTY)
    chips = chat.page.locator(".chip")
    expect(chips).to_contain_text(["of the limit", "There is no text in this file."])
    other = Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    others = other.page.locator(".chip")
    expect(others).to_contain_text(["notes.txt"])
    expect(others).to_have_count(1)
    other.ask_and_wait("When is it?")
    expect(others).to_have_count(0)

    # The first tab still shows both until it becomes visible again, or a message of it is refused.
    chat.page.get_by_role("button", name="Remove empty.txt").click()
    expect(chat.exchanges).to_have_count(2)
    chat.box.fill("And where?")
    chat.box.press("Enter")
    expect(chat.problem).not_to_have_text("")
    expect(chips).to_have_count(0)
    expect(chat.box).to_have_value("And where?")
    chat.box.press("Enter")
    expect(chat.exchanges).to_have_count(3)
    chat.finish()

    attach(chat.page, TABLE)
    expect(chips).to_contain_text(["of the limit"])
    other.page.evaluate(SEEN)
    expect(others).to_contain_text(["figures.csv"])
    chat.page.get_by_role("button", name="Remove figures.csv").click()
    expect(chips).to_have_count(0)
    other.page.evaluate(SEEN)
    expect(others).to_have_count(0)
