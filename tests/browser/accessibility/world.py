"""A served deployment in which everything that a page can show has happened, with a browser for each person."""

from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.accessibility.model import CUT, EVERYTHING, ONLY_THINKS, REFUSALS, Model
from tests.browser.chat import Chat
from tests.browser.conftest import INSTRUCTIONS, LOOK
from tests.browser.visits import PHONE, Visits, submit
from tests.support.served import Deployment, Server

BACKENDS = """
[[backend]]
name = "writer"
label = "Writer"
url = "{url}"
summaries = "model"
summarizer = "tour"

[[backend]]
name = "tour"
label = "Guided tour"
kind = "demo"
"""
ADMINS = [
    *LOOK,
    "view_usage",
    "change_limits",
    *("view_tools", "change_tools", "connect_tools"),
    *(f"{verb}_{what}" for what in ("user", "group", "storedbackend") for verb in ("add", "change", "view", "delete")),
    "view_conversation",
]
PEOPLE: dict[str, tuple[bool, list[str]]] = {
    "ada": (False, []),
    "newcomer": (False, []),
    "pia": (False, []),
    "grace": (True, ADMINS),
    "vera": (True, LOOK),
    "root": (True, []),
}
EXTRAS = """
from chatui.models import StoredBackend, User
from django.contrib.auth.models import Group
StoredBackend.objects.create(name='added', label='Added later', kind='demo')
Group.objects.create(name='guides')
User.objects.filter(username='root').update(is_superuser=True)
from chatui.models import Turn
from chatui.store import opened_pages
from chatui.store import files
from chatui.store.files import NewFile, FileDestination
from renderer.markup.citations import CitableSource
from tests.chatui.store.pictures import png
arabic = '\u0645\u0631\u062d\u0628\u0627 ' * 12
pages = {{0: CitableSource('https://example.org/a', 'A page'), 1: CitableSource('https://www.example.net/' + 'long/' * 30, arabic)}}
opened_pages.save(Turn.objects.filter(conversation='{cited}').earliest('pk').pk, pages)
turn = Turn.objects.get(conversation='{drawn}')
place = FileDestination(turn.asked_by_id, turn.conversation_id, turn.pk)
for name, data in (('plot.png', png(64, 48)), ('a-table-of-' + 'many-' * 10 + 'days.csv', b'a,b'), (arabic + '.txt', b'c')):
    files.save(place, NewFile.of(name, data))
from chatui.documents.reading import TextPart
from chatui.store import passages
from tests.chatui.store.uploads import uploaded_with
root = User.objects.get(username='root')  # no test looks at her message box
report = uploaded_with(root, 'a-report-of-' + 'many-' * 10 + 'days.pdf', TextPart('page 1', 'The price of tea fell. ' * 400), kind='pdf')
passages.index(report.content_id)
from chatui.models import SavedPrompt
ada = User.objects.get(username='ada')
for name, text in (('A letter', '{{{{tone: formal | friendly}}}} {{{{date}}}} {{{{text}}}}'), (arabic[:60], 'long ' * 40)):
    SavedPrompt.objects.create(owner=ada, name=name, text=text)
print(User.objects.get(username='pia').pk, passages.address(report.pk, 2))
"""
REASON = "A complaint about this answer"


@dataclass
class World:
    """``places``: addresses of pages by name. ``model``: the model server. ``is_phone``: pages open as on a phone."""

    server: Server
    deployment: Deployment
    model: Model
    visits: Visits
    places: dict[str, str] = field(default_factory=dict)
    is_phone: bool = False
    _pages: dict[tuple[str, bool], Page] = field(default_factory=dict)

    def page_of(self, name: str) -> Page:
        """This person's only page, empty and without anything stored from before. "" is somebody who is not signed in."""
        self.model.resume()
        key = (name, self.is_phone)
        if key not in self._pages:
            options = PHONE if self.is_phone else {}
            self._pages[key] = self.visits.open(self.server, name or None, "/healthz", **options)
        page = self._pages[key]
        page.context.set_offline(False)
        page.goto("/healthz")
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        return page


def deploy(directory: Path, model: Model) -> Deployment:
    """Start the product with this model and a demo that thinks slowly."""
    directory.mkdir(exist_ok=True)
    file = directory / "backends.toml"
    file.write_text(BACKENDS.format(url=model.url), encoding="utf-8")
    deployment = Deployment(
        directory,
        CHATUI_BACKENDS_FILE=str(file),
        CHATUI_DEMO_TOKENS_PER_SECOND="16",
        CHATUI_TELL_OWNERS="true",
        CHATUI_ALERT_ATTEMPTS="2",
        CHATUI_DEBUG_APPROVAL="true",
        CHATUI_MAX_RUNNING_ANSWERS="50",
        CHATUI_MAX_MESSAGE_CHARS="4000",
        CHATUI_TOOLS="ask_person",
        CHATUI_INSTRUCTIONS=INSTRUCTIONS,
    )
    deployment.start()
    deployment.make_people(**PEOPLE)
    return deployment


def furnish(world: World) -> None:
    """Create everything that pages can show."""
    chat = Chat(world.page_of("ada"))
    for name, questions in {"everything": [EVERYTHING], "cut": [CUT], "only thoughts": [ONLY_THINKS], "refused": [*REFUSALS]}.items():
        world.places[name] = _talk(chat, *questions)
    chat.page.goto(world.places["everything"])
    _choose(chat.page, "Pin")  # so that it stays in the loaded part of the list
    world.places["versions"] = _talk(chat, "A question with versions")
    _two_versions(chat)
    chat.page.goto("/")
    chat.page.get_by_label("Model", exact=True).select_option(label="Guided tour")
    world.places["files"] = _talk(chat, "What is the weather in Oslo?", is_new=False)
    chat.page.goto("/")
    chat.page.get_by_label("Model", exact=True).select_option(label="Writer")
    for name, act in {"archived": "Archive", "deleted": "Delete"}.items():
        world.places[name] = _talk(chat, f"A conversation that is {name}")
        _choose(chat.page, act)
    _share(world, chat.page)
    _look_inside(world)
    _administer(world)
    _try_in_vain(world)


def _talk(chat: Chat, *questions: str, is_new: bool = True) -> str:
    if is_new:
        chat.page.goto("/")
    for question in questions:
        before = chat.exchanges.count()
        chat.ask(question)
        expect(chat.exchanges).to_have_count(before + 1)
        expect(chat.last.locator(".answer-tools")).to_be_attached()
    chat.settle()
    return chat.page.url


def _two_versions(chat: Chat) -> None:
    chat.button("Regenerate").click()
    expect(chat.last.get_by_role("group", name="Versions of this answer")).to_be_visible()
    chat.finish()


def _choose(page: Page, act: str) -> None:
    page.get_by_role("button", name="Options for this conversation").click()
    page.locator("#top-menu").get_by_role("button", name=act, exact=True).click()
    if act == "Delete":
        page.wait_for_url("**/?deleted=*")
    elif act == "Archive":
        expect(page.locator(".top-bar .archived-mark")).to_be_visible()
    else:
        expect(page.locator(".conversation-item[data-pinned]")).to_be_visible()


def _share(world: World, page: Page) -> None:
    page.goto(world.places["everything"] + "share/")
    for _ in range(2):
        page.locator(".share-form").get_by_role("button").click()
        expect(page.locator(".share-link-new")).to_be_visible()
    world.places["shared"] = page.locator(".share-link-address").first.input_value()


def _look_inside(world: World) -> None:
    """Grace requests the debug view of two conversations; Vera approves one."""
    asking, approving = world.page_of("grace"), world.page_of("vera")
    for name in ("everything", "cut"):
        asking.goto(world.places[name] + "debug/")
        asking.get_by_label("Reason").fill(REASON)
        asking.get_by_role("button", name="Request the debug view").click()
        expect(asking.get_by_role("heading", name="Waiting for a second person")).to_be_visible()
        if name == "everything":
            approving.goto("/debug/requests/")
            submit(approving.get_by_role("button", name="Approve the request of grace"))
    asking.goto(world.places["everything"] + "debug/")
    for name, link in {"prompt": "Prompt that was sent", "tokens": "Output tokens"}.items():
        world.places[name] = asking.get_by_role("link", name=link).first.get_attribute("href") or ""


def _administer(world: World) -> None:
    extras = EXTRAS.format(cited=_id(world.places["everything"]), drawn=_id(world.places["files"]))
    number, world.places["passage"] = world.deployment.manage("shell", "--no-imports", "-c", extras).split()
    world.places["user"] = f"/manage/people/{number}/"
    page = world.page_of("grace")
    page.goto(world.places["user"] + "password/")
    page.get_by_role("button", name="Create the link").click()
    world.places["password link"] = page.locator(".manage-link").inner_text()


def _id(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]


def _try_in_vain(world: World) -> None:
    world.visits.allow("status of (403|404|410|429|400)")
    page = world.page_of("newcomer")
    for _ in range(2):
        page.goto("/c/00000000-0000-7000-8000-000000000000/debug/")
