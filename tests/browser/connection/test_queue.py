"""A question that waits for a slot: its place is shown and announced, and the wait is no thinking."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

WAIT_MS = 4_000


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with the demo, which writes slowly and only one answer at a time."""
    deployment = Deployment(tmp_path_factory.mktemp("queue"), CHATUI_DEMO_TOKENS_PER_SECOND="80", CHATUI_MAX_ANSWERS_AT_ONCE="1")
    with served(deployment, "ada", "bela") as server:
        yield server


def test_a_waiting_question_has_a_place_and_then_an_answer_that_counts_no_wait(server: Server, visits: Visits) -> None:
    first, waiting = Chat(visits.open(server, "ada")), Chat(visits.open(server, "bela"))
    first.ask("Please explain")
    expect(first.working).to_be_visible()
    waiting.ask("Hello!")
    expect(waiting.working).to_contain_text("You are number 1 in the queue…")
    expect(waiting.page.locator(".announcer")).to_have_text("You are number 1 in the queue…")
    waiting.page.wait_for_timeout(WAIT_MS)
    stopped = time.monotonic()
    first.stop.click()
    expect(waiting.working).to_contain_text(re.compile(r"^(?!You are number).* · \d+ s$"))
    shown = re.search(r" · (\d+) s$", waiting.working.inner_text())
    assert shown is None or int(shown[1]) < time.monotonic() - stopped + 1
    waiting.finish()
    thought = re.search(r"Thought for (\d+) s", waiting.last.inner_text())
    assert thought is None or int(thought[1]) < time.monotonic() - stopped + 1
