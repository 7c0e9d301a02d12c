"""Scripts use the language of their page through a whole turn, even where two pages in different languages show one conversation."""

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server
from tests.tools.messages.page import page_sentences

pytestmark = pytest.mark.browser

ACCENTS = str.maketrans("aeiouyAEIOUcnsz", "áéíóúýÁÉÍÓÚçñšž")
PLACE = re.compile(r"(%\(\w+\)s)")
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def ask(chat: Chat, text: str) -> None:
    """Like ``Chat.ask``, in any language of the page."""
    chat.page.wait_for_load_state()
    box = chat.page.locator("#composer-text")
    box.fill(text)
    box.press("Enter")


def reported(page: Page) -> list[str]:
    """The announcements since ``listen`` was called."""
    return page.evaluate("() => globalThis.reported")


def lines(chat: Chat) -> list[str]:
    """What the model did, as the last answer tells."""
    return chat.last.locator(".thought li").all_text_contents()


def listen(page: Page) -> None:
    page.evaluate("""() => {
      const line = document.querySelector(".announcer");
      globalThis.reported = [];
      new MutationObserver(() => globalThis.reported.push(line.textContent)).observe(line, { childList: true });
    }""")


def test_a_language_chosen_in_the_middle_of_a_first_answer_leaves_the_person_in_the_conversation(slow_demo: Server, visits: Visits) -> None:
    page = visits.open(slow_demo, "bela", locale="en-GB")
    chat = Chat(page)
    chat.ask("Explain something long.")
    page.wait_for_url("**/c/*/")
    expect(chat.stop).to_be_visible()
    address = page.url
    page.locator(".account-button").click()
    page.get_by_label("Language").select_option("ko")

    expect(page.locator("html")).to_have_attribute("lang", "ko")
    assert page.url == address
    page.locator(".stop").click()
    chat.finish("stopped")
    expect(chat.last.locator("[data-action=regenerate]")).to_have_text("다시 생성")
    page.locator(".account-button").click()
    page.locator("#account-menu select[name=language]").select_option("")
    expect(page.locator("html")).to_have_attribute("lang", "en")


ASKED = ("Liest die Frage", "질문 읽기")
"""What is said while the reasoning has told nothing yet; soon enough or not at all."""


def test_a_whole_turn_is_announced_in_german(slow_demo: Server, visits: Visits) -> None:
    page = visits.open(slow_demo, "ada", locale="de-DE")
    chat = Chat(page)
    listen(page)
    ask(chat, "Sag etwas.")
    expect(chat.working).to_contain_text("Denkt nach")
    chat.finish()
    expect(chat.last.locator(".before")).to_contain_text("nachgedacht")
    expect(chat.last.locator("[data-action=copy-answer]")).to_have_text("Kopieren")
    expect(page.locator(".conversation-group").first).to_have_text("Heute")
    assert [each for each in reported(page) if each not in ASKED] == ["Denkt nach", *lines(chat), "Antwort fertig"]
    ask(chat, "Und noch etwas Längeres, bitte.")
    page.locator(".stop").click()
    chat.finish("stopped")
    expect(chat.last.locator(".answer-facts, .notice").first).to_contain_text("Gestoppt")
    assert reported(page)[-1] == "Gestoppt"


@pytest.mark.extended
def test_two_pages_with_one_conversation_speak_each_its_own_language(slow_demo: Server, visits: Visits) -> None:
    english = Chat(visits.open(slow_demo, "sam", locale="en-GB"))
    ask(english, "The first")
    english.finish()
    english.settle()
    korean = Chat(visits.open(slow_demo, "sam", english.page.url, locale="ko-KR"))
    expect(korean.last.locator("[data-action=copy-answer]")).to_have_text("복사")
    listen(korean.page)
    ask(english, "The second")
    expect(english.working).to_contain_text("Thinking")
    expect(korean.working).to_contain_text("생각하는 중")
    for chat in (english, korean):
        expect(chat.exchanges).to_have_count(2)
        chat.finish()
    expect(english.last.locator("[data-action=copy-answer]")).to_have_text("Copy")
    expect(english.last.locator("[data-action=edit]")).to_have_text("Edit")
    expect(korean.last.locator("[data-action=copy-answer]")).to_have_text("복사")
    expect(korean.last.locator("[data-action=edit]")).to_have_text("편집")
    expect(korean.question).to_have_text("The second")
    assert [each for each in reported(korean.page) if each not in ASKED] == ["생각하는 중", *lines(korean), "답변이 준비되었습니다"]
    ask(korean, "세 번째")
    expect(english.question).to_have_text("세 번째")
    korean.page.locator(".stop").click()
    for chat, stopped in ((english, "Stopped"), (korean, "중지됨")):
        chat.finish("stopped")
        expect(chat.last.locator(".answer-facts, .notice").first).to_contain_text(stopped)


def test_with_a_pseudo_language_every_word_of_the_scripts_is_looked_up_and_fits(slow_demo: Server, visits: Visits) -> None:
    page = visits.open(slow_demo, "grace", viewport={"width": 360, "height": 740}, locale="de-DE")
    page.route(re.compile(r"/language/catalogues/de"), pseudo)
    page.reload()
    chat = Chat(page)
    listen(page)
    ask(chat, "A question")
    expect(chat.working).to_contain_text("⟦")
    chat.finish()
    chat.settle()
    for line in reported(page):
        assert is_pseudo(line) or line in (*ASKED, *lines(chat)), line  # the lines come from the server, in every language
    page.locator("#main").focus()
    page.keyboard.press("Alt+Shift+C")
    page.keyboard.press("Alt+Shift+F")
    page.locator(".find-text").fill("question")
    for place in (".find-status", ".announcer"):
        expect(page.locator(place)).to_have_text(re.compile("^⟦.*⟧$"))
    page.keyboard.press("Escape")
    page.locator("#main").focus()
    page.keyboard.press("Alt+Shift+H")
    expect(page.locator(".shortcuts-says")).to_have_text(re.compile("^⟦.*⟧$"))
    page.keyboard.press("Escape")
    page.locator("#composer-text").fill("x" * 100_000)
    expect(chat.problem).to_have_text(re.compile("^⟦.*⟧$"))
    assert page.evaluate(OVERFLOW) == 0
    page.locator(".drawer-open").click()
    expect(page.locator(".conversation-group").first).to_have_text(re.compile("^⟦.*⟧$"))
    page.locator(".search-text").fill("question")
    expect(page.locator(".search-status")).to_have_text(re.compile("^⟦.*⟧$"))
    assert page.evaluate(OVERFLOW) == 0


def pseudo(route: Route) -> None:
    """Serve the catalogue of a pseudo-language: English with accents, in brackets, and 40 % longer. It keeps the real imports."""
    answer = route.fetch()
    head = answer.text().partition("useCatalogue({")[0]
    tail = "\n})();" if "(()=>{" in head else ""  # in bundled scripts, a module is the body of a function
    entries = {}
    for item in page_sentences():
        key = f"{item.context}\x04{item.id}" if item.context else item.id
        entries[key] = [stretched(item.id), stretched(item.plural)] if item.plural else stretched(item.id)
    route.fulfill(response=answer, body=f"{head}useCatalogue({{ plural: (n) => Number(n !== 1), entries: {json.dumps(entries)} }});{tail}")


def stretched(sentence: str) -> str:
    words = "".join(part if PLACE.match(part) else part.translate(ACCENTS) for part in PLACE.split(sentence))
    return f"⟦{words}{'~' * (len(sentence) * 2 // 5)}⟧"


def is_pseudo(text: str) -> bool:
    return text.startswith("⟦") and text.endswith("⟧")
