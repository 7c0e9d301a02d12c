"""Page object of the conversation page: the message box, the buttons and the exchanges, found by their accessible names."""

from playwright.sync_api import Locator, Page, expect

OUTLINE = """blocks => blocks.map(block =>
  [...block.querySelectorAll(":not(span)")].map(element => element.localName).join(" ") + " | " + block.textContent)"""


class Chat:
    """The elements of one open conversation page."""

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
        """The line that says that the model is thinking or working."""
        return self.last.locator(".working-text")

    def ask(self, text: str) -> None:
        """Write a message and send it, once the page's scripts have loaded."""
        self.page.wait_for_load_state()
        self.box.fill(text)
        self.box.press("Control+Enter")  # on phones, Enter is a new line

    def finish(self, state: str = "completed") -> None:
        """Wait until the last answer has ended in this state and has its buttons."""
        expect(self.last).to_have_attribute("data-state", state)
        expect(self.last.locator(".answer-tools")).to_be_attached()

    def ask_and_wait(self, text: str, state: str = "completed") -> None:
        """Ask, and wait for the whole answer to this question."""
        before = self.exchanges.count()
        self.ask(text)
        expect(self.exchanges).to_have_count(before + 1)
        self.finish(state)

    def settle(self) -> None:
        """Wait until the page has the address of its conversation."""
        self.page.wait_for_url("**/c/*/")

    def button(self, name: str) -> Locator:
        """A button of the last exchange."""
        return self.last.get_by_role("button", name=name, exact=True)

    def shown(self) -> list[str]:
        """The blocks of the last answer: the names of the elements, then the text. Spans are left out, as code is highlighted later."""
        blocks: list[str] = self.answer.locator("[data-block]").evaluate_all(OUTLINE)
        return blocks


_PASTED = """text => {
  navigator.clipboard.readText().then(found => { window.found = found.trim(); });
  return window.found === text;
}"""


def wait_for_clipboard(page: Page, text: str) -> None:
    """Wait until the clipboard has this text. A predicate that is a promise would be true at once."""
    page.wait_for_function(_PASTED, arg=text)
