"""What people see when the model refuses, when an answer is cut off, and when no model server is there."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.relay import Relay
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server, free_port, served

pytestmark = pytest.mark.browser


def test_a_refusal_of_the_model_is_an_answer_like_any_other(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))

    chat.ask_and_wait("Please refuse.")

    expect(chat.answer).to_contain_text("I can’t help with reading another person’s private messages")
    expect(chat.last.locator(".notice")).to_have_count(0)
    assert "delicate text" not in chat.page.content()


def test_a_plan_of_the_model_is_shown_and_its_traffic_with_tools_is_not(demo: Server, visits: Visits) -> None:
    chat = Chat(visits.open(demo, "ada"))

    chat.ask_and_wait("Make a plan.")

    expect(chat.last.locator(".part-preamble")).to_contain_text("I will look through your notes")
    expect(chat.last.locator(".part-final")).to_contain_text("Here is a plan")
    for hidden in ("search_notes", "launch date", "data protection review.&quot;", "That is the gap"):
        assert hidden not in chat.page.content()


@pytest.fixture
def closed_port() -> int:
    """A port on which nothing listens."""
    return free_port()


@pytest.fixture
def without_model(closed_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with the address of a model server that does not exist."""
    with served(Deployment(tmp_path_factory.mktemp("without"), CHATUI_BACKEND_URL=f"http://127.0.0.1:{closed_port}")) as server:
        yield server


@pytest.mark.llama
def test_without_a_model_server_there_is_a_sentence_and_retry_works_once_it_is_there(
    without_model: Server, closed_port: int, llama_server: str, visits: Visits
) -> None:
    chat = Chat(visits.open(without_model, "ada"))
    chat.ask_and_wait("Hello!", state="failed")
    expect(chat.last.locator(".notice-text")).to_contain_text(
        "The model server cannot be reached. Try again in a moment, or choose another model. Failure number "
    )
    expect(chat.question).to_have_text("Hello!")
    expect(chat.answer).to_be_empty()
    assert str(closed_port) not in chat.last.inner_html()

    model_server = Relay(llama_server, closed_port)
    try:
        chat.button("Retry").click()
        chat.finish()
        expect(chat.answer).to_contain_text("Hello!")
        expect(chat.exchanges).to_have_count(1)
        expect(chat.last.locator(".notice")).to_have_count(0)
    finally:
        model_server.close()
