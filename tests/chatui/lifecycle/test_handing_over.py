"""Transferred conversations: files are transferred with few queries, and summaries only if the heir may see any."""

import json
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPart, DocumentText, FileContent, FilePiece, FileSource, StoredFile
from chatui.models.message import Author, Message
from chatui.models.tools import CardKind, Decision, ToolApproval
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import shares
from chatui.store import files as store_files
from chatui.store import ownership_transfer
from renderer.activities.activity import Activity
from renderer.activities.frame import frame_of
from tests.chatui.conftest import signed_in
from tests.chatui.store.long_conversations import long_conversation
from tests.chatui.store.test_many_files import fill
from tests.support.environment import change
from tests.support.mcp_forms import asked
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db

STEP = "Planning the steps"
LINES = (Activity("steps"),)


def summed_up(owner: User) -> Conversation:
    """A conversation whose last turn has a line of a summary."""
    row = long_conversation(owner, 2)
    last = Message.objects.filter(conversation=row).exclude(turn=None).order_by("position").last()
    assert last is not None and last.turn is not None
    type(last.turn).objects.filter(pk=last.turn.pk).update(thought_seconds=12)
    summary = add_message(row, last, frame_of(LINES), Author.PRODUCT, turn_id=last.turn.pk, activities=LINES)
    open_branch(row, owner, summary)
    return row


def handed_over(person: User, heir: User) -> None:
    ownership_transfer.transfer(person, heir, with_summaries=shares.may_have_summaries(heir))


def readable_pages(person: User, key: UUID) -> list[str]:
    """Every way in which a person reads a conversation."""
    client = signed_in(person)
    paths = (f"/c/{key}/", f"/c/{key}/download/", f"/c/{key}/download/?format=openchatml", "/download/")
    answers = [client.get(path) for path in paths]
    assert answers[0].status_code == answers[1].status_code == 200
    return [b"".join(answer).decode(errors="replace") for answer in answers]


def test_an_heir_without_summaries_reads_none_of_the_former_owners(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = summed_up(ada)
    change(monkeypatch, {"summary_groups": ["summed"]})
    ada.groups.add(Group.objects.create(name="summed"))
    assert any(STEP in text for text in readable_pages(ada, row.pk)), "the premise: its owner reads it"
    handed_over(ada, bela)
    assert not any(STEP in text for text in readable_pages(bela, row.pk))
    summary = Message.objects.get(conversation=row, name="reasoning_summary")
    assert STEP in summary.text and not summary.is_visible, "staff with the permission still find it"
    assert "Thought for 12" in readable_pages(bela, row.pk)[0]


def test_an_heir_is_shown_nothing_that_a_tool_said_to_the_former_owner_alone_or_was_told_by_them(ada: User, bela: User) -> None:
    row = long_conversation(ada, 2)
    turn = Turn.objects.filter(conversation=row).latest("pk")
    form = asked("FOR-ADA: where to?", {"type": "object", "properties": {"city": {"type": "string"}}})
    cards = [
        (CardKind.TEXT, Decision.NONE, json.dumps({"text": "FOR-ADA: your number is 12"}), ""),
        (CardKind.FORM, Decision.ANSWERED, form.model_dump_json(), json.dumps({"city": "FOR-ADA"})),
        (CardKind.CALL, Decision.ONCE, json.dumps({"note": "FOR-ADA"}), ""),
        (CardKind.ACCOUNT, Decision.NONE, json.dumps({"server": "FOR-ADA"}), ""),
    ]
    for kind, decision, arguments, answer in cards:
        about = {"kind": kind, "decision": decision, "arguments": arguments, "answer": answer}
        ToolApproval.objects.create(turn=turn, call_id=kind, title="tickets", lapses_at=timezone.now(), **about)

    def pages(person: User) -> list[str]:
        return [*readable_pages(person, row.pk), signed_in(person).get(f"/c/{row.pk}/turns/{turn.pk}/calls/").content.decode()]

    assert pages(ada)[-1].count("FOR-ADA") >= len(cards), "the premise: its owner is shown it"
    handed_over(ada, bela)
    assert not any("FOR-ADA" in text for text in pages(bela))
    assert not any("You allowed" in text or "You sent" in text for text in pages(bela)), "they did not"
    kept = ToolApproval.objects.filter(turn=turn).values_list("kind", "decision")
    assert set(kept) == {(kind, decision) for kind, decision, *_ in cards}, "staff still see what was decided"


@pytest.mark.parametrize("is_for_all", [True, False])
def test_an_heir_who_gets_summaries_reads_them(is_for_all: bool, ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = summed_up(ada)
    if not is_for_all:
        change(monkeypatch, {"summary_groups": ["summed"]})
        bela.groups.add(Group.objects.create(name="summed"))
    handed_over(ada, bela)
    assert STEP in readable_pages(bela, row.pk)[0]


def with_files(owner: User, count: int, *, stored_elsewhere: bool) -> Conversation:
    """Files in one conversation, each with what was read of it. ``stored_elsewhere``: the person has each outside of it as well."""
    row = Conversation.objects.create(owner=owner, title="With files")
    fill(row, count)
    contents = list(FileContent.objects.filter(owner=owner).order_by("pk"))
    DocumentPart.objects.bulk_create(DocumentPart(content=each, number=1, text=f"Words of {each.sha256}") for each in contents)
    if stored_elsewhere:
        StoredFile.objects.bulk_create(
            StoredFile(owner=owner, content=each, name="waits.txt", source=FileSource.PERSON) for each in contents
        )
    return row


@pytest.mark.slow
@pytest.mark.parametrize("stored_elsewhere", [True, False])
def test_many_files_are_handed_over_with_as_many_statements_as_a_few(stored_elsewhere: bool) -> None:
    counts: list[int] = []
    for count in (2, 3, 60):
        person, heir = (User.objects.create_user(f"{name}{count}") for name in ("person", "heir"))
        row = with_files(person, count, stored_elsewhere=stored_elsewhere)
        with CaptureQueriesContext(connection) as statements:
            assert ownership_transfer.transfer(person, heir, with_summaries=True) == 1
        counts.append(len(statements))
        files = StoredFile.objects.filter(conversation=row).select_related("content").order_by("name")
        assert {file.owner for file in files} == {file.content.owner for file in files} == {heir} and len(files) == count
        assert [store_files.data_of(file) for file in files] == [b"%06d" % int(file.name.removesuffix(".txt")) for file in files]
        parts = dict(DocumentPart.objects.filter(content__owner=heir).values_list("content__sha256", "text"))
        assert parts == {file.content.sha256: f"Words of {file.content.sha256}" for file in files}
        assert DocumentText.objects.filter(content__owner=heir, state="read").count() == count
        stay = count if stored_elsewhere else 0
        assert FilePiece.objects.filter(content__owner=person).count() == DocumentText.objects.filter(content__owner=person).count() == stay
    assert counts[1] == counts[2], counts


def test_a_content_that_the_heir_already_has_is_stored_once(ada: User, bela: User) -> None:
    adas, belas = with_files(bela, 3, stored_elsewhere=False), with_files(ada, 5, stored_elsewhere=False)
    ownership_transfer.transfer(ada, bela, with_summaries=True)
    assert FileContent.objects.filter(owner=bela).count() == DocumentText.objects.filter(content__owner=bela).count() == 5
    assert DocumentPart.objects.filter(content__owner=bela).count() == 5
    shared = StoredFile.objects.filter(conversation=belas, content__in=StoredFile.objects.filter(conversation=adas).values("content"))
    assert shared.count() == 3
