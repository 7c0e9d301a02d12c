"""The states of the chat page: turns, menus, editors, searches and error messages."""

import re

from playwright.sync_api import Page, expect

from tests.browser.accessibility.model import ASK_ME, THINKS, WRITES
from tests.browser.accessibility.states import Reach, State, each, fill, press, shown_list, visible_at
from tests.browser.accessibility.world import World
from tests.browser.chat import Chat

PLAN = "Plan a day out for twelve people"
SOME_LINE = re.compile("^(?!Thinking).+")
LOADED = "button.send"


def asks(question: str) -> Reach:
    """Ask, without waiting for the end of the answer."""

    def then(world: World, page: Page) -> None:
        world.model.hold()
        chat = Chat(page)
        before = chat.exchanges.count()
        chat.ask(question)
        expect(chat.exchanges).to_have_count(before + 1)

    return then


def sums_up(world: World, page: Page) -> None:
    """Ask the demo, which thinks long enough for a line that says what it does."""
    page.get_by_label("Model", exact=True).select_option(label="Guided tour")
    page.get_by_label("Reasoning effort").select_option("high")
    asks(PLAN)(world, page)
    expect(page.locator(".working-line")).to_have_text(SOME_LINE)


def wait_next(world: World, page: Page) -> None:
    """Send a message with a file while an answer is written, so that both wait."""
    without_files(page)
    asks(WRITES)(world, page)
    expect(page.locator(".parts")).to_contain_text("Two and two")
    attach_notes(page)
    page.get_by_role("textbox", name="Message", exact=True).fill("And then this")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Next message")).to_contain_text("With notes.txt")


def slash(world: World, page: Page) -> None:
    """Find the saved prompts of the world after a slash."""
    page.locator("#composer-text").press_sequentially("/")
    expect(page.locator(".prompt-item")).to_have_count(2)


def take(world: World, page: Page) -> None:
    page.keyboard.press("Enter")


def without_files(page: Page) -> None:
    """Remove unsent files that this person attached before, in another state or a first attempt: the page restores them."""
    page.wait_for_load_state()
    if page.locator("chat-composer[data-files='']").count():
        expect(page.locator(".chip").first).to_be_visible()
        for chip in reversed(page.locator(".chip").all()):
            chip.get_by_role("button", name=re.compile("^Remove ")).click()
    expect(page.locator(".chip")).to_have_count(0)


def bring_files(world: World, page: Page) -> None:
    """Attach three files: one that fits, one that is too long, and one without readable text."""
    without_files(page)
    texts = {"notes.txt": b"On Tuesday.", "long.txt": b"and so on " * 100_000, "empty.txt": b" "}
    files = [{"name": name, "mimeType": "text/plain", "buffer": text} for name, text in texts.items()]
    page.get_by_label("Attach files").set_input_files(files)  # type: ignore[arg-type]
    for state in ("ready", "large", "failed"):
        expect(page.locator(f".chip[data-state={state}]")).to_be_visible()


def send_files(world: World, page: Page) -> None:
    without_files(page)
    attach_notes(page)
    asks("When is the meeting?")(world, page)
    expect(page.get_by_role("region", name="Documents")).to_be_visible()


def attach_notes(page: Page) -> None:
    page.get_by_label("Attach files").set_input_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"On Tuesday."})
    expect(page.locator(".chip[data-state=ready]")).to_be_visible()


def go_offline(world: World, page: Page) -> None:
    world.visits.allow("ERR_INTERNET_DISCONNECTED|WebSocket")
    page.wait_for_load_state()
    page.context.set_offline(True)
    page.evaluate("() => dispatchEvent(new Event('offline'))")
    expect(page.locator(".banner-connection")).to_be_visible(timeout=60_000)


def offline_after_question(world: World, page: Page) -> None:
    go_offline(world, page)
    Chat(page).ask("Sent without a network")
    expect(page.locator(".unsent")).to_be_visible()


def item_menu(world: World, page: Page) -> None:
    shown_list(world, page)
    page.get_by_role("button", name="Options for “Show everything").first.click()
    expect(page.locator("#conversation-menu")).to_be_visible()


def search(text: str, result: str) -> Reach:
    return each(shown_list, fill("Search your conversations", text), visible_at(result))


def delete_one(world: World, page: Page) -> None:
    """Create a conversation and delete it from another one's page."""
    page.wait_for_load_state()
    Chat(page).ask("To be thrown away")
    expect(page.locator(".answer-tools")).to_be_attached()
    page.goto(world.places["cut"])
    shown_list(world, page)
    page.get_by_role("button", name="Options for “To be thrown away").first.click()
    page.locator("#conversation-menu").get_by_role("button", name="Delete").click()
    expect(page.locator(".toast")).to_be_visible()


def edit(world: World, page: Page) -> None:
    page.wait_for_load_state()
    page.locator(".question").last.hover()
    page.locator(".question").last.get_by_role("button", name="Edit").click()
    expect(page.locator(".question-editor")).to_be_visible()


def edit_files(world: World, page: Page) -> None:
    """Edit a question with a file, and add another file."""
    send_files(world, page)
    world.model.resume()
    expect(page.locator(".answer-tools")).to_be_attached()
    edit(world, page)
    editor = page.locator(".question-editor")
    expect(editor.locator(".chip[data-state=ready]")).to_have_count(1)
    long = {"name": "long.txt", "mimeType": "text/plain", "buffer": b"and so on " * 100_000}
    editor.locator("input[type=file]").set_input_files(long)  # type: ignore[arg-type]
    expect(editor.locator(".chip[data-state=large]")).to_be_visible()


def whole(world: World, page: Page) -> None:
    """Show the end of the conversation, with highlighted code and drawn diagrams."""
    page.wait_for_load_state()
    expect(page.locator("code[data-coloured]").first).to_be_attached()
    expect(page.locator(".katex-html").first).to_be_attached()
    if page.viewport_size and page.viewport_size["width"] < 800:
        expect(page.get_by_role("region", name="Wide table").first).to_be_attached()


def find(world: World, page: Page) -> None:
    whole(world, page)
    page.get_by_role("button", name="Options for this conversation").click()
    page.get_by_role("button", name="Find…").click()
    page.get_by_role("searchbox", name="Find in this conversation").fill("heading")
    expect(page.locator(".find-status")).not_to_be_empty()


def shortcuts(world: World, page: Page) -> None:
    shown_list(world, page)
    page.get_by_role("button", name="Account: ").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.locator("#shortcuts")).to_be_visible()


STATES = (
    State("home", "newcomer", "/", visible_at(LOADED)),
    State("home with a list", "ada", "/", shown_list),
    State("home with text", "ada", "/", fill("Message", "Some text")),
    State("home with text that is too long", "ada", "/", each(fill("Message", "x" * 4100), visible_at("#composer-problem:not(:empty)"))),
    State("saved prompts at the box", "ada", "/", each(slash, visible_at(".prompt-item"))),
    State("blanks of a saved prompt", "ada", "/", each(slash, take, visible_at(".prompt-form"))),
    State("thinking", "ada", "/", each(asks(THINKS), visible_at(".working"))),
    State("thinking with summaries", "ada", "/", sums_up),
    State("writing", "ada", "/", each(asks(WRITES), visible_at(".parts .part"))),
    State("the model asks", "pia", "/", each(asks(ASK_ME), visible_at("[data-form]"))),
    State("next message", "ada", "/", wait_next),
    State("answer with everything", "ada", "{everything}", whole),
    State("cut answer", "ada", "{cut}", visible_at(".notice")),
    State("only thoughts", "ada", "{only thoughts}", visible_at(".answer")),
    State("refused answers", "ada", "{refused}", visible_at(".notice")),
    State("causes of failures", "grace", "/", each(asks("It is not set up"), visible_at(".notice-cause"))),
    State("versions", "ada", "{versions}", visible_at(".siblings")),
    State("archived conversation", "ada", "{archived}", visible_at(".archived-mark")),
    State("top menu", "ada", "{everything}", each(whole, press("Options for this conversation"), visible_at("#top-menu"))),
    State("item menu", "ada", "/", item_menu),
    State("choosing in the list", "ada", "/", each(item_menu, press("Choose several…", "#conversation-menu"), visible_at(".choose-box"))),
    State("account menu", "ada", "/", each(shown_list, press("Account: ada"), visible_at("#account-menu"))),
    State("account menu of staff", "grace", "/", each(shown_list, press("Account: grace"), visible_at("#account-menu"))),
    State("rename", "ada", "/", each(item_menu, press("Rename", "#conversation-menu"), visible_at(".rename"))),
    State(
        "rename on top",
        "ada",
        "{everything}",
        each(whole, press("Options for this conversation"), press("Rename", "#top-menu"), visible_at(".rename")),
    ),
    State("toast", "ada", "/", delete_one),
    State("search", "ada", "/", search("question", ".search-hit")),
    State("search without results", "ada", "/", search("qqqqqqq", ".search-none")),
    State("find bar", "ada", "{everything}", find),
    State("sources", "ada", "{everything}", visible_at(".sources")),
    State("files", "ada", "{files}", visible_at(".files")),
    State("files to be sent", "ada", "/", bring_files),
    State("documents", "ada", "/", send_files),
    State("earlier files", "ada", "/", each(send_files, press("Earlier files"), visible_at(".earlier-file"))),
    State("shortcuts", "ada", "/", shortcuts),
    State("shortcut asked for", "ada", "/", each(shortcuts, press("Search your conversations", "#shortcuts"), visible_at("[data-asked]"))),
    State("question editor", "ada", "{versions}", edit),
    State("question editor with files", "ada", "/", edit_files),
    State("offline", "ada", "{cut}", go_offline),
    State("offline with a message", "ada", "{cut}", offline_after_question),
)
