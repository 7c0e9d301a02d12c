"""Paging of long conversations: which messages a page shows at once, how more are loaded, and that length does not slow it down."""

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chatui.display import windows
from chatui.display.windows import ShownWindow
from chatui.model_servers import connected
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.store import transcripts
from chatui.tools import rules
from renderer.frames import Header
from tests.chatui.conftest import signed_in
from tests.chatui.store.long_conversations import long_conversation
from tests.chatui.web.test_pages import keep, turn_for
from tests.support.cost import relative_cost
from tests.support.messages import open_branch
from tests.support.scripted import ANALYSIS, FINAL

pytestmark = pytest.mark.django_db

EXCHANGES = 8
"""Messages per window, so that a long conversation does not need a hundred messages. Production shows more."""
LONG = 2 * EXCHANGES + 7
MIDDLE = EXCHANGES + 4


@pytest.fixture(autouse=True)
def _short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "EXCHANGES", EXCHANGES)


@pytest.fixture
def talk(ada: User, conversation: Conversation) -> Conversation:
    """A hidden system message, then many questions, each with reasoning and an answer."""
    add(conversation, keep(conversation, None, Header("system"), "HIDDEN"), LONG)
    return conversation


def add(conversation: Conversation, leaf: Message | None, count: int, word: str = "Number") -> Message:
    for number in range(1, count + 1):
        question = keep(conversation, leaf, Header("user"), f"{word} {number}?")
        turn = turn_for(question)
        thought = keep(conversation, question, ANALYSIS, f"HIDDEN {number}", turn)
        leaf = keep(conversation, thought, FINAL, f"Yes, {number}.", turn)
    assert leaf is not None
    return leaf


def questions(shown: ShownWindow) -> list[str]:
    return [exchange.question.text if exchange.question else "" for exchange in shown.exchanges]


def question_texts(*numbers: range) -> list[str]:
    return [f"Number {number}?" for part in numbers for number in part]


def message(conversation: Conversation, text: str) -> Message:
    return Message.objects.get(conversation=conversation, text__contains=f">{text}<")


def parent(message: Message) -> Message:
    assert message.parent is not None
    return message.parent


def test_the_page_opens_with_the_last_exchanges_and_loads_earlier_ones(ada: User, talk: Conversation) -> None:
    shown = windows.latest(talk)
    assert (questions(shown), shown.later) == (question_texts(range(LONG - EXCHANGES + 1, LONG + 1)), "")
    seen = questions(shown)
    while shown.earlier:
        shown = windows.earlier(talk, Message.objects.get(pk=shown.earlier))
        seen = questions(shown) + seen
    assert seen == question_texts(range(1, LONG + 1)), "each exchange once, and none is missing"


def test_a_link_to_a_message_opens_the_messages_around_it(ada: User, talk: Conversation) -> None:
    shown = windows.around(talk, message(talk, f"Yes, {MIDDLE}."))
    assert f"Number {MIDDLE}?" in questions(shown) and len(shown.exchanges) == EXCHANGES and shown.earlier and shown.later
    seen = questions(shown)
    while shown.later:
        shown = windows.later(talk, Message.objects.get(pk=shown.later))
        seen += questions(shown)
    assert seen == question_texts(range(MIDDLE - EXCHANGES // 2 + 1, LONG + 1))


def test_a_message_near_the_end_or_on_another_branch_opens_the_end(ada: User, talk: Conversation) -> None:
    end = questions(windows.latest(talk))
    assert questions(windows.around(talk, message(talk, f"Number {LONG - 3}?"))) == end
    leaf = message(talk, f"Yes, {LONG}.")
    old = message(talk, "Number 3?")
    add(talk, parent(old), 1, "Another")
    open_branch(talk, ada, leaf)
    other = message(talk, "Another 1?")
    assert questions(windows.around(talk, other)) == end
    with pytest.raises(NotFoundError):
        windows.later(talk, other)
    assert questions(windows.earlier(talk, other)) == question_texts(range(1, 3)), "what is above a message is the same on every branch"


def test_all_windows_together_are_the_whole_conversation(ada: User, talk: Conversation) -> None:
    parts = list(windows.whole(talk))
    assert [text for part in parts for text in questions(part)] == question_texts(range(1, LONG + 1))
    assert parts[-1].exchanges[-1] == windows.latest(talk).exchanges[-1]
    assert [part for part in parts if part.earlier or part.later] == []


def test_an_import_that_begins_with_an_answer_shows_it_first(ada: User, conversation: Conversation) -> None:
    add(conversation, keep(conversation, None, FINAL, "Before any question."), EXCHANGES)
    shown = windows.latest(conversation)
    assert questions(shown) == question_texts(range(1, EXCHANGES + 1))
    above = windows.earlier(conversation, Message.objects.get(pk=shown.earlier))
    assert questions(above) == [""] and above.earlier == ""


def test_hidden_messages_above_the_first_question_offer_nothing_to_load(ada: User, conversation: Conversation) -> None:
    first = keep(conversation, None, Header("system"), "HIDDEN")
    add(conversation, keep(conversation, first, ANALYSIS, "HIDDEN"), EXCHANGES)
    shown = windows.latest(conversation)
    assert len(shown.exchanges) == EXCHANGES and shown.earlier == ""
    assert windows.earlier(conversation, message(conversation, "Number 1?")).exchanges == []


def test_a_conversation_without_messages_has_an_empty_window(ada: User, conversation: Conversation) -> None:
    assert windows.latest(conversation) == ShownWindow([]) and list(windows.whole(conversation)) == []


def test_a_fragment_has_the_exchanges_and_the_next_link_and_nothing_hidden(ada: User, talk: Conversation) -> None:
    client = signed_in(ada)
    page = client.get(f"/c/{talk.pk}/").content.decode()
    assert page.count('class="exchange"') == EXCHANGES + 1, "and the blank one that scripts copy"
    (address,) = re.findall(r'data-fragment="(/c/[^"]+)"', page)
    fragment = client.get(address).content.decode()
    assert fragment.count('class="exchange"') == EXCHANGES and "HIDDEN" not in page + fragment
    (way,) = re.findall(r'data-more="(\w+)"', fragment)
    assert way == "earlier", "later messages are on the page already"
    (plain,) = re.findall(r'href="([^"]+\?before=[^"]+)"', page)
    whole_page = client.get(plain).content.decode()
    assert set(re.findall(r'data-question="([^"]+)"', whole_page)) == set(re.findall(r'data-question="([^"]+)"', fragment))
    assert re.findall(r'data-more="(\w+)"', whole_page) == ["earlier", "later"], "without scripts the page leads both ways"


def test_everything_on_one_page_is_streamed_in_parts(ada: User, talk: Conversation) -> None:
    pieces = list(signed_in(ada).get(f"/c/{talk.pk}/?all=1"))
    assert len(pieces) == 2 + 3, "the head, three windows, and the rest of the page"
    page = b"".join(pieces).decode()
    shown = re.findall(r'data-question="([^"]+)"', page)
    assert len(shown) == len(set(shown)) == LONG and "HIDDEN" not in page and "data-more" not in page
    assert page.rstrip().endswith("</html>") and " data-empty" not in page


@pytest.mark.slow
@pytest.mark.parametrize("place", ["exchanges/?before=", "exchanges/?after=", "?at=", "?before=", "?after="])
def test_only_a_visible_message_of_the_conversation_can_be_linked(ada: User, bela: User, talk: Conversation, place: str) -> None:
    client, path = signed_in(ada), f"/c/{talk.pk}/{place}"
    good = message(talk, f"Number {MIDDLE}?")
    assert client.get(f"{path}{good.pk}").status_code == 200
    foreign = keep(Conversation.objects.create(owner=bela), None, Header("user"), "Mine")
    elsewhere = keep(Conversation.objects.create(owner=ada), None, Header("user"), "Another conversation")
    hidden = message(talk, f"HIDDEN {MIDDLE}")
    keys: list[object] = [foreign.pk, elsewhere.pk, hidden.pk, uuid4(), "", "x", "%00", "' OR 1=1", good.pk.hex[:-1]]
    answers = [client.get(f"{path}{key}") for key in keys]
    plain = [re.sub(r'content="[^"]*"|"incident">\w+', "", answer.content.decode()) for answer in answers]
    assert {answer.status_code for answer in answers} == {404} and len(set(plain)) == 1
    assert list(AuditEvent.objects.values_list("action", flat=True)) == ["link to message"], "the hidden one is an attempt"
    assert signed_in(bela).get(f"{path}{good.pk}").status_code == 404
    client.post(f"/c/{talk.pk}/delete/")
    assert client.get(f"{path}{good.pk}").status_code == 404


def test_switching_a_version_far_above_opens_its_window(ada: User, talk: Conversation) -> None:
    old = message(talk, "Number 5?")
    add(talk, parent(old), 1, "Another")
    hidden_child = message(talk, "HIDDEN 5")
    client = signed_in(ada)
    for asked_for in (old, hidden_child):
        open_branch(talk, ada, message(talk, "Another 1?"))
        response = client.post(f"/c/{talk.pk}/branch/", {"message": str(asked_for.pk)})
        assert response["Location"] == f"/c/{talk.pk}/?at={old.pk}#m-{old.pk}"
        page = client.get(response["Location"]).content.decode()
        assert f'data-question="{old.pk}"' in page and 'aria-hidden="true">1/' in page


def test_a_branch_follows_the_child_stored_last(ada: User, talk: Conversation) -> None:
    question = message(talk, f"Number {LONG - 7}?")
    newer = add(talk, parent(question), 3, "Another")
    first = message(talk, "Number 1?")
    assert transcripts.deepest(talk, first) == newer and transcripts.deepest(talk, question) == message(talk, f"Yes, {LONG}.")
    assert transcripts.deepest(talk, newer) == newer


@pytest.mark.slow
def test_thousands_of_messages_open_as_quickly_as_a_hundred(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    # The admin pages' rows are read every two seconds for all viewers, which is not part of a page.
    monkeypatch.setattr(connected, "ROWS_SECONDS", float("inf"))
    monkeypatch.setattr(rules, "ROWS_SECONDS", float("inf"))
    short, long = (long_conversation(ada, messages) for messages in (100, 3_000))
    client = signed_in(ada)
    for row in (short, long):
        assert client.get(f"/c/{row.pk}/").status_code == 200, "what is read once per process is read now"
    few, many = (measured(client, f"/c/{row.pk}/") for row in (short, long))
    assert many[0] == few[0], "statements"
    assert many[1] <= 1.05 * few[1], "bytes"
    assert relative_cost(lambda: client.get(f"/c/{long.pk}/"), lambda: client.get(f"/c/{short.pk}/")) <= 1.5

    def above(row: Conversation) -> str:
        return f"/c/{row.pk}/exchanges/?before={row.messages.get(position=90).pk}"

    in_short, in_long = above(short), above(long)
    few, many = measured(client, in_short), measured(client, in_long)
    assert many[0] == few[0] and many[1] <= 1.05 * few[1]
    assert relative_cost(lambda: client.get(in_long), lambda: client.get(in_short)) <= 1.5


def measured(client: Client, address: str) -> tuple[int, int]:
    """Statements and bytes of one page."""
    with CaptureQueriesContext(connection) as statements:
        size = len(client.get(address).content)
    return len(statements), size
