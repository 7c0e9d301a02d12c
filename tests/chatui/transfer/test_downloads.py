"""Downloads of one conversation: their names and types, who gets one, and what the whole transcript has in each format."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.user import User
from chatui.store import transcripts
from chatui.transfer import exports
from renderer.frames import Frame, Header
from tests.chatui.conftest import OPENING, signed_in

pytestmark = pytest.mark.django_db


def say(row: Conversation, parent: Message | None, text: str, header: Header) -> Message:
    return transcripts.append(row, parent, Frame(header, text), Author.MODEL)


@pytest.fixture
def exported(conversation: Conversation, ada: User) -> Conversation:
    question = say(conversation, None, "\nWhy?\n\n", Header("user"))
    thought = say(conversation, question, "HIDDEN", Header("assistant", channel="analysis"))
    transcripts.activate(conversation, ada, say(conversation, thought, "Because.", Header("assistant", channel="final")))
    return conversation


@pytest.mark.parametrize(("name", "extension"), [("markdown", "md"), ("openchatml", "ocml"), ("json", "json")])
def test_an_owner_downloads_visible_text_as_a_plain_text_file(name: str, extension: str, exported: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/c/{exported.pk}/download/?format={name}")
    assert "Because." in response.content.decode() and "HIDDEN" not in response.content.decode()
    assert response["Content-Disposition"] == f'attachment; filename="Ada\'s conversation.{extension}"'
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert not AuditEvent.objects.exists()


def test_staff_download_the_whole_transcript_under_another_name_and_it_is_recorded(
    exported: Conversation, grace: User, ada: User, bela: User
) -> None:
    client, path = signed_in(grace), f"/c/{exported.pk}/download/whole/"
    assert client.get(path).status_code == 403, "without opening the debug view"
    client.post(f"/c/{exported.pk}/debug/open/", OPENING)
    for name, extension in (("markdown", "md"), ("openchatml", "ocml"), ("json", "json")):
        response = client.get(f"{path}?format={name}")
        assert "HIDDEN" in response.content.decode() and response["Content-Type"] == "text/plain; charset=utf-8"
        assert response["Content-Disposition"] == f'attachment; filename="Ada\'s conversation-whole.{extension}"'
    last = AuditEvent.objects.order_by("-number")[0]
    assert (last.action, last.conversation_id, last.actor, last.code) == ("whole download", exported.pk, grace, "")
    assert client.get(f"{path}?format=x").status_code == 404
    for person in (ada, bela):
        refused = signed_in(person).get(path)
        assert refused.status_code == 403 and "HIDDEN" not in refused.content.decode()


def of_conversations(person: User) -> list[str]:
    """The names of the files of conversations in the archive of all."""
    return [name for name, _ in exports.all_files(person) if name not in ("READ-ME.txt", "account.json")]


def test_nobody_else_downloads_a_conversation_nor_the_owner_a_temporary_or_deleted_one(
    exported: Conversation, ada: User, bela: User, grace: User
) -> None:
    path = f"/c/{exported.pk}/download/"
    assert [signed_in(person).get(path).status_code for person in (ada, bela, grace)] == [200, 404, 404]
    assert Client().get(path).status_code == 302 == Client().get("/download/").status_code
    assert signed_in(ada).post(path).status_code == 405 == signed_in(ada).post("/download/").status_code
    assert len(of_conversations(ada)) == 3 and not of_conversations(bela)
    for state in ("temporary_until", "deleted_at"):
        Conversation.objects.update(**{state: timezone.now() + timedelta(hours=1)})
        assert signed_in(ada).get(path).status_code == 404, state
        assert all(name.startswith("bin/") for name in of_conversations(ada)) and bool(of_conversations(ada)) == (state == "deleted_at")
        Conversation.objects.update(**{state: None})
    assert signed_in(ada).get(path).status_code == 200
