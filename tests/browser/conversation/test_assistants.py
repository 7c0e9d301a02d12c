"""Assistants in a browser: made with a form, chosen above the message box, at the top of the conversation, and by keyboard."""

from base64 import b64decode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, submit
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

_CLEAR = 'from chatui.models import Assistant; Assistant.objects.filter(owner__username="bela").delete()'

_WITH_LETTERS = """
from chatui.models import Collection, User
from chatui.store import collections, passages
from tests.chatui.store.uploads import uploaded
bela = User.objects.get(username="bela")
Collection.objects.filter(owner=bela).delete()
file = uploaded(bela, "letter.txt", "Dear all")
passages.index(file.content_id)
collections.put(Collection.objects.create(owner=bela, name="Letters"), file)
"""
_WITHOUT_LETTERS = """
from django.utils import timezone
from chatui.models import Collection
Collection.objects.filter(owner__username="bela", name="Letters").update(deleted_at=timezone.now())
"""


@pytest.fixture
def page(demo_deployment: Deployment, visits: Visits, demo: Server) -> Page:
    demo_deployment.manage("shell", "--no-imports", "-c", _CLEAR)
    return visits.open(demo, "bela")


def make(page: Page, name: str) -> None:
    page.goto("/assistants/")
    page.get_by_role("link", name="New assistant").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Instructions").fill("Answer in Latin.")
    page.get_by_label("Reasoning effort").select_option("high")
    page.get_by_label("First questions").fill("Shorten this text.\nWhat is wrong here?")
    page.get_by_role("button", name="Create assistant").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")


def test_one_is_made_chosen_and_shown_at_the_top(page: Page) -> None:
    expect(page.locator(".assistants")).to_have_count(0)
    make(page, "Text editor")
    page.goto("/")
    page.locator("#composer-text").fill("A draft that stays.")
    page.get_by_role("link", name="Text editor").click()
    expect(page.get_by_role("link", name="Without an assistant")).to_be_visible()
    expect(page.get_by_role("region", name="Welcome").get_by_role("heading")).to_have_text("Text editor")
    expect(page.locator("#composer-text")).to_have_value("A draft that stays.")
    expect(page.get_by_label("Reasoning effort")).to_have_value("high")
    page.locator("#composer-text").fill("")
    page.get_by_role("button", name="What is wrong here?", exact=True).click()
    expect(page.locator("#composer-text")).to_have_value("What is wrong here?")
    page.keyboard.press("Enter")
    chat = Chat(page)
    chat.finish()
    mark = page.locator(".assistant-mark")
    expect(mark).to_contain_text("Text editor")
    expect(page.locator(".assistants")).to_be_hidden()
    page.reload()
    expect(mark).to_contain_text("Text editor")
    assert "Answer in Latin" not in page.content()
    mark.click()
    page.get_by_role("link", name="Change the assistant").click()
    page.get_by_label("Instructions").fill("Answer in verse.")
    submit(page.get_by_role("button", name="Save"))
    page.go_back()
    page.go_back()
    page.reload()
    page.get_by_role("button", name="Use the newest version").click()
    expect(mark).to_contain_text("Text editor")
    expect(mark).not_to_contain_text("newer version")


def test_one_is_deleted_and_brought_back_by_keyboard(page: Page) -> None:
    make(page, "Text editor")
    change = page.get_by_role("link", name="Change “Text editor”")
    change.focus()
    page.keyboard.press("Enter")
    delete = page.get_by_role("button", name="Delete the assistant")
    delete.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("“Text editor” was deleted.")
    expect(change).to_have_count(0)
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("The assistant is back.")
    expect(change).to_be_visible()


def test_a_conversation_begins_with_its_tools_and_the_person_may_switch_others_on(page: Page) -> None:
    page.goto("/assistants/new/")
    page.get_by_label("Name", exact=True).fill("Forecaster")
    expect(page.get_by_label("Weather")).to_be_hidden()
    page.get_by_label("Begin with these tools alone").check()
    page.get_by_label("Weather").check()
    page.get_by_role("button", name="Create assistant").click()
    for address, is_on in (("/", True), ("", False), ("/", True)):
        if address:
            page.goto(address)
        else:
            page.get_by_role("link", name="Forecaster").click()
            expect(page.get_by_role("link", name="Without an assistant")).to_be_visible()
        page.get_by_role("button", name="Tools", exact=True).click()
        menu = page.locator("#tools-menu")
        expect(menu.get_by_role("checkbox", name="Weather")).to_be_checked()
        expect(menu.get_by_role("checkbox", name="Notes")).to_be_checked(checked=is_on)
        if is_on:
            page.keyboard.press("Escape")
        else:
            menu.get_by_role("checkbox", name="Notes").check()
            expect(menu.get_by_role("checkbox", name="Notes")).to_be_checked()
            menu.get_by_role("checkbox", name="Notes").uncheck()
            expect(menu.get_by_role("checkbox", name="Notes")).not_to_be_checked()
            page.keyboard.press("Escape")
            chat = Chat(page)
            chat.ask("How is the weather in Oslo?")
            chat.finish()
            page.get_by_role("button", name="Tools", exact=True).click()
            expect(menu.get_by_role("checkbox", name="Notes")).not_to_be_checked()


def test_its_files_are_ticked_by_keyboard_and_named_where_a_conversation_with_it_begins(demo_deployment: Deployment, page: Page) -> None:
    demo_deployment.manage("shell", "--no-imports", "-c", _WITH_LETTERS)
    page.goto("/assistants/new/")
    page.get_by_label("Name", exact=True).fill("Clerk")
    page.get_by_label("Description").fill("Knows the letters.")
    page.get_by_role("group", name="Documents").get_by_label("Letters").focus()
    page.keyboard.press("Space")
    submit(page.get_by_role("button", name="Create assistant"))
    page.goto("/")
    choice = page.get_by_role("link", name="Clerk")
    expect(choice).to_contain_text("Knows the letters.")
    choice.focus()
    page.keyboard.press("Enter")
    asks = page.locator(".composer-note", has_text="Asks: Letters.")
    expect(asks).to_be_visible()
    asks.get_by_role("link", name="Change").click()
    expect(page.get_by_text("The assistant always asks: Letters.")).to_be_visible()
    demo_deployment.manage("shell", "--no-imports", "-c", _WITHOUT_LETTERS)
    page.go_back()
    page.reload()
    expect(page.get_by_text("Not all of its documents are available to you.")).to_be_visible()
    expect(page.locator(".composer-note", has_text="Letters")).to_have_count(0)


_DRAW = """() => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [600, 300];
  const context = canvas.getContext("2d");
  for (const [colour, from] of [["blue", 0], ["red", 150], ["blue", 450]]) {
    context.fillStyle = colour;
    context.fillRect(from, 0, 600 - from, 300);
  }
  return canvas.toDataURL("image/jpeg").split(",")[1];
}"""
_SEEN = """(image) => {
  const canvas = document.createElement("canvas");
  const [width, height] = [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const isRed = (x) => { const [red, green, blue] = context.getImageData(x, height / 2, 1, 1).data; return red > 200 && blue < 90; };
  return { width, height, red: [4, width / 2, width - 4].map(isRed) };
}"""
MIDDLE = {"width": 128, "height": 128, "red": [True, True, True]}
"""What is seen of the drawing above, of which the middle is cut out."""


def choose_picture(page: Page, name: str, data: bytes) -> None:
    page.get_by_label("Picture", exact=True).set_input_files({"name": name, "mimeType": "image/jpeg", "buffer": data})


def test_a_photograph_becomes_its_picture_and_can_be_taken_away(page: Page, visits: Visits) -> None:
    visits.allow(r"400 \(Bad Request\)")
    page.goto("/assistants/new/")
    photograph = b64decode(page.evaluate(_DRAW))
    without = page.get_by_label("Without a picture")
    expect(without).to_be_hidden()
    choose_picture(page, "notes.jpg", b"no picture at all")
    expect(page.get_by_role("alert")).to_have_text("Your browser cannot read this file as a picture.")
    choose_picture(page, "me.jpg", photograph)
    expect(page.locator(".assistant-preview canvas")).to_be_visible()
    expect(page.get_by_text("cannot read this file")).to_be_hidden()
    page.get_by_label("Name", exact=True).fill("\u200b")
    page.get_by_role("button", name="Create assistant").click()
    expect(page.get_by_text("The picture that you chose is kept.")).to_be_visible()
    expect(page.locator(".assistant-preview canvas")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("Text editor")
    page.get_by_role("button", name="Create assistant").click()
    for address in ("", "/assistants/", "/"):
        if address:
            page.goto(address)
        picture = page.locator("img.assistant-badge")
        expect(picture).to_be_visible()
        assert picture.evaluate(_SEEN) == MIDDLE, address
    page.get_by_role("link", name="Text editor").click()
    portrait = page.get_by_role("region", name="Welcome").locator("img")
    expect(portrait).to_be_visible()
    assert portrait.evaluate(_SEEN) == MIDDLE
    chat = Chat(page)
    chat.ask("What is wrong here?")
    chat.finish()
    page.reload()
    assert page.locator(".assistant-mark img").evaluate(_SEEN) == MIDDLE
    page.goto("/assistants/")
    page.get_by_role("link", name="Change “Text editor”").click()
    expect(page.locator(".assistant-preview img")).to_be_visible()
    without.check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".assistant-badge")).to_have_text("TE")
