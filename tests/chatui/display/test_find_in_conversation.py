"""Find in conversation: matches in visible messages of the owner's open branch, and never in hidden text."""

from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chatui.display.search import matching_messages, messages_with_words
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.user import User
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.support.cost import python_calls
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db


def say(row: Conversation, parent: Message | None, text: str, header: Header | None = None) -> Message:
    author = Author.PERSON if header is None else Author.MODEL
    return add_message(row, parent, Frame(header or Header("user"), text), author)


@pytest.fixture
def talk(conversation: Conversation, ada: User) -> list[Message]:
    """A question, a hidden thought about walruses, an answer, and the same again on a branch that is not open."""
    question = say(conversation, None, "How do I restore a backup (of the garden)?")
    thought = say(conversation, question, "The person mentions walruses.", Header("assistant", channel="analysis"))
    final = say(conversation, thought, "Stop the server, then restore the file. Größe", Header("assistant", channel="final"))
    say(conversation, question, "Restore it elsewhere.", Header("assistant", channel="final"))
    open_branch(conversation, ada, final)
    return [question, thought, final]


def test_the_visible_messages_of_the_open_branch_are_found_in_order(conversation: Conversation, ada: User, talk: list[Message]) -> None:
    question, _, final = talk
    assert matching_messages(conversation, ada, "RESTORE") == [question.pk, final.pk]
    assert matching_messages(conversation, ada, " größe ") == [final.pk]
    assert matching_messages(conversation, ada, "(of the") == [question.pk], "it is not a pattern"
    assert matching_messages(conversation, ada, ".*") == []
    assert matching_messages(conversation, ada, "  ") == []


def test_a_text_is_found_as_people_see_it(conversation: Conversation, ada: User, talk: list[Message]) -> None:
    marked = say(
        conversation, talk[-1], "Then **re**start [the `server`](https://example.org/walrus).", Header("assistant", channel="final")
    )
    open_branch(conversation, ada, marked)
    assert matching_messages(conversation, ada, "restart the server.") == [marked.pk]
    assert matching_messages(conversation, ada, "walrus") == []
    assert messages_with_words(conversation, ada, "server restart") == [marked.pk]
    assert messages_with_words(conversation, ada, "walrus") == [] == messages_with_words(conversation, ada, " ")
    address = f"/c/{conversation.pk}/find/?words=server+restart"
    assert signed_in(ada).get(address).json() == {"messages": [str(marked.pk)]}


def test_hidden_text_is_not_searched(conversation: Conversation, ada: User, talk: list[Message]) -> None:
    assert "walruses" in talk[1].text, "the premise: it is there"
    assert matching_messages(conversation, ada, "walruses") == []
    assert matching_messages(conversation, ada, "analysis") == []
    assert messages_with_words(conversation, ada, "walruses") == []
    with CaptureQueriesContext(connection) as statements:
        assert len(matching_messages(conversation, ada, "restore")) == 2
    reading = [each["sql"] for each in statements.captured_queries if "message.text" in each["sql"]]
    assert len(reading) == 1 and "message.is_visible" in reading[0].rpartition(" WHERE ")[2], "nor read"


def test_only_messages_with_the_text_are_parsed_and_more_cost_no_more_each(conversation: Conversation, ada: User) -> None:
    last, calls = None, list[int]()
    for number in range(300):
        last = say(conversation, last, f"Of the *tides*, part {number}.")
        if number in {99, 299}:
            open_branch(conversation, ada, last)
            calls += [python_calls(partial(matching_messages, conversation, ada, wanted)) for wanted in ("part 77", "tides")]
    few, each, few_of_more, each_of_more = calls
    assert each > 100 * 20, "the premise: a message that has it is read"
    assert few_of_more - few < 200 * 8
    assert each_of_more / 300 < 1.1 * each / 100


def test_only_the_owner_finds_anything(conversation: Conversation, ada: User, bela: User, talk: list[Message]) -> None:
    address = f"/c/{conversation.pk}/find/?q=restore"
    assert signed_in(ada).get(address).json() == {"messages": [str(talk[0].pk), str(talk[2].pk)]}
    assert signed_in(bela).get(address).status_code == 404
