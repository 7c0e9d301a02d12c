"""The line under the message box that says how full the model's context is, with a real server whose context is small."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import PHONE, Visits
from tests.support.cases import extended
from tests.support.served import Deployment, Server, served

pytestmark = [pytest.mark.browser, pytest.mark.llama]

LONG = "Explain in detail how a transistor works."
FULL = re.compile(r"^About (\d+)% of what the model can read at once")


@pytest.fixture(scope="module")
def small(llama_server_with_a_small_context: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with a llama.cpp server whose context is small."""
    deployment = Deployment(tmp_path_factory.mktemp("small"), CHATUI_BACKEND_URL=llama_server_with_a_small_context)
    with served(deployment, "ada", "bela") as server:
        yield server


@pytest.mark.parametrize("device", [{}, extended(PHONE)], ids=["desk", "phone"])
def test_people_see_how_full_the_context_is_and_nothing_moves(small: Server, visits: Visits, device: dict) -> None:
    chat = Chat(visits.open(small, "ada", **device))
    line = chat.page.locator(".context-use")
    expect(line).to_be_empty()
    chat.ask("ping")
    chat.finish()
    expect(line).to_have_text(FULL)
    before = chat.page.locator(".composer-box").bounding_box()
    line.evaluate("line => { line.textContent = ''; }")
    assert chat.page.locator(".composer-box").bounding_box() == before, "the line takes its space even while empty"
    chat.ask_and_wait(LONG, "incomplete")
    expect(chat.last.locator(".notice")).to_contain_text("the conversation has reached the maximum length for this model")
    expect(chat.button("Continue")).to_be_visible()
    found = FULL.match(line.inner_text())
    assert found and int(found[1]) >= 80
    assert chat.page.locator(".composer-box").bounding_box() == before
    chat.settle()
    chat.page.reload()
    expect(line).to_have_text(FULL)
    chat.ask("Hello!")
    expect(chat.exchanges).to_have_count(3)
    expect(chat.last).not_to_have_attribute("data-state", "running")
    expect(line).to_have_text(re.compile(r"^Oldest (question|[0-9] questions) left out( ·|$)"))
    expect(chat.last.locator(".answer-facts")).to_contain_text("left out")
    assert chat.page.locator(".composer-box").bounding_box() == before
