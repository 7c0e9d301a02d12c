"""The states of all other pages for users: accounts, imports, lists, shares, texts and errors."""

from playwright.sync_api import Page, expect

from tests.browser.accessibility.states import Reach, State, drawn, each, fill, press, unfold, visible_at
from tests.browser.accessibility.world import World
from tests.chatui.store.pictures import png
from tests.chatui.transfer.other_products import samples

NOBODY = "00000000-0000-7000-8000-000000000000"


def wrong_password(world: World, page: Page) -> None:
    page.get_by_label("Username").fill("nobody-of-this-name")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").first).to_be_visible()


def made_assistant(world: World, page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("Text editor")
    page.get_by_label("Description").fill("Shortens texts, and finds what is wrong in them.")
    page.get_by_label("First questions").fill("Shorten this text.\nWhat is wrong here?")
    page.get_by_role("button", name="Create assistant").click()
    expect(page.get_by_role("status")).to_be_visible()


def pictured_assistant(world: World, page: Page) -> None:
    """As ``made_assistant``, with a picture, which the script of the form makes small."""
    page.get_by_label("Picture", exact=True).set_input_files({"name": "me.png", "mimeType": "image/png", "buffer": png(300, 200)})
    expect(page.locator(".assistant-preview canvas")).to_be_visible()
    made_assistant(world, page)


def follow(name: str) -> Reach:
    """The first link of that name."""

    def then(world: World, page: Page) -> None:
        page.get_by_role("link", name=name).first.click()

    return then


def go_home(world: World, page: Page) -> None:
    page.goto("/")
    expect(page.locator("ul.assistants")).to_be_visible()


def deleted_assistant(world: World, page: Page) -> None:
    follow("Change “Text editor”")(world, page)
    page.get_by_role("button", name="Delete the assistant").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()


def made_collection(world: World, page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("The handbook of the " + "very" * 12 + "long name")
    page.get_by_label("Description").fill("The rules of the office")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Add documents")).to_be_visible()


def add_document(world: World, page: Page) -> None:
    """Add a document, or a new version of it."""
    name = "rules-" + "of-" * 30 + "the-house.txt"
    text = f"Holidays: {page.locator('.aside-item').count()} days."
    page.get_by_label("Files").set_input_files({"name": name, "mimeType": "text/plain", "buffer": text.encode()})
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("status")).to_be_visible()


def refused_document(world: World, page: Page) -> None:
    page.get_by_label("Files").set_input_files({"name": "empty.txt", "mimeType": "text/plain", "buffer": b" "})
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert").first).to_be_visible()


def deleted_collection(world: World, page: Page) -> None:
    follow("Change the name, or who may ask it")(world, page)
    page.get_by_role("button", name="Delete the collection").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()


def go_to(path: str, shown: str) -> Reach:
    def then(world: World, page: Page) -> None:
        page.goto(path)
        expect(page.locator(shown).first).to_be_visible()

    return then


def upload(data: bytes, shown: str) -> Reach:
    """Import a file."""

    def then(world: World, page: Page) -> None:
        page.get_by_label("File").set_input_files({"name": "chats.json", "mimeType": "application/json", "buffer": data})
        page.get_by_role("button", name="Import").click()
        expect(page.locator(shown)).to_be_visible()

    return then


def too_many_downloads(world: World, page: Page) -> None:
    for _ in range(8):
        page.evaluate("() => fetch('/download/').then((answer) => answer.body?.cancel())")
    page.goto("/download/")
    expect(page.locator(".error-status")).to_have_text("429")


STATES = (
    State("sign in", "", "/sign-in/"),
    State("wrong password", "", "/sign-in/", wrong_password),
    State("password link", "", "{password link}"),
    State("used password link", "", "/password/link/" + NOBODY + "/nothing/"),
    State("password notice", "pia", "/", visible_at(".access-notice")),
    State("change password", "ada", "/password/"),
    State(
        "password refused", "ada", "/password/", each(fill("Old password", "wrong"), fill("New password", "x"), press("Change password"))
    ),
    State("access notices", "ada", "/access-notices/"),
    State("no access notices", "newcomer", "/access-notices/"),
    State("no assistants", "pia", "/assistants/"),
    State("assistants", "newcomer", "/assistants/new/", each(made_assistant, visible_at(".aside-list"))),
    State("assistant deleted", "newcomer", "/assistants/new/", each(made_assistant, deleted_assistant)),
    State("new assistant that may be offered", "root", "/assistants/new/"),
    State("assistant refused", "ada", "/assistants/new/", each(fill("Name", "\u200b"), press("Create assistant"))),
    State("assistant", "newcomer", "/assistants/new/", each(made_assistant, follow("Change “Text editor”"))),
    State("assistant with a picture", "newcomer", "/assistants/new/", each(pictured_assistant, follow("Change “Text editor”"))),
    State("assistants, one with a picture", "newcomer", "/assistants/new/", each(pictured_assistant, visible_at("img.assistant-badge"))),
    State(
        "new conversation with an assistant with a picture",
        "newcomer",
        "/assistants/new/",
        each(pictured_assistant, follow("New conversation with “Te"), visible_at("img.assistant-badge")),
    ),
    State("new conversation with an assistant", "newcomer", "/assistants/new/", each(made_assistant, follow("New conversation with “Te"))),
    State("new conversation, assistants to choose", "newcomer", "/assistants/new/", each(made_assistant, go_home)),
    State("no collections", "pia", "/collections/"),
    State("collections", "newcomer", "/collections/new/", each(made_collection, go_to("/collections/", ".aside-list"))),
    State("new collection that may be offered", "root", "/collections/new/"),
    State("collection refused", "ada", "/collections/new/", each(fill("Name", "\u200b"), press("Save"), visible_at("[role=alert]"))),
    State("empty collection", "newcomer", "/collections/new/", made_collection),
    State("collection", "newcomer", "/collections/new/", each(made_collection, add_document, add_document)),
    State("document refused", "newcomer", "/collections/new/", each(made_collection, refused_document)),
    State("change collection", "newcomer", "/collections/new/", each(made_collection, follow("Change the name, or who may ask it"))),
    State("collection deleted", "newcomer", "/collections/new/", each(made_collection, deleted_collection)),
    State("no documents to ask", "pia", "/collections/choose/"),
    State("documents to ask", "newcomer", "/collections/new/", each(made_collection, go_to("/collections/choose/", ".field-choices"))),
    State(
        "new conversation that asks documents",
        "newcomer",
        "/collections/new/",
        each(made_collection, add_document, follow("New conversation"), visible_at(".composer-note")),
    ),
    State("documents of a conversation", "ada", "{everything}documents/"),
    State("no such assistant", "pia", f"/?q=Hello&assistant={NOBODY}", visible_at("p.assistants")),
    State("import", "ada", "/import/"),
    State("import refused", "ada", "/import/", upload(b"no export at all", ".form-problem")),
    State("import report", "newcomer", "/import/", upload(samples.as_json([samples.OPEN_WEBUI, {"chat": 7}]), ".import-left-out")),
    State("help", "ada", "/pages/help/"),
    State("limits of files", "ada", "/files/limits/"),
    State("terms", "", "/pages/terms/"),
    State("keys", "ada", "/keys/"),
    State("key made", "newcomer", "/keys/", each(fill("Name", "A program of mine"), press("Create key"), visible_at(".share-link-new"))),
    State("key refused", "ada", "/keys/", each(fill("Maximum requests per minute", "0"), press("Create key"))),
    State("usage", "ada", "/usage/", unfold),
    State("settings", "ada", "/settings/"),
    State(
        "settings saved",
        "newcomer",
        "/settings/",
        each(fill("My instructions", "Be brief."), press("Save", "main"), visible_at("main [role=status]")),
    ),
    State("saved prompts", "ada", "/prompts/"),
    State("new prompt", "grace", "/prompts/new/"),
    State("import prompts", "ada", "/prompts/import/"),
    State("own data", "ada", "/settings/data/"),
    State("delete all conversations", "ada", "/settings/data/delete/", visible_at(".button-danger")),
    State("empty the bin", "ada", "/bin/empty/", visible_at(".button-danger")),
    State("choose conversations", "ada", "/conversations/choose/", visible_at(".choose-acts")),
    State("no conversation chosen", "ada", "/conversations/choose/", each(press("Archive"), visible_at("[role=alert]"))),
    State("ways to sign in", "ada", "/sign-in/ways/"),
    State("second factor", "ada", "/sign-in/second-factor/"),
    State("passage", "root", "{passage}", visible_at("#here")),
    State("instructions of a conversation", "ada", "{everything}instructions/"),
    State("bin", "ada", "/bin/", visible_at(".aside-list")),
    State("empty bin", "newcomer", "/bin/"),
    State("delete for good", "ada", "{deleted}erase/", visible_at(".button-danger")),
    State("archived list", "ada", "/archived/", visible_at(".aside-list")),
    State("empty archive", "newcomer", "/archived/"),
    State("share", "ada", "{everything}share/", each(visible_at(".share-preview"), drawn)),
    State("shared links", "ada", "/shares/", visible_at(".share-links")),
    State("no shared links", "newcomer", "/shares/"),
    State("shared page", "", "{shared}", each(visible_at(".code-frame"), drawn)),
    State("link without a page", "", "/s/" + "x" * 43 + "/"),
    State("not found", "ada", "/nothing-here/"),
    State("forbidden", "newcomer", f"/c/{NOBODY}/debug/"),
    State("too many requests", "newcomer", "/", too_many_downloads),
)
