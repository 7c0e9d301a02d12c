"""Ratings (thumbs): who can rate which answer, with which reason, and where a rating is visible."""

import pytest
from django.test import Client

from chatui.models.audit import AuditEvent
from chatui.models.message import Message
from chatui.models.ratings import Rating
from chatui.models.user import User
from chatui.transfer.imports import import_transcript
from renderer.errors import Code
from renderer.frames import Header
from tests.canary.planting import Planted, append, new_turn, plant
from tests.chatui.conftest import signed_in
from tests.support.answer_rows import rows_of
from tests.support.canary import Canary
from tests.support.messages import open_branch

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(ada: User) -> Planted:
    return plant(ada, Canary())


def path(talk: Planted, message: Message | None = None) -> str:
    return f"/c/{talk.conversation.pk}/messages/{(message or talk.final).pk}/rating/"


def pressed(page: str) -> list[str]:
    """How the answers that have thumbs are rated."""
    return [row["verdict"] for row in rows_of(page) if "thumbs" in row["has"]]


def page_of(client: Client, talk: Planted) -> str:
    return str(client.get(f"/c/{talk.conversation.pk}/").content.decode())


def test_a_rating_is_stored_and_shown_again(ada: User, talk: Planted) -> None:
    client = signed_in(ada)
    assert pressed(page_of(client, talk)) == [""]
    sent = client.post(
        path(talk), {"verdict": "down", "reason": "wrong", "note": " Not\x00 four. "}, headers={"accept": "application/json"}
    )
    assert sent.json() == {"ok": True}
    row = Rating.objects.get()
    assert (row.message, row.person, row.verdict, row.reason, row.note) == (talk.final, ada, "down", "wrong", "Not\ufffd four.")
    assert pressed(page_of(client, talk)) == ["down"]
    assert "Not\ufffd four." in client.get(path(talk)).content.decode()
    fragment = client.get(f"/c/{talk.conversation.pk}/turns/{talk.turn.pk}/").content.decode()
    assert pressed(fragment) == ["down"]


def test_a_second_rating_replaces_the_first_and_an_empty_one_removes_it(ada: User, talk: Planted) -> None:
    client = signed_in(ada)
    client.post(path(talk), {"verdict": "down", "reason": "long"})
    client.post(path(talk), {"verdict": "up", "reason": "long", "note": "Clear."})
    row = Rating.objects.get()
    assert (row.verdict, row.reason, row.note) == ("up", "", "Clear.")
    assert client.post(path(talk), {"verdict": ""}).status_code == 302
    assert not Rating.objects.exists()


@pytest.mark.parametrize(
    "sent",
    [
        {"verdict": "down"},
        {"verdict": "down", "reason": "other than those"},
        {"verdict": "sideways", "reason": "wrong"},
        {"verdict": "down", "reason": "other", "note": "x" * 1001},
    ],
)
def test_an_invalid_rating_is_refused_and_the_form_keeps_its_text(ada: User, talk: Planted, sent: dict[str, str]) -> None:
    client = signed_in(ada)
    refused = client.post(path(talk), sent)
    assert refused.status_code == 400 and "Choose a reason." in refused.content.decode()
    assert sent.get("note", "") in refused.content.decode() and not Rating.objects.exists()
    assert client.post(path(talk), {"verdict": "down", "reason": "other", "note": "\r\n" * 500 + "x"}).status_code == 302


def test_rating_hidden_text_is_logged_as_an_attempt(ada: User, talk: Planted) -> None:
    assert signed_in(ada).post(path(talk, talk.hidden[4]), {"verdict": "up"}).status_code == 404
    line = AuditEvent.objects.get()
    assert (line.code, line.action) == (Code.PERM_VISIBILITY, "rate an answer")


def test_an_import_has_no_thumbs(ada: User) -> None:
    text = b"version: 2.2\n\n<|start|>user<|message|>Why?<|end|>\n<|start|>assistant<|channel|>final<|message|>So.<|return|>\n"
    row = import_transcript(ada, text).conversation
    page = signed_in(ada).get(f"/c/{row.pk}/").content.decode()
    assert "So." in page and pressed(page) == []


def test_a_shared_page_has_neither_thumbs_nor_ratings(ada: User, talk: Planted) -> None:
    signed_in(ada).post(path(talk), {"verdict": "down", "reason": "wrong", "note": "Shame on it"})
    page = Client().get(f"/s/{talk.link.token}/").content.decode()
    assert "Here is the visible answer." in page and pressed(page) == [] and "Shame" not in page


def test_a_rating_belongs_to_its_version_of_the_answer(ada: User, talk: Planted) -> None:
    client = signed_in(ada)
    client.post(path(talk), {"verdict": "up"})
    again = new_turn(talk.question, Canary())
    other = append(talk.conversation, talk.question, Header("assistant", channel="final"), "Another try.", again)
    open_branch(talk.conversation, ada, other)
    assert pressed(page_of(client, talk)) == [""]
    client.post(f"/c/{talk.conversation.pk}/branch/", {"message": talk.final.pk})
    assert pressed(page_of(client, talk)) == ["up"]
