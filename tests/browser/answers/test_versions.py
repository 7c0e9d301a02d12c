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
from tests.browser.test_phone import fits
from tests.browser.visits import PHONE, Visits, Wire
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
    assert new and old and old["x"] > new["x"] + new["width"], "the two are side by side"

    servers.may_continue.set()
    chat.finish()
    expect(chat.answer).to_have_text("I am huge, and that is all.")
    expect(name(chat)).to_contain_text("Version 2 of 2")
    expect(name(chat)).to_contain_text("huge")
    expect(others(chat).locator(".version-parts")).to_have_text("I am tiny, and that is all.")
    expect(chat.last.get_by_role("button", name="Keep this version")).to_have_count(2)
    assert wire.received and not any(SECRET.encode() in each for each in wire.received)


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


@pytest.mark.extended
def test_where_the_versions_cannot_be_shown_nothing_is_asked_and_the_choice_stays(
    two: Deployment, visits: Visits, servers: Servers
) -> None:
    visits.allow("Failed to load resource")
    chat = Chat(visits.open(two.servers[0], "ada", **WIDE))
    chat.ask_and_wait("Who are you?")
    chat.settle()
    choice = chat.page.locator("chat-composer select[name=choice]")
    before = choice.input_value()
    chat.page.route("**/answers/", lambda route: route.abort())
    chat.button("Another model").click()
    chat.page.get_by_role("button", name="Large and careful", exact=True).click()
    expect(chat.page.locator(".toast")).to_be_visible()
    chat.page.wait_for_timeout(300)
    expect(chat.answer).to_have_text("I am tiny, and that is all.")
    assert choice.input_value() == before


def test_while_another_answer_is_written_no_model_is_asked_and_the_choice_stays(two: Deployment, visits: Visits, servers: Servers) -> None:
    chat = answered_again(visits.open(two.servers[0], "ada", **WIDE), servers)
    servers.may_continue.clear()
    chat.ask("And now?")
    expect(chat.answer).to_have_text("I am huge,")
    chat.exchanges.first.get_by_role("button", name="Another model").click()
    chat.page.get_by_role("button", name="Small and quick", exact=True).click()
    expect(chat.page.locator(".toast")).to_contain_text("still being written")
    assert chat.page.locator("chat-composer select[name=choice] option:checked").inner_text() == "Large and careful"
    servers.may_continue.set()
    chat.finish()


@pytest.mark.extended
def test_a_phone_shows_them_one_under_the_other_and_paper_shows_the_one_that_is_open(
    two: Deployment, visits: Visits, servers: Servers
) -> None:
    chat = answered_again(visits.open(two.servers[0], "ada", **PHONE), servers)
    # They are fetched again when the answer has ended; only then can each be kept.
    expect(chat.last.get_by_role("button", name="Keep this version")).to_have_count(2)
    fits(chat.page)
    new = old = None
    while not (new and old):  # an exchange that is being replaced is briefly not on the page
        chat.page.wait_for_timeout(50)
        new, old = chat.answer.bounding_box(), others(chat).bounding_box()
    assert old["y"] > new["y"] + new["height"]
    starts_of_lines = chat.last.locator(".version-name > span + span").evaluate_all("""spans => spans
      .filter((span) => span.getBoundingClientRect().left === span.parentElement.getBoundingClientRect().left)
      .map((span) => [getComputedStyle(span, "::before").left.startsWith("-"), getComputedStyle(span.parentElement).overflowX])""")
    assert starts_of_lines, "the premise: some facts begin a line"
    assert all(start == [True, "clip"] for start in starts_of_lines), "the separator before a line's first fact is cut off"
    chat.page.emulate_media(media="print")
    expect(others(chat)).to_be_hidden()
    expect(chat.answer).to_be_visible()


@pytest.mark.extended
def test_finding_in_the_conversation_looks_at_the_open_branch_alone(two: Deployment, visits: Visits, servers: Servers) -> None:
    chat = answered_again(visits.open(two.servers[0], "ada", **WIDE), servers)
    expect(others(chat)).to_be_visible()
    chat.page.get_by_role("button", name="Options for this conversation").click()
    chat.page.get_by_role("button", name="Find…").click()
    chat.page.get_by_role("searchbox", name="Find in this conversation").fill("that is all")
    expect(chat.page.locator(".find-status")).to_contain_text("1 of 1")


@pytest.mark.extended
def test_a_version_of_a_model_that_was_taken_away_is_still_shown_and_that_model_is_not_offered(
    two: Deployment, visits: Visits, servers: Servers
) -> None:
    chat = answered_again(visits.open(two.servers[0], "ada", **WIDE), servers)
    change_group(two, "clear()")
    try:
        chat.page.reload()
        expect(chat.answer).to_have_text("I am huge, and that is all.")
        expect(name(chat)).to_contain_text("Large and careful")
        expect(chat.button("Another model")).to_be_hidden()
        expect(others(chat).locator(".version-parts")).to_have_text("I am tiny, and that is all.")
    finally:
        change_group(two, "add(Group.objects.get(name='careful'))")


@pytest.mark.extended
def test_with_one_model_there_is_no_menu_and_new_answers_are_compared_as_well(two: Deployment, visits: Visits) -> None:
    chat = Chat(visits.open(two.servers[0], "bela", **WIDE))
    chat.ask_and_wait("Who are you?")
    expect(chat.button("Another model")).to_be_hidden()
    expect(chat.button("Compare versions")).to_have_count(0)
    chat.settle()
    chat.button("Regenerate").click()
    expect(chat.button("Compare versions")).to_be_visible()
    chat.button("Compare versions").click()
    expect(others(chat).locator(".version-parts")).to_have_text("I am tiny, and that is all.")


@pytest.mark.extended
def test_versions_say_when_they_were_written_and_fade_in_both_columns(two: Deployment, visits: Visits, servers: Servers) -> None:
    chat = answered_again(visits.open(two.servers[0], "ada", timezone_id="Asia/Seoul", **WIDE), servers)
    chat.box.hover()
    expect(others(chat).locator("answer-time time")).to_have_count(1)
    own, other = chat.last.locator(".answer answer-time"), others(chat).locator("answer-time")
    for time in (own, other):
        expect(time).to_have_css("opacity", "1")
        at = time.locator("time")
        assert at.inner_text() == at.evaluate("""time => new Date(time.dateTime).toLocaleString("en-US",
          { dateStyle: "medium", timeStyle: "short", timeZone: "Asia/Seoul" })""")
    faded = "() => parseFloat(getComputedStyle(document.querySelector('.transcript'), '::after').inlineSize)"
    assert chat.page.evaluate(faded) >= (chat.last.bounding_box() or {"width": 9999})["width"] - 1
    assert chat.page.evaluate("() => getComputedStyle(document.querySelector('.dock'), '::before').display") == "none"
