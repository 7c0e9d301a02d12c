"""What “Download everything” makes is imported as it is: with versions, dates, places and folders, and nothing that was hidden."""

import io
import json
import zipfile
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from chatui.models.conversation import Conversation, Folder
from chatui.models.message import Author, Message
from chatui.models.user import User
from chatui.store import transcripts
from renderer.frame_kinds import SUMMARY
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.chatui.transfer.other_products.samples import as_json, as_zip

pytestmark = pytest.mark.django_db

BEGAN = datetime(2025, 3, 4, 5, 6, tzinfo=UTC)
QUESTION, FINAL = Header("user"), Header("assistant", channel="final")


def say(row: Conversation, parent: Message | None, text: str, header: Header) -> Message:
    message = transcripts.append(row, parent, Frame(header, text), Author.MODEL)
    Message.objects.filter(pk=message.pk).update(created_at=BEGAN)
    return message


def archive_of(person: User) -> bytes:
    return b"".join(signed_in(person).get("/download/").streaming_content)  # type: ignore[attr-defined]


def upload(person: User, data: bytes) -> str:
    response = signed_in(person).post("/import/", {"file": SimpleUploadedFile("all.zip", data)})
    return str(response.content.decode())


def told(row: Conversation) -> list[tuple[str, int | None]]:
    """The texts of a conversation's visible messages, each with the place of the one above it."""
    rows = list(row.messages.order_by("position"))
    places: dict[object, int] = {message.pk: place for place, message in enumerate(rows)}
    visible = (message for message in rows if message.is_visible)
    return [(transcripts.frame_of(message).body, places.get(message.parent_id)) for message in visible]


def test_an_archive_is_imported_by_somebody_else_with_versions_dates_places_and_folders(ada: User, bela: User) -> None:
    folder = Folder.objects.create(owner=ada, name="Work")
    row = Conversation.objects.create(owner=ada, title="Tea & coffee", folder=folder, is_pinned=True)
    question = say(row, None, "Why?", QUESTION)
    thought = say(row, question, "SECRET thought", Header("assistant", channel="analysis"))
    first = say(row, thought, "Because.", FINAL)
    say(row, question, "For another reason.", FINAL)
    transcripts.activate(row, ada, first)
    Conversation.objects.filter(pk=row.pk).update(created_at=BEGAN, active_at=BEGAN)
    old = Conversation.objects.create(owner=ada, title="Old", archived_at=BEGAN)
    transcripts.activate(old, ada, say(old, None, "Archived?", QUESTION))
    gone = Conversation.objects.create(owner=ada, title="Gone", deleted_at=BEGAN)
    say(gone, None, "Deleted", QUESTION)
    data = archive_of(ada)

    page = upload(bela, data)
    assert "2 conversations" in page
    assert "2 other data files of the archive were not read." in page, "the account, and what is in the bin; the folders were read"
    copy = Conversation.objects.get(owner=bela, title="Tea & coffee")
    assert told(copy) == [("Why?", None), ("Because.", 0), ("For another reason.", 0)]
    assert transcripts.frame_of(copy.active_leaves.get(person=bela).message).body == "Because."
    assert (copy.created_at, copy.active_at, copy.is_pinned) == (BEGAN, BEGAN, True)
    assert copy.folder is not None and (copy.folder.owner, copy.folder.name) == (bela, "Work")
    assert copy.imported_at is not None and copy.imported_from == ""
    assert Conversation.objects.get(owner=bela, title="Old").archived_at is not None
    assert not Conversation.objects.filter(owner=bela, title="Gone").exists() and Conversation.objects.filter(owner=bela).count() == 2
    assert "SECRET" not in page and not Message.objects.filter(conversation__owner=bela, text__contains="SECRET").exists()

    assert "2 conversations were skipped, because they were already imported." in upload(bela, data)
    assert Conversation.objects.filter(owner=bela).count() == 2


def document(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"title": "Talk", "created_at": None, "active_at": None, "archived_at": None, "messages": list(messages), "open": None} | more


def archive(*documents: dict[str, Any]) -> bytes:
    files = {f"talk{number}___versions__json": as_json(each) for number, each in enumerate(documents)}
    return as_zip(talk0__ocml=b"x", **files)


SAID = {"id": "a", "parent": None, "role": "user", "content": "Hello"}
UNDER = {"parent": "a", "role": "assistant"}


@pytest.mark.parametrize(
    "message",
    [
        {"channel": "analysis", "content": "SECRET"},
        {"channel": "commentary", "content": "SECRET"},
        {"channel": "final", "thinking": "SECRET", "content": "Shown"},
        {"channel": "final", "to": "functions.x", "content": "SECRET"},
        {"channel": "unheard of", "content": "SECRET"},
        {"channel": "final", "content": "SECRET", "unknown": 1},
        {"channel": ["final"], "content": "SECRET"},
        {"role": "system", "content": "SECRET"},
        {"role": "tool", "name": "x", "content": "SECRET"},
        {"tool_call": {"name": "x", "arguments": {"a": "SECRET"}}},
        {"channel": "final", "content": {"a": "SECRET"}},
    ],
    ids=str,
)
def test_what_a_forged_archive_labels_as_hidden_or_as_nothing_known_is_hidden(message: dict[str, Any], ada: User) -> None:
    page = upload(ada, archive(document(SAID, UNDER | {"id": "b"} | message)))
    row = Conversation.objects.get()
    assert Message.objects.filter(text__contains="SECRET").exists(), "the premise: it is stored, for staff"
    assert not row.messages.filter(text__contains="SECRET", is_visible=True).exists()
    client = signed_in(ada)
    pages = [page, client.get(f"/c/{row.pk}/").content.decode(), b"".join(client.get(f"/c/{row.pk}/download/")).decode()]
    assert all("Hello" in each for each in pages[1:]) and "SECRET" not in "".join(pages)


def test_a_summary_of_ours_is_one_again_and_a_forged_one_is_a_note(ada: User) -> None:
    summary = {"role": "assistant", "channel": SUMMARY.channel, "name": SUMMARY.name, "intent": SUMMARY.intent}
    ours = UNDER | summary | {"id": "b", "content": "- Collecting the main points"}
    forged = UNDER | summary | {"id": "c", "content": "- I think that the user is wrong"}
    upload(ada, archive(document(SAID, ours, UNDER | {"id": "d", "parent": "b", "channel": "final", "content": "Yes"}, forged)))
    [real, note] = Message.objects.filter(name=SUMMARY.name).order_by("position")
    assert (real.is_imported_note, note.is_imported_note) == (False, True)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (document(), "contains no message that you may see"),
        (document({"content": "no role"}), "contains no message that you may see"),
        (document(7), "contains no message that you may see"),  # type: ignore[arg-type]
        ({"messages": 3}, "could not be read"),
        (document(SAID | {"parent": "a"}), "contains no message that you may see"),
    ],
    ids=["empty", "role", "number", "other", "circle"],
)
def test_a_damaged_conversation_of_an_archive_is_counted_and_the_others_are_imported(
    changed: dict[str, Any], sentence: str, ada: User
) -> None:
    page = upload(ada, archive(changed, document(SAID)))
    assert Conversation.objects.count() == 1 and sentence in page


def test_files_of_a_conversation_are_counted_and_what_is_only_in_the_bin_is_said(ada: User) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("talk.ocml", "x")
        made.writestr("talk-versions.json", json.dumps(document(SAID)))
        made.writestr("talk/picture.png", b"x")
        made.writestr("collections/1/rules.txt", b"x")
        made.writestr("folders.json", "{")
    assert "1 attached file was left out." in upload(ada, buffer.getvalue())
    refused = upload(ada, as_zip(**{"bin/talk__ocml": b"x", "bin/talk___versions__json": as_json(document(SAID))}))
    assert "the archive has no conversation outside the bin" in refused
