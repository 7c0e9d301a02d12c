"""What a page shows after its connection was cut is what a reload shows, block by block: random answers, cuts and moments."""

import random
import re
from collections.abc import Iterator, Sequence
from functools import partial
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.cable import Cable
from tests.browser.chat import Chat
from tests.browser.connection.player import Player, Script
from tests.browser.visits import Visits, until
from tests.support.cases import seeds
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

PAGES = 4
"""How many pages are cut off at the same time: most of a case is waiting."""
TURNS = 6
"""How many answers of one conversation are cut."""
PEOPLE = [f"ada{number}" for number in range(PAGES)]

# Each exchange as it is shown: its question, its blocks, and what is around them. Left out is what differs between two loads of a page:
# tokens of forms, and what the width of the window adds to tables.
SHOWN = """() => [...document.querySelectorAll("chat-transcript > .exchange")].map((exchange) => {
  const copy = exchange.cloneNode(true);
  for (const gone of copy.querySelectorAll("input[type=hidden], link, .working")) gone.remove();
  for (const place of copy.querySelectorAll(".table-place, .block")) {
    for (const name of ["role", "aria-label", "tabindex"]) place.removeAttribute(name);
  }
  const tidy = (html) => html.replace(/\\s+/g, " ").replaceAll("> <", "><").replace(/ >/g, ">").trim();
  const html = (selector) => [...copy.querySelectorAll(selector)].map((each) => tidy(each.innerHTML));
  return {
    state: copy.dataset.state, question: copy.dataset.question, turn: copy.dataset.turn,
    context: [copy.dataset.context, copy.dataset.leftOut], asked: html(":scope > .question"),
    parts: [...copy.querySelectorAll(".parts > .part")].map((part) => ({
      id: part.id, message: part.dataset.message, classes: [...part.classList].sort().join(" "),
      blocks: [...part.children].map((each) => tidy(each.outerHTML)),
    })),
    thought: [...copy.querySelectorAll(".before :is(summary, li, p.thought)")].map((each) => each.textContent.trim()),
    calls: html(".approvals"), below: html(".answer-end"),
  };
})"""
# All code is highlighted and all formulas are set.
FINISHED = """() => !document.querySelector(".math:not([data-set])")
  && ![...document.querySelectorAll("pre > code[class]:not([data-coloured])")].some((code) => /python|js|sql/.test(code.className))"""


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    player = Player()
    yield player
    player.close()


@pytest.fixture(scope="module")
def playing(player: Player, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with that model server and a tool that runs without asking."""
    tools = {"CHATUI_TOOLS": "current_time", "CHATUI_TOOLS_WITHOUT_APPROVAL": "current_time"}
    with served(Deployment(tmp_path_factory.mktemp("playing"), CHATUI_BACKEND_URL=player.url, **tools), *PEOPLE) as server:
        yield server


class Reader:
    """A page behind a cable. ``seen``: how it showed each answer once its connection was back."""

    def __init__(self, server: Server, visits: Visits, player: Player, person: str) -> None:
        self._server, self._player = server, player
        self.cable = Cable(server.port)
        self.chat = Chat(visits.open(server, person, "about:blank"))
        self.chat.page.goto(self.cable.url)
        self.seen: list[tuple[int, object]] = []
        self._chance, self._script, self._seed = random.Random(), Script([]), 0

    def ask(self, seed: int) -> None:
        """Ask for an answer that pauses at a random moment, maybe before its first word."""
        self._seed, self._chance = seed, random.Random(seed)
        number, self._script = self._player.add(seed)
        self._script.allow(self._chance.randint(0, self._script.length - 1))
        count = self.chat.exchanges.count()
        self.chat.ask(f"Question #{number}")
        expect(self.chat.exchanges).to_have_count(count + 1)

    def lose(self) -> None:
        """Lose the connection at that moment, with an error or without, while the answer goes on to its end, or to a later moment."""
        expect(self.chat.last).to_have_attribute("data-question", re.compile("."))
        self.chat.settle()
        until(self.chat.page, self._script.reached)
        if self._chance.random() < 0.7:
            self.cable.cut()
        else:
            self.cable.swallow()
        ends = self._chance.random() < 0.7
        self._script.allow(self._script.length if ends else self._chance.randint(self._script.sent, self._script.length))

    def find_again(self) -> None:
        """Get the connection back."""
        until(self.chat.page, self._script.reached)
        if self._script.sent == self._script.length:
            until(self.chat.page, lambda: not self._is_running())
        self.cable.restore()
        self._script.allow()

    def look(self) -> None:
        """Note what the page shows of the answer once it has ended."""
        expect(self.chat.last).not_to_have_attribute("data-state", "running")
        expect(self.chat.last.locator(".answer-tools")).to_be_attached()
        expect(self.chat.banner).to_be_hidden()
        self.seen.append((self._seed, shown(self.chat.page)[-1]))

    def wrong(self) -> dict[int, tuple[object, object]]:
        """The answers that a reload shows otherwise: as they were seen, and as they are."""
        self.chat.page.reload()
        there = shown(self.chat.page)
        self.chat.page.close()
        self.cable.close()
        assert len(there) == len(self.seen)
        return {seed: (here, now) for (seed, here), now in zip(self.seen, there, strict=True) if here != now}

    def _is_running(self) -> bool:
        page = self.chat.page.request.get(self.chat.page.url.replace(self.cable.url, self._server.url)).text()
        return re.search(r'data-turn="[^>]*data-state="running"', page) is not None


def shown(page: Page) -> list[object]:
    page.wait_for_function(FINISHED)
    found: list[object] = page.evaluate(SHOWN)
    return found


def test_a_page_that_was_cut_off_shows_what_a_reload_shows(playing: Server, visits: Visits, player: Player) -> None:
    visits.allow("WebSocket connection to .* failed|ERR_(CONNECTION|EMPTY|INTERNET|NETWORK)|Failed to load resource")
    wrong: dict[int, tuple[object, object]] = {}
    for group in batched(seeds(PAGES * TURNS), PAGES * TURNS):
        readers = [Reader(playing, visits, player, person) for person in PEOPLE]
        for turn in batched(group, PAGES):
            for reader, seed in zip(readers, turn, strict=True):
                reader.ask(seed)
            for act in (Reader.lose, Reader.find_again, Reader.look):
                for reader in readers:
                    act(reader)
        for reader in readers:
            wrong |= reader.wrong()
    assert not wrong


def batched(numbers: Sequence[int], size: int) -> list[Sequence[int]]:
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


# What is around the conversation.
AROUND = """() => [document.title, document.querySelector(".top-title").textContent,
  [...document.querySelectorAll(".conversation-item")].map((each) => [each.dataset.conversation, each.textContent.trim()])]"""
SELECT = """() => { const range = document.createRange();
  range.selectNodeContents(document.querySelector(".part-final > [data-block]"));
  getSelection().removeAllRanges(); getSelection().addRange(range); return getSelection().toString(); }"""


def edit(chat: Chat) -> None:
    chat.last.locator(".question").hover()
    chat.button("Edit").click()
    box = chat.last.get_by_role("textbox")
    box.fill(box.input_value() + ", put better")
    chat.button("Send").click()
    expect(chat.question).to_contain_text("put better")
    chat.finish()


def regenerate(chat: Chat) -> None:
    chat.button("Regenerate").click()
    expect(chat.last.get_by_role("group", name="Versions of this answer")).to_contain_text("2 of 2")
    chat.finish()


def turn_back(chat: Chat) -> None:
    chat.last.get_by_role("button", name="Previous version").first.click()
    expect(chat.last.locator(".siblings").first).to_contain_text("1 of 2")


def rename(chat: Chat) -> None:
    chat.page.get_by_role("button", name="Options for this conversation").click()
    chat.page.locator("#top-menu").get_by_role("button", name="Rename").click()
    chat.page.locator(".rename-text").fill("Another name")
    chat.page.locator(".rename-text").press("Enter")
    expect(chat.page.locator(".top-title")).to_have_text("Another name")


def delete_all_others(chat: Chat) -> None:
    # Read at once: the list shortens as soon as the page hears of a deletion.
    addresses = chat.links.evaluate_all("links => links.filter(each => !each.ariaCurrent).map(each => each.getAttribute('href'))")
    assert addresses
    for address in addresses:
        chat.page.evaluate(POST, f"{address}delete/")


POST = """(path) => fetch(path, { method: "POST", headers: {
  "X-CSRFToken": document.querySelector("meta[name=csrf-token]").content, Accept: "application/json" } })"""


def rate(chat: Chat) -> None:
    chat.last.get_by_role("button", name="Good answer").click()
    chat.page.get_by_role("button", name="Send rating").click()
    expect(chat.last.get_by_role("button", name="Good answer")).to_have_attribute("aria-pressed", "true")


def all_of(page: Page) -> object:
    """What a page shows of its conversation, its title and the list."""
    return [shown(page), page.evaluate(AROUND)]


def shows(page: Page, wanted: object) -> bool:
    return all_of(page) == wanted


def test_what_was_done_elsewhere_meanwhile_is_shown_as_after_a_reload(playing: Server, visits: Visits, player: Player) -> None:
    visits.allow("WebSocket connection to .* failed|ERR_(CONNECTION|EMPTY|INTERNET|NETWORK)|Failed to load resource")
    person = "ada0"
    other = Chat(visits.open(playing, person))
    number, script = player.add("elsewhere")
    script.allow()
    other.ask_and_wait(f"Question #{number}", script.end)
    reader = Reader(playing, visits, player, person)
    chat = reader.chat
    for _ in range(2):
        chat.ask_and_wait(f"Question #{number}", script.end)
    chat.settle()
    twin = Chat(chat.page.context.new_page())
    twin.page.goto(chat.page.url.replace(reader.cable.url, playing.url))
    chat.page.evaluate("Math.random = () => 0")  # it catches up at once
    selected = chat.page.evaluate(SELECT)
    assert selected

    for act in (rate, regenerate, turn_back, rename, edit, turn_back, delete_all_others):
        reader.cable.cut()
        expect(chat.banner).to_be_visible()
        act(twin)
        twin.page.reload()
        twin.finish(script.end)
        there = all_of(twin.page)
        reader.cable.restore()
        expect(chat.banner).to_be_hidden()
        chat.page.wait_for_function(FINISHED)
        until(chat.page, partial(shows, chat.page, there))
    assert chat.page.evaluate("getSelection().toString()") == selected, "in a block that has not changed"

    reader.cable.cut()
    expect(chat.banner).to_be_visible()
    twin.page.evaluate(POST, f"{urlsplit(twin.page.url).path}delete/")
    reader.cable.restore()
    expect(chat.page.locator(".banner-deleted")).to_be_visible()
    expect(chat.links).to_have_count(0)
    reader.cable.close()
