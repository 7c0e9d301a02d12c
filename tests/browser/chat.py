"""The conversation page as a person uses it: the box, the buttons and the exchanges, found by what they are called."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

OUTLINE = """blocks => blocks.map(block =>
  [...block.querySelectorAll(":not(span)")].map(element => element.localName).join(" ") + " | " + block.textContent)"""


class Chat:
    """What stands on one open conversation page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.box = page.get_by_role("textbox", name="Message", exact=True)
        self.send = page.get_by_role("button", name="Send", exact=True)
        self.stop = page.get_by_role("button", name="Stop", exact=True)
        self.problem = page.locator("#composer-problem")
        self.banner = page.locator(".banner-connection")
        self.scroller = page.locator(".scroller")
        self.exchanges = page.locator("chat-transcript > .exchange")
        self.last = self.exchanges.last
        self.links = page.locator(".conversation-link")

    @property
    def answer(self) -> Locator:
        """The text of the last answer."""
        return self.last.locator(".parts")

    @property
    def question(self) -> Locator:
        """The text of the last question."""
        return self.last.locator(".question-text")

    @property
    def working(self) -> Locator:
        """The line that says that hidden work is going on."""
        return self.last.locator(".working-text")

    def ask(self, text: str) -> None:
        """Write a message and send it, once the page's scripts are there."""
        self.page.wait_for_load_state()
        self.box.fill(text)
        self.box.press("Enter")

    def finish(self, state: str = "completed") -> None:
        """Wait until the last answer has ended that way, and its buttons are there."""
        expect(self.last).to_have_attribute("data-state", state)
        expect(self.last.locator(".answer-tools")).to_be_attached()

    def ask_and_wait(self, text: str, state: str = "completed") -> None:
        """Ask, and wait for the whole answer to this very question."""
        before = self.exchanges.count()
        self.ask(text)
        expect(self.exchanges).to_have_count(before + 1)
        self.finish(state)

    def settle(self) -> None:
        """Wait until the page stands at its conversation's own address."""
        self.page.wait_for_url("**/c/*/")

    def button(self, name: str) -> Locator:
        """A button of the last exchange."""
        return self.last.get_by_role("button", name=name, exact=True)

    def shown(self) -> list[str]:
        """The last answer block by block: the names of the elements, then the text. Colours of code come later and do not count."""
        blocks: list[str] = self.answer.locator("[data-block]").evaluate_all(OUTLINE)
        return blocks
