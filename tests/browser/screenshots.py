"""Takes screenshots of the main states, for the README and for review: ``python -m tests.browser.screenshots DIRECTORY``.

They show the served product with its demo; a demo that writes slowly leaves time to capture the working line.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from tests.browser.chat import Chat
from tests.browser.visits import ARGUMENTS, PHONE, Contexts, Visits
from tests.support.served import Deployment, Server
from tests.tools import chromium

WINDOW: ViewportSize = {"width": 1200, "height": 780}
NARROW = PHONE | {"device_scale_factor": 1.5}
QUESTIONS = ("Plan the launch of our chat", "How do I restore a backup?", "Draft a polite reminder", "Why is the sky blue?")
INSTRUCTIONS = "Answer in plain English. Say so when you do not know."

expect.set_options(timeout=30_000)


class Studio:
    """A fast server, a steady one slow enough for reasoning summaries, a slow one, and the directory of the screenshots."""

    def __init__(self, visits: Visits, quick: Server, steady: Server, slow: Server, directory: Path) -> None:
        self.visits = visits
        self.quick = quick
        self.steady = steady
        self.slow = slow
        self._directory = directory

    def take(self, page: Page, name: str) -> None:
        """Save a screenshot of the window."""
        page.mouse.move(0, 0)
        page.evaluate("() => document.fonts.ready")
        path = self._directory / f"{name}.png"
        page.screenshot(path=path, animations="disabled", caret="hide")
        print(f"{path} {path.stat().st_size // 1024} KB")


def empty(studio: Studio) -> None:
    """The page after signing in, with some conversations in the list."""
    chat = Chat(studio.visits.open(studio.quick, "ada", viewport=WINDOW))
    for question in QUESTIONS:
        chat.page.goto("/")
        chat.ask_and_wait(question)
        chat.settle()
    chat.page.goto("/")
    studio.take(chat.page, "empty")


def conversation(studio: Studio) -> None:
    """A long answer, in the light and dark themes and on a phone."""
    chat = Chat(studio.visits.open(studio.quick, "ada", viewport=WINDOW))
    chat.ask_and_wait("Explain how reasoning stays out of sight")
    chat.settle()
    address = chat.page.url
    expect(chat.answer.locator(".katex-html").first).to_be_attached()
    for name, place in (("table", "table"), ("code", "pre"), ("mathematics", ".math-display")):
        show(chat, place)
        studio.take(chat.page, name)
    dark = Chat(studio.visits.open(studio.quick, "ada", address, viewport=WINDOW, color_scheme="dark"))
    expect(dark.answer.locator("code[data-coloured]").first).to_be_attached()
    show(dark, "pre")
    studio.take(dark.page, "conversation-dark")
    phone = Chat(studio.visits.open(studio.quick, "ada", address, **NARROW))
    show(phone, "table")
    studio.take(phone.page, "phone")
    phone.page.get_by_role("button", name="Open the list of conversations").tap()
    expect(phone.page.locator("#sidebar")).to_be_in_viewport(ratio=0.99)
    studio.take(phone.page, "phone-drawer")


def summary(studio: Studio) -> None:
    """The newest line while the model thinks; all lines folded into "Thought for"; and a share link to the answer."""
    chat = Chat(studio.visits.open(studio.steady, "ada", viewport={"width": 1200, "height": 1040}))
    for question in QUESTIONS[:0:-1]:
        chat.ask(question)
        chat.settle()
        chat.stop.click()
        chat.finish("stopped")
        chat.page.goto("/")
    chat.page.get_by_label("Reasoning effort").select_option("high")
    chat.ask(QUESTIONS[0])
    expect(chat.last.locator(".working-line")).to_have_text("Planning the steps")
    studio.take(chat.page, "summary")
    chat.finish()
    chat.last.locator(".thought > summary").click()
    chat.scroller.evaluate("element => { element.scrollTop = 0; }")
    studio.take(chat.page, "conversation")
    chat.settle()
    chat.page.goto(chat.page.url + "share/")
    chat.page.get_by_role("button", name="Create link").click()
    expect(chat.page.locator(".share-link-new")).to_be_visible()
    studio.take(chat.page, "share")


def working(studio: Studio) -> None:
    """The working line during hidden reasoning, and the debug view at the same moment."""
    chat = Chat(studio.visits.open(studio.slow, "ada", viewport=WINDOW))
    chat.ask(QUESTIONS[0])
    expect(chat.working).to_have_text("Thinking · 3 s")
    studio.take(chat.page, "working")
    chat.settle()
    page = studio.visits.open(studio.slow, "grace", chat.page.url + "debug/", viewport=WINDOW)
    studio.take(page, "debug-opt-in")
    page.get_by_label("Reason").fill("A complaint about this answer")
    page.get_by_role("button", name="Open the debug view").click()
    expect(page.locator(".frame-live .frame-body").first).not_to_be_empty()
    studio.take(page, "debug")
    chat.stop.click()
    chat.finish("stopped")
    studio.take(chat.page, "stopped")


def debug_parts(studio: Studio) -> None:
    """The debug view of finished turns: a search, the comparison, dark and on a phone, a prompt and the requests."""
    chat = Chat(studio.visits.open(studio.quick, "ada", viewport=WINDOW))
    chat.ask_and_wait(QUESTIONS[0])
    chat.settle()
    address = chat.page.url + "debug/"
    page = studio.visits.open(studio.quick, "grace", address, viewport=WINDOW)
    page.get_by_label("Reason").fill("A complaint about this answer")
    page.get_by_role("button", name="Open the debug view").click()
    page.get_by_role("searchbox").fill("plan")
    page.keyboard.press("Enter")
    expect(page.locator(".debug-search-count")).to_contain_text("1 of")
    studio.take(page, "debug-search")
    page.get_by_role("link", name="What the user saw").click()
    expect(page.get_by_role("heading", name="What the user saw").first).to_be_visible()
    studio.take(page, "debug-compare")
    page.goto(address)
    page.get_by_role("link", name="Prompt that was sent").click()
    studio.take(page, "debug-prompt")
    dark = studio.visits.open(studio.quick, "grace", address, viewport=WINDOW, color_scheme="dark")
    studio.take(dark, "debug-dark")
    phone = studio.visits.open(studio.quick, "grace", address + "compare/", **NARROW)
    phone.locator(".frame").nth(2).evaluate("element => element.scrollIntoView({ block: 'start' })")
    studio.take(phone, "debug-phone")
    studio.take(studio.visits.open(studio.quick, "grace", "/debug/requests/", viewport=WINDOW), "debug-requests")


def problem(studio: Studio) -> None:
    """An answer that was cut off."""
    chat = Chat(studio.visits.open(studio.quick, "ada", viewport=WINDOW))
    chat.ask_and_wait("Show me an answer that is cut off.", state="incomplete")
    studio.take(chat.page, "error")


def doors(studio: Studio) -> None:
    """The pages for people who are not signed in, the operator's pages, and a refusal."""
    page = studio.visits.open(studio.quick, path="/sign-in/", viewport=WINDOW)
    studio.take(page, "sign-in")
    page.goto("/pages/help/")
    studio.take(page, "help")
    page = studio.visits.open(studio.quick, "ada", "/c/00000000-0000-7000-8000-000000000000/debug/", viewport=WINDOW)
    studio.take(page, "refusal")
    page = studio.visits.open(studio.quick, "grace", "/audit/", viewport=WINDOW)
    studio.take(page, "audit-log")


SCENES: tuple[Callable[[Studio], None], ...] = (empty, conversation, summary, working, debug_parts, problem, doors)


def main(directory: str) -> int:
    """Start the servers and take all screenshots."""
    browser_path = chromium.find()
    if browser_path is None:
        print(chromium.why_not())
        return 1
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(browser_path), args=list(ARGUMENTS))
        deployments = [
            Deployment(Path(data) / name, CHATUI_DEMO_TOKENS_PER_SECOND=pace, CHATUI_INSTRUCTIONS=INSTRUCTIONS)
            for name, pace in (("quick", "0"), ("steady", "24"), ("slow", "6"))
        ]
        visits = Visits(Contexts(browser))
        try:
            quick, steady, slow = [deployment.start() for deployment in deployments]
            studio = Studio(visits, quick, steady, slow, target)
            studio.take(visits.open(quick, path="/setup/", viewport={"width": 1200, "height": 1000}), "set-up")
            for deployment in deployments:
                deployment.make_people(ada=(False, []), grace=(True, ["view_hidden_channels", "view_any_conversation", "view_auditevent"]))
            for scene in SCENES:
                scene(studio)
        finally:
            visits.close()
            browser.close()
            for deployment in deployments:
                deployment.stop()
    return 0


def show(chat: Chat, place: str) -> None:
    """Scroll the first matching element of the answer to the middle of the window."""
    chat.answer.locator(place).first.evaluate("element => element.scrollIntoView({ block: 'center' })")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
