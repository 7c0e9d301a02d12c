"""Several model servers on a page: who may choose which model, what a conversation remembers, and which server answers."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.cable import Cable
from tests.browser.chat import Chat
from tests.browser.visits import Visits, until
from tests.support.served import Deployment

pytestmark = pytest.mark.browser

FILE = """
[[backend]]
name = "small"
label = "Small and quick"
url = "{small}/v1"
models = ["tiny"]
effort = "low"

[[backend]]
name = "large"
label = "Large, for work that takes long and needs care"
url = "{large}"
models = ["gpt-oss-120b", "gpt-oss-20b"]
effort = "high"

[[backend]]
name = "tour"
label = "Guided tour"
kind = "demo"
groups = ["guides"]
"""
CONNECT = """from chatui.models import StoredBackend
StoredBackend.objects.create(name={name!r}, url={url!r}, kind="chat", model_names={models!r}, {more})"""
CHANGE = "from chatui.models import StoredBackend as S; S.objects.filter(name={name!r}).update({more})"
ADD_ROW = "from chatui.models import StoredBackend; StoredBackend.objects.create(name='added', label='Added later', kind='demo')"


class ModelServer:
    """A Chat Completions server whose answers give its name and the requested model."""

    def __init__(self, name: str) -> None:
        self.may_end = may_end = threading.Event()
        may_end.set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for delta in ({"reasoning": "SECRET-7261"}, {"content": f"I am {name}, as {body['model']}, {body['reasoning_effort']}."}):
                    event = {"model": body["model"], "choices": [{"index": 0, "delta": delta}]}
                    self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                may_end.wait(60)
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place: Path = tmp_path_factory.mktemp("several")
    servers = ModelServer("small"), ModelServer("large")
    (place / "backends.toml").write_text(FILE.format(small=servers[0].url, large=servers[1].url), encoding="utf-8")
    deployment = Deployment(place, CHATUI_BACKENDS_FILE=str(place / "backends.toml"))
    try:
        deployment.start()
        deployment.make_people(ada=(False, []), bela=(False, []))
        yield deployment
    finally:
        deployment.stop()
        for server in servers:
            server.close()


def model(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Model", exact=True)


def effort(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Reasoning effort")


def offers(page: Page) -> list[str]:
    return model(page).locator("option").all_inner_texts()


SHOWN = """hint => {
  const text = document.createRange();
  text.selectNodeContents(hint);
  const [words, box] = [text.getBoundingClientRect(), hint.getBoundingClientRect()];
  if (words.top >= box.bottom) return "nothing";
  return words.left >= box.left && words.right <= box.right && words.bottom <= box.bottom + 1 ? "all" : "a part";
}"""
"""How much of the text in a box is visible: all, a part, or nothing."""


def shell(deployment: Deployment, code: str) -> None:
    deployment.manage("shell", "--no-imports", "-c", code)


def test_one_conversation_asks_two_servers_and_says_under_each_answer_which_it_was(several: Deployment, visits: Visits) -> None:
    page = visits.open(several.servers[0], "ada")
    chat = Chat(page)
    assert offers(page) == [
        "Small and quick",
        "gpt-oss-120b",
        "gpt-oss-20b",
    ]
    chat.ask_and_wait("Who are you?")
    expect(chat.answer).to_have_text("I am small, as tiny, low.")
    expect(chat.last.locator(".answer-facts")).to_contain_text("Small and quick")

    model(page).select_option("large/gpt-oss-20b")
    chat.ask_and_wait("And you?")
    expect(chat.answer).to_have_text("I am large, as gpt-oss-20b, low.")
    expect(chat.last.locator(".answer-facts")).to_contain_text("Large, for work")
    expect(chat.last.locator(".answer-facts")).to_contain_text("gpt-oss-20b")

    model(page).select_option("small/tiny")
    chat.button("Regenerate").click()
    expect(chat.answer).to_have_text("I am small, as tiny, low.")
    assert "127.0.0.1" not in page.locator("body").inner_text()
    chat.settle()
    page.reload()
    expect(model(page)).to_have_value("small/tiny")


def test_another_tab_of_a_conversation_follows_the_model_and_effort_that_were_asked(several: Deployment, visits: Visits) -> None:
    visits.allow("WebSocket connection to .* failed|ERR_(CONNECTION|EMPTY|INTERNET|NETWORK)|Failed to load resource")
    chat = Chat(visits.open(several.servers[0], "bela"))
    model(chat.page).select_option("small/tiny")
    chat.ask_and_wait("Who are you?")
    chat.settle()
    tab, away = (Chat(chat.page.context.new_page()) for _ in range(2))
    cable = Cable(several.servers[0].port)
    tab.page.goto(chat.page.url)
    away.page.goto(chat.page.url.replace(several.servers[0].url, cable.url))
    for each in (tab, away):
        expect(model(each.page)).to_have_value("small/tiny")
        each.settle()
    away.page.evaluate("Math.random = () => 0")  # it catches up at once
    cable.cut()
    expect(away.banner).to_be_visible()
    model(chat.page).select_option("large/gpt-oss-20b")
    effort(chat.page).select_option("high")
    chat.ask_and_wait("And you?")
    expect(model(tab.page)).to_have_value("large/gpt-oss-20b")
    expect(effort(tab.page)).to_have_value("high")
    cable.restore()
    expect(model(away.page)).to_have_value("large/gpt-oss-20b")
    expect(effort(away.page)).to_have_value("high")
    away.page.close()
    cable.close()

    model(tab.page).select_option("large/gpt-oss-120b")  # chosen, and not asked yet
    chat.ask_and_wait("And again?")
    expect(tab.exchanges).to_have_count(3)
    expect(model(tab.page)).to_have_value("large/gpt-oss-120b")
    tab.ask_and_wait("And now?")
    expect(tab.answer).to_have_text("I am large, as gpt-oss-120b, high.")
    expect(model(chat.page)).to_have_value("large/gpt-oss-120b")
    tab.settle()
    chat.page.reload()
    expect(model(chat.page)).to_have_value("large/gpt-oss-120b")


def test_a_conversation_remembers_its_model_and_a_new_one_begins_with_the_last(several: Deployment, visits: Visits) -> None:
    page = visits.open(several.servers[0], "bela")
    chat = Chat(page)
    expect(effort(page)).to_have_value("low")
    model(page).focus()
    page.keyboard.press("ArrowDown")
    expect(model(page)).to_have_value("large/gpt-oss-120b")
    expect(effort(page)).to_have_value("high")
    chat.ask_and_wait("Who are you?")
    expect(chat.answer).to_have_text("I am large, as gpt-oss-120b, high.")
    chat.settle()

    page.goto("/")
    expect(model(page)).to_have_value("large/gpt-oss-120b")
    model(page).select_option("small/tiny")
    page.go_back()
    expect(model(page)).to_have_value("large/gpt-oss-120b")
    model(page).select_option("small/tiny")
    effort(page).select_option("medium")
    page.goto("/")
    expect(model(page)).to_have_value("small/tiny")
    expect(effort(page)).to_have_value("medium")


def test_a_link_chooses_an_offered_model_and_one_that_is_not_offered_reads_like_one_that_does_not_exist(
    several: Deployment, visits: Visits
) -> None:
    page = visits.open(several.servers[0], "bela")
    model(page).select_option("small/tiny")
    page.goto("/?q=Who+are+you%3F&model=gpt-oss-120b")
    expect(model(page)).to_have_value("large/gpt-oss-120b")
    expect(effort(page)).to_have_value("high")
    chat = Chat(page)
    chat.box.press("Enter")
    chat.finish()
    expect(chat.answer).to_have_text("I am large, as gpt-oss-120b, high.")
    chat.settle()
    said = set()
    for name in ("tour", "nothing-like-it"):
        page.goto(f"/?model={name}")
        expect(page.locator(".composer-gone")).to_contain_text(name)
        said.add(page.locator(".composer-gone").inner_text().replace(name, "…"))
    assert len(said) == 1


@pytest.mark.extended
def test_a_back_end_added_while_the_server_runs_is_offered_within_seconds_and_works(several: Deployment, visits: Visits) -> None:
    page = visits.open(several.servers[0], "ada")
    assert "Added later" not in offers(page), "the premise"
    shell(several, ADD_ROW)
    started = time.monotonic()
    while "Added later" not in offers(page):
        assert time.monotonic() - started < 30
        page.reload()
    model(page).select_option("added")
    chat = Chat(page)
    chat.ask_and_wait("Hello!")
    expect(chat.last.locator(".answer-facts")).to_contain_text("Scripted, no model")
    shell(several, "from chatui.models import StoredBackend; StoredBackend.objects.all().delete()")


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deployment, ModelServer]]:
    """A deployment with one model server of Administration, "first", and the address of a second one, which is not connected yet."""
    first, second = ModelServer("first"), ModelServer("second")
    deployment = Deployment(tmp_path_factory.mktemp("kept"))
    try:
        deployment.start()
        deployment.make_people(ada=(False, []))
        shell(deployment, CONNECT.format(name="first", url=first.url, models="gpt-oss-120b", more="is_default=True"))
        yield deployment, second
    finally:
        deployment.stop()
        first.close()
        second.close()


def loaded(page: Page, is_there: Callable[[], bool]) -> None:
    """Reload until every process has read the rows again."""
    until(page, lambda: is_there() or (page.reload(), False)[1])


def test_the_message_box_says_before_sending_that_another_model_answers(kept: tuple[Deployment, ModelServer], visits: Visits) -> None:
    deployment, second = kept
    page = visits.open(deployment.servers[0], "ada")
    chat, box, notice = Chat(page), page.locator("chat-composer"), page.locator("#composer-gone")
    loaded(page, lambda: box.get_attribute("data-choice") == "first/gpt-oss-120b")
    expect(model(page)).to_have_count(0)
    chat.ask_and_wait("Who are you?")
    expect(chat.answer).to_have_text(re.compile("I am first"))
    chat.settle()

    shell(deployment, CONNECT.format(name="Aaa", url=second.url, models="gpt-oss-20b", more="position=1"))
    loaded(page, lambda: model(page).count() == 1)
    expect(model(page)).to_have_value("first/gpt-oss-120b")
    expect(notice).to_have_count(0)
    chat.ask_and_wait("And now?")
    expect(chat.answer).to_have_text(re.compile("I am first"))
    chat.settle()

    # The page stays open, and shows what is no longer so.
    shell(deployment, CHANGE.format(name="first", more="is_enabled=False"))
    other = visits.open(deployment.servers[0], "ada")
    loaded(other, lambda: other.locator("chat-composer").get_attribute("data-choice") == "Aaa/gpt-oss-20b")
    chat.ask("And after the pause?")
    words = "gpt-oss-120b is not offered now; the next answer comes from gpt-oss-20b."
    expect(notice).to_have_text(words)
    expect(notice).to_have_role("alert")
    expect(page.locator("#composer-problem")).to_be_empty()
    expect(chat.box).to_have_value("And after the pause?")
    expect(model(page)).to_have_value("Aaa/gpt-oss-20b")
    page.reload()
    expect(notice).to_have_text(words)
    expect(chat.box).to_have_value("And after the pause?")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_accessible_description(re.compile(re.escape(words)))

    chat.box.press("Enter")
    expect(chat.answer).to_have_text(re.compile("I am second"))
    chat.settle()
    page.reload()
    expect(notice).to_have_count(0)
    shell(deployment, CHANGE.format(name="first", more="is_enabled=True"))
    loaded(page, lambda: model(page).locator("option").count() == 2)
    expect(model(page)).to_have_value("Aaa/gpt-oss-20b")


def test_one_sentence_says_what_answers_after_the_server_of_a_queued_message_was_paused(
    kept: tuple[Deployment, ModelServer], visits: Visits
) -> None:
    deployment, second = kept
    slow = ModelServer("slow")
    slow.may_end.clear()
    shell(deployment, CONNECT.format(name="slow", url=slow.url, models="gpt-oss-slow", more="position=1"))
    shell(deployment, CONNECT.format(name="last", url=second.url, models="gpt-oss-20b", more="position=2"))
    page = visits.open(deployment.servers[0], "ada")
    loaded(page, lambda: model(page).locator("option").count() == 3)
    model(page).select_option("slow/gpt-oss-slow")
    chat, notice, other = Chat(page), page.locator("#composer-gone"), visits.open(deployment.servers[0], "ada")
    chat.ask("Who are you?")
    expect(chat.last).to_have_attribute("data-state", "running")
    chat.ask("And now?")
    expect(page.locator(".next-message")).to_contain_text("Sent when this answer is finished.")
    shell(deployment, CHANGE.format(name="slow", more="is_enabled=False"))
    loaded(other, lambda: model(other).locator("option").count() == 2)
    slow.may_end.set()
    expect(notice).to_have_text("gpt-oss-slow is not offered now; the next answer comes from gpt-oss-120b.")
    expect(chat.box).to_have_value("And now?")
    expect(page.locator("#composer-problem")).to_be_empty()
    expect(page.locator(".next-message")).to_have_count(0)
    expect(page.get_by_text("not available")).to_have_count(0)
    slow.close()


def test_choosing_a_model_ends_the_notice_about_one_that_is_gone(kept: tuple[Deployment, ModelServer], visits: Visits) -> None:
    deployment, second = kept
    shell(deployment, CONNECT.format(name="second", url=second.url, models="one\ntwo", more="position=1"))
    page = visits.open(deployment.servers[0], "ada")
    loaded(page, lambda: model(page).count() == 1)
    chat, notice = Chat(page), page.locator("#composer-gone")
    model(page).select_option("second/one")
    chat.ask_and_wait("Who are you?")
    chat.settle()
    shell(deployment, CHANGE.format(name="second", more="model_names='two'"))
    loaded(page, lambda: notice.count() == 1)
    expect(notice).to_have_text("one is not offered now; the next answer comes from gpt-oss-120b.")
    model(page).select_option("second/two")
    expect(notice).to_have_count(0)
    chat.ask_and_wait("And you?")
    expect(chat.answer).to_have_text(re.compile("I am second, as two"))
