"""Answers of several models to one question, side by side: by mouse, by keyboard, on a phone, after a reload and on paper."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits, Wire
from tests.support.served import Deployment

pytestmark = pytest.mark.browser

FILE = """
[[backend]]
name = "small"
label = "Small and quick"
url = "{url}/v1"
models = ["tiny"]

[[backend]]
name = "large"
label = "Large and careful"
url = "{url}/v1"
models = ["huge"]
groups = ["careful"]
"""
SECRET = "SECRET-7261"
WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
GROUP = """from chatui.models import User; from django.contrib.auth.models import Group
User.objects.get(username="ada").groups.{what}"""


class Servers:
    """A model server whose answers name the requested model; the huge model pauses after its first words."""

    def __init__(self) -> None:
        self.may_continue = may_continue = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.say(body["model"], {"reasoning": SECRET})
                self.say(body["model"], {"content": f"I am {body['model']}, "})
                if body["model"] == "huge":
                    may_continue.wait(60)
                self.say(body["model"], {"content": "and that is all."})
                self.wfile.write(b"data: [DONE]\n\n")

            def say(self, model: str, delta: dict[str, str]) -> None:
                event = {"model": model, "choices": [{"index": 0, "delta": delta}]}
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.may_continue.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    running = Servers()
    yield running
    running.close()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, servers: Servers) -> Iterator[Deployment]:
    """A deployment with a model for everybody and one for a group that Ada belongs to."""
    place: Path = tmp_path_factory.mktemp("two")
    (place / "backends.toml").write_text(FILE.format(url=servers.url), encoding="utf-8")
    deployment = Deployment(place, CHATUI_BACKENDS_FILE=str(place / "backends.toml"))
    try:
        deployment.start()
        deployment.make_people(ada=(False, []), bela=(False, []))
        change_group(deployment, "add(Group.objects.get_or_create(name='careful')[0])")
        yield deployment
    finally:
        deployment.stop()


@pytest.fixture(autouse=True)
def _held(servers: Servers) -> None:
    servers.may_continue.clear()


def change_group(deployment: Deployment, what: str) -> None:
    deployment.manage("shell", "--no-imports", "-c", GROUP.format(what=what))


def others(chat: Chat) -> Locator:
    return chat.last.get_by_role("region", name="Other versions of this answer")


def name(chat: Chat) -> Locator:
    """The heading of the answer on the open branch."""
    return chat.last.locator(".current-version .version-name")


def answered_again(page: Page, servers: Servers) -> Chat:
    """Ask a question that the small model answers, and then the large one."""
    chat = Chat(page)
    chat.ask_and_wait("Who are you?")
    chat.settle()
    servers.may_continue.set()
    chat.button("Another model").click()
    page.get_by_role("button", name="Large and careful", exact=True).click()
    expect(chat.answer).to_have_text("I am huge, and that is all.")
    chat.finish()
    return chat


def test_another_model_writes_beside_the_answer_that_stays(two: Deployment, visits: Visits, servers: Servers) -> None:
    wire = Wire()
    page = visits.open(two.servers[0], "ada", wire=wire, **WIDE)
    chat = Chat(page)
    chat.ask_and_wait("Who are you?")
    chat.settle()

    chat.button("Another model").click()
    page.get_by_role("button", name="Large and careful", exact=True).click()
    expect(chat.answer).to_have_text("I am huge,")
    expect(name(chat)).to_have_text("Large and careful")
    expect(others(chat).locator(".version-parts")).to_have_text("I am tiny, and that is all.")
    expect(others(chat).get_by_role("heading", level=3)).to_contain_text("Small and quick")
    expect(chat.last.get_by_role("button", name="Keep this version")).to_have_count(0)
    new, old = chat.answer.bounding_box(), others(chat).bounding_box()
    assert new and old and new["x"] > old["x"] + old["width"], "the two are side by side, the earlier one first"

    servers.may_continue.set()
    chat.finish()
    expect(chat.answer).to_have_text("I am huge, and that is all.")
    expect(name(chat)).to_contain_text("Version 2 of 2")
    expect(name(chat)).to_contain_text("huge")
    expect(others(chat).locator(".version-parts")).to_have_text("I am tiny, and that is all.")
    expect(chat.last.get_by_role("button", name="Keep this version")).to_have_count(2)
    assert wire.received and not any(SECRET.encode() in each for each in wire.received)


def test_another_model_is_for_one_answer_and_the_message_box_stays_with_its_own(two: Deployment, visits: Visits, servers: Servers) -> None:
    servers.may_continue.set()
    page = visits.open(two.servers[0], "ada", **WIDE)
    chat = Chat(page)
    box = page.locator("chat-composer select[name=choice]")
    chat.ask_and_wait("Who are you?")
    chat.settle()
    chat.button("Another model").click()
    expect(page.locator("#again-menu")).to_contain_text("For this answer alone. The message box stays with Small and quick.")
    page.get_by_role("button", name="Large and careful", exact=True).click()
    expect(chat.answer).to_have_text("I am huge, and that is all.")
    chat.finish()
    expect(box).to_have_value("small/tiny")
    page.reload()
    expect(box).to_have_value("small/tiny")
    chat.ask_and_wait("And now?")
    expect(chat.answer).to_have_text("I am tiny, and that is all.")


def test_the_conversation_continues_with_the_version_that_is_kept(two: Deployment, visits: Visits, servers: Servers) -> None:
    chat = answered_again(visits.open(two.servers[0], "ada", **WIDE), servers)
    others(chat).get_by_role("button", name="Keep this version").click()
    expect(chat.answer).to_have_text("I am tiny, and that is all.")
    expect(others(chat)).to_have_count(0)
    expect(chat.button("Compare versions")).to_be_focused()
    assert "compare" not in chat.page.url

    chat.ask_and_wait("And now?")
    chat.page.reload()
    expect(chat.exchanges).to_have_count(2)
    expect(chat.exchanges.first.locator(".parts")).to_have_text("I am tiny, and that is all.")


def test_versions_are_compared_by_keyboard_survive_a_reload_and_are_closed_again(two: Deployment, visits: Visits, servers: Servers) -> None:
    chat = answered_again(visits.open(two.servers[0], "ada", **WIDE), servers)
    chat.last.locator(".current-version").get_by_role("button", name="Keep this version").click()
    expect(others(chat)).to_have_count(0)
    compare = chat.button("Compare versions")
    expect(compare).to_be_focused()
    expect(compare).to_have_attribute("aria-expanded", "false")

    chat.page.keyboard.press("Enter")
    expect(others(chat)).to_be_visible()
    expect(compare).to_have_attribute("aria-expanded", "true")
    expect(name(chat)).to_be_focused()
    chat.page.reload()
    expect(others(chat).locator(".version-parts")).to_have_text("I am tiny, and that is all.")
    expect(name(chat)).to_contain_text("Version 2 of 2")
    ids = chat.page.eval_on_selector_all("[id]", "all => all.map(each => each.id)")
    assert len(ids) == len(set(ids))

    chat.button("Previous version").click()
    expect(chat.answer).to_have_text("I am tiny, and that is all.")
    expect(others(chat).locator(".version-parts")).to_have_text("I am huge, and that is all.")


def test_while_another_answer_is_written_no_model_is_asked_and_the_choice_stays(two: Deployment, visits: Visits, servers: Servers) -> None:
    chat = answered_again(visits.open(two.servers[0], "ada", **WIDE), servers)
    servers.may_continue.clear()
    chat.page.locator("chat-composer select[name=choice]").select_option(label="Large and careful")
    chat.ask("And now?")
    expect(chat.answer).to_have_text("I am huge,")
    chat.exchanges.first.get_by_role("button", name="Another model").click()
    chat.page.get_by_role("button", name="Small and quick", exact=True).click()
    expect(chat.page.locator(".toast")).to_contain_text("still being written")
    assert chat.page.locator("chat-composer select[name=choice] option:checked").inner_text() == "Large and careful"
    servers.may_continue.set()
    chat.finish()
