"""Exports of ratings: the content of a line, who may export, what is recorded, and what is required for hidden channels."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone

from chatui.audit_log.record import SHELL, Visitor
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.message import Message
from chatui.models.ratings import Rating
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import erasure
from chatui.transfer import ratings
from chatui.transfer.ratings import ExportOptions, RatingFilters, RatingFormat
from chatui.web import ratings as pages
from chatui.web.ratings import ExportForm
from renderer.errors import Code
from renderer.frames import Header
from renderer.ocml import document
from tests.canary.planting import QUESTION, VISIBLE, Planted, append, plant
from tests.chatui.conftest import make_person, signed_in
from tests.support.canary import Canary
from tests.support.cases import for_each
from tests.support.environment import change

pytestmark = pytest.mark.django_db

ALL = RatingFilters()
REASON = "to see why it was wrong"
WHY = {"hidden": "on", "why": REASON}
SUMMARY = Header("assistant", channel="commentary", name="reasoning_summary", intent="preamble")


@pytest.fixture
def canary() -> Canary:
    return Canary()


@pytest.fixture
def exported(ada: User, canary: Canary) -> Planted:
    planted = plant(ada, canary)
    rate(planted.final, ada, reason="wrong", note="It is five.")
    return planted


@pytest.fixture
def judge(db: None) -> User:
    return make_person("judge", "export_ratings", staff=True)


@pytest.fixture
def reader(db: None) -> User:
    return make_person("reader", "export_ratings", "view_hidden_channels", "view_any_conversation", staff=True)


def rate(message: Message, person: User, verdict: str = "down", **fields: Any) -> Rating:
    return Rating.objects.create(message=message, person=person, verdict=verdict, rated_at=timezone.now(), **fields)


def another_answer(exported: Planted) -> Message:
    return append(exported.conversation, exported.question, Header("assistant", channel="final"), "Five.")


def lines_of(client: Client, **fields: str) -> list[dict[str, Any]]:
    response = client.post("/ratings/", {"format": "openchatml", **fields})
    assert response.status_code == 200 and "attachment" in response["Content-Disposition"]
    return [json.loads(line) for line in b"".join(response.streaming_content).decode().splitlines()]  # type: ignore[attr-defined]


def of(filters: RatingFilters = ALL, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ratings.export(SHELL, ExportOptions(filters, **options))]


def test_a_line_has_the_rating_and_what_its_person_saw(judge: User, exported: Planted, canary: Canary) -> None:
    thought = append(exported.conversation, exported.final.parent, SUMMARY, "It thought of five.", exported.turn)
    Message.objects.filter(pk=exported.final.pk).update(parent=thought)
    [line] = lines_of(signed_in(judge))
    frames = document.parse(line["openchatml"]).frames
    assert [frame.body for frame in frames] == [QUESTION, "Let me *look*.", VISIBLE]
    assert canary.found(json.dumps(line)) == [] and "ada" not in json.dumps(line)


def test_a_training_example_has_the_question_and_the_answer_ended_by_return(judge: User, exported: Planted, canary: Canary) -> None:
    [line] = lines_of(signed_in(judge), format="harmony")
    text = line["harmony"]
    assert text.startswith("<|start|>system<|message|>You are ChatGPT") and "Reasoning: medium" in text
    assert f"Current date: {exported.turn.started_at:%Y-%m-%d}" in text, "of the day on which the model answered"
    assert f"<|start|>user<|message|>{QUESTION}<|end|>" in text
    assert text.endswith(f"<|start|>assistant<|channel|>final<|message|>{VISIBLE}<|return|>") and text.count("<|return|>") == 1
    assert canary.found(text) == [] and "developer" not in text and "analysis<|message|>" not in text


IMPORTED = """version: "2.2"
model: what-the-file-claims
author: Ada Lovelace <ada@example.org>
capabilities:
  roles: [user, assistant]
generation_settings:
  temperature: 0.5
  account: ada-1815
"""


def test_a_line_has_no_names_from_an_imported_document(exported: Planted) -> None:
    Conversation.objects.update(document_header=IMPORTED, imported_at=timezone.now(), imported_from="ChatGPT")
    Message.objects.filter(pk=exported.question.pk).update(text=f"<|start|>user name=lovelace<|message|>{QUESTION}<|end|>")
    [hidden] = of(has_hidden=True, reason=WHY["why"])
    assert all(word in hidden["openchatml"] for word in ("Ada Lovelace", "name=lovelace", "ada-1815")), "the premise"
    [line] = of()
    text = line["openchatml"]
    assert not any(word in text for word in ("Ada", "lovelace", "ada-1815", "example.org", "what-the-file-claims"))
    found = document.parse(text)
    assert found.model == "gpt-oss-20b" and found.frames[0].body == QUESTION
    assert found.settings == {"temperature": 0.5}
    assert (found.extra["imported"], found.extra["imported_from"]) == (True, "ChatGPT") and "capabilities" in found.extra
    [example] = of(format=RatingFormat.HARMONY)
    assert "lovelace" not in example["harmony"] and QUESTION in example["harmony"]


def test_reasoning_that_was_cut_off_is_in_no_training_example(exported: Planted) -> None:
    thought = append(exported.conversation, exported.final.parent, Header("assistant", channel="analysis"), "It may be fi", exported.turn)
    Message.objects.filter(pk=exported.final.pk).update(parent=thought)
    [whole] = of(format=RatingFormat.HARMONY, has_hidden=True, reason=WHY["why"])
    assert "It may be fi" in whole["harmony"], "the premise"
    Message.objects.filter(pk=thought.pk).update(is_complete=False)
    [example] = of(format=RatingFormat.HARMONY, has_hidden=True, reason=WHY["why"])
    assert "It may be fi" not in example["harmony"] and example["harmony"].endswith("<|return|>")
    [line] = of(has_hidden=True, reason=WHY["why"])
    assert "It may be fi" in line["openchatml"], "a reviewer sees all of it"


def test_a_truncated_answer_is_exported_but_not_as_a_training_example(exported: Planted) -> None:
    Message.objects.filter(pk=exported.final.pk).update(is_complete=False)
    assert [line["is_complete"] for line in of()] == [False]
    assert of(format=RatingFormat.HARMONY) == []


def test_ratings_are_filtered_by_day_verdict_model_and_back_end(ada: User, exported: Planted) -> None:
    other = append(exported.conversation, exported.other_question, Header("assistant", channel="final"), "Yes.", exported.failed)
    Turn.objects.filter(pk=exported.failed.pk).update(model="other", choice="large/other")
    Turn.objects.filter(pk=exported.turn.pk).update(choice="small")
    late = rate(other, ada, "up")
    Rating.objects.filter(pk=late.pk).update(rated_at=timezone.now() + timedelta(days=2))
    tomorrow = timezone.now() + timedelta(days=1)

    def chosen(**filters: Any) -> list[str]:
        return [line["verdict"] for line in of(RatingFilters(**filters))]

    assert chosen() == ["down", "up"]
    assert chosen(since=tomorrow) == chosen(verdict="up") == chosen(model="other") == chosen(backend="large") == ["up"]
    assert chosen(before=tomorrow) == chosen(verdict="down") == chosen(model="gpt-oss-20b") == chosen(backend="small") == ["down"]
    assert chosen(backend="lar") == chosen(model="gpt") == []


def test_the_page_counts_what_an_export_would_have_and_shows_nothing_that_anybody_wrote(ada: User, exported: Planted, judge: User) -> None:
    Turn.objects.filter(pk=str(exported.final.turn_id)).update(model="gpt-oss-20b")
    for number, (verdict, reason) in enumerate((("up", ""), ("down", "wrong"), ("down", "long"))):
        rate(exported.final, make_person(f"rater {number}"), verdict, reason=reason, note="SECRET-NOTE")
    page = signed_in(judge).get("/ratings/").content.decode()
    assert "1 good and 3 bad." in page and "gpt-oss-20b" in page and "SECRET-NOTE" not in page and "It is five." not in page
    assert page.index("<strong>2 ×</strong> It is wrong") < page.index("<strong>1 ×</strong> It is too long")
    Rating.objects.update(rated_at=timezone.now() - timedelta(days=20))
    assert "No answer was rated in this period." in signed_in(judge).get("/ratings/", {"days": 7}).content.decode()
    assert "1 good and 3 bad." in signed_in(judge).get("/ratings/", {"days": 31}).content.decode()
    Message.objects.filter(pk=exported.final.pk).update(turn=None)
    assert ratings.sums(ALL).models == (("", 1, 3),)
    Conversation.objects.update(deleted_at=timezone.now())
    assert "Nobody has rated an answer yet." in signed_in(judge).get("/ratings/").content.decode()


def test_ratings_of_deleted_conversations_are_not_exported(ada: User, exported: Planted) -> None:
    assert len(of()) == 1
    Conversation.objects.filter(pk=exported.conversation.pk).update(deleted_at=timezone.now())
    assert of() == [] and ratings.count(RatingFilters()) == 0
    Conversation.objects.filter(pk=exported.conversation.pk).update(deleted_at=None)
    assert len(of()) == 1
    erasure.erase_conversation(exported.conversation.pk)
    assert not Rating.objects.exists()


@pytest.mark.parametrize("state", ["temporary_until", "unfinished_until"])
def test_ratings_of_temporary_and_unfinished_conversations_are_not_exported(state: str, exported: Planted) -> None:
    assert len(of()) == 1, "the premise"
    Conversation.objects.update(**{state: timezone.now() + timedelta(hours=1)})
    assert of() == [] and ratings.count(RatingFilters()) == 0


@pytest.mark.parametrize("has_hidden", [False, True])
def test_a_conversation_that_is_deleted_while_an_export_is_written_is_left_out(ada: User, exported: Planted, has_hidden: bool) -> None:
    other = plant(ada, Canary())
    rate(other.final, ada)
    lines = ratings.export(SHELL, ExportOptions(ALL, has_hidden=has_hidden, reason="to see why it was wrong"))
    next(lines)
    recorded = AuditEvent.objects.count()
    Conversation.objects.filter(pk=other.conversation.pk).update(deleted_at=timezone.now())
    assert list(lines) == [] and AuditEvent.objects.count() == recorded


def test_each_export_is_recorded_before_it_is_made(judge: User, exported: Planted) -> None:
    lines_of(signed_in(judge), verdict="down", since="2026-01-01")
    line = AuditEvent.objects.get()
    assert (line.action, line.actor, line.way, line.code) == ("ratings export", judge, "download", "")
    assert line.detail == "openchatml, 1: since 2026-01-01 00:00, verdict down"


def test_e_perm_visibility_hidden_channels_are_refused_without_the_permission(judge: User, exported: Planted, canary: Canary) -> None:
    client = signed_in(judge)
    assert 'name="hidden"' not in client.get("/ratings/").content.decode()
    refused = client.post("/ratings/", {"format": "harmony"} | WHY)
    assert refused.status_code == 403 and canary.found(refused.content.decode()) == []
    line = AuditEvent.objects.get()
    assert (line.code, line.action, line.actor) == (Code.PERM_VISIBILITY, "ratings export with hidden channels", judge)


def test_a_form_without_a_token_is_an_attempt_at_hidden_channels_as_well(judge: User, reader: User, ada: User, exported: Planted) -> None:
    for person in (judge, reader, ada):
        client = Client(enforce_csrf_checks=True)
        client.force_login(person)
        for fields in ({}, WHY):
            assert client.post("/ratings/", {"format": "openchatml"} | fields).status_code == 403
    line = AuditEvent.objects.get()
    assert (line.code, line.action, line.actor) == (Code.PERM_VISIBILITY, "ratings export with hidden channels", judge)


def test_an_export_of_hidden_channels_records_each_conversation(reader: User, exported: Planted, canary: Canary) -> None:
    assert 'name="hidden"' in signed_in(reader).get("/ratings/").content.decode()
    [line] = lines_of(signed_in(reader), format="harmony", **WHY)
    assert canary.found(line["harmony"]) and line["harmony"].endswith("<|return|>")
    whole, each = AuditEvent.objects.order_by("number")
    assert (whole.action, whole.conversation_id) == ("ratings export with hidden channels", None)
    assert (each.action, each.conversation_id, each.owner_name) == (whole.action, exported.conversation.pk, "ada")
    assert each.detail == WHY["why"] and each.actor == reader


def test_a_conversation_is_recorded_right_before_its_line_is_sent(ada: User, exported: Planted, canary: Canary) -> None:
    other = plant(ada, canary)
    rate(other.final, ada, "up")
    lines = ratings.export(SHELL, ExportOptions(RatingFilters(), has_hidden=True, reason=WHY["why"]))
    late = append(other.conversation, other.question, Header("assistant", channel="final"), "Five.", other.turn)
    rate(late, ada, "up")

    def looks() -> list[Any]:
        return [line.conversation_id for line in AuditEvent.objects.exclude(conversation_id=None).order_by("number")]

    assert AuditEvent.objects.get().detail == "openchatml, 2: all" and looks() == []
    assert json.loads(next(lines))["conversation"] == str(exported.conversation.pk) and looks() == [exported.conversation.pk]
    assert json.loads(next(lines))["conversation"] == str(other.conversation.pk)
    assert list(lines) == [], "a rating made meanwhile is in no line"
    assert looks() == [exported.conversation.pk, other.conversation.pk]


def test_a_conversation_with_several_ratings_is_recorded_once_and_its_owner_gets_one_notice(
    reader: User, ada: User, exported: Planted
) -> None:
    rate(append(exported.conversation, exported.question, Header("assistant", channel="final"), "Five.", exported.turn), ada, "up")
    assert len(lines_of(signed_in(reader), **WHY)) == 2
    assert AuditEvent.objects.exclude(conversation_id=None).count() == DebugRequest.objects.count() == 1


def test_a_rated_answer_without_a_turn_is_exported_without_a_model_and_is_no_training_example(exported: Planted) -> None:
    """The answers of an imported conversation have no turn."""
    Message.objects.filter(pk=exported.final.pk).update(turn=None)
    [line] = of()
    assert (line["model"], line["backend"], line["effort"]) == ("", "", "")
    assert document.parse(line["openchatml"]).model is None
    assert of(format=RatingFormat.HARMONY) == []


def test_a_conversation_that_cannot_be_recorded_is_not_sent(exported: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ratings.export(SHELL, ExportOptions(RatingFilters(), has_hidden=True, reason=WHY["why"]))

    def fails(*args: Any, **named: Any) -> None:
        raise DatabaseError

    monkeypatch.setattr(ratings, "record", fails)
    with pytest.raises(DatabaseError):
        next(lines)


def test_owners_get_an_access_notice(reader: User, ada: User, exported: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"tell_owners": True})
    assert "A member of staff opened" not in signed_in(ada).get(f"/c/{exported.conversation.pk}/").content.decode()
    lines_of(signed_in(reader), **WHY)
    assert "A member of staff opened" in signed_in(ada).get(f"/c/{exported.conversation.pk}/").content.decode()
    assert signed_in(reader).get(f"/c/{exported.conversation.pk}/debug/raw/").status_code == 302, "it opens no debug view"
    assert DebugRequest.objects.get().closed_at


def test_the_command_writes_a_new_file_that_only_its_owner_reads(tmp_path: Path, exported: Planted, canary: Canary) -> None:
    path, output = tmp_path / "ratings.jsonl", StringIO()
    call_command("ratings", "--format", "harmony", str(path), stderr=output)
    assert "1 of 1 ratings were written." in output.getvalue() and path.stat().st_mode & 0o777 == 0o600
    assert canary.found(path.read_text()) == []
    with pytest.raises(CommandError, match="cannot be created"):
        call_command("ratings", str(path))
    assert [line.way for line in AuditEvent.objects.all()] == ["shell"]


def test_the_command_writes_hidden_channels_for_a_reason(exported: Planted, canary: Canary) -> None:
    written = StringIO()
    with pytest.raises(CommandError, match="10 to 180"):
        call_command("ratings", "--hidden", "no", stdout=written, stderr=StringIO())
    assert not written.getvalue() and not AuditEvent.objects.exists()
    call_command("ratings", "--hidden", WHY["why"], stdout=written, stderr=StringIO())
    assert canary.found(json.loads(written.getvalue())["openchatml"])
    assert [line.detail for line in AuditEvent.objects.exclude(conversation_id=None)] == [WHY["why"]]


def options_of(fields: dict[str, str], *, may_see_hidden: bool = True) -> ExportOptions | None:
    """The options of a form with these fields; None if it is not valid."""
    form = ExportForm({"format": "openchatml", **fields}, may_see_hidden=may_see_hidden)
    return form.wanted() if form.is_valid() else None


@for_each(
    [
        ({}, RatingFilters()),
        ({"since": "2026-01-02"}, RatingFilters(since=datetime(2026, 1, 2, tzinfo=UTC))),
        ({"until": "2026-01-02"}, RatingFilters(before=datetime(2026, 1, 3, tzinfo=UTC))),
        ({"until": "9999-12-30"}, RatingFilters(before=datetime(9999, 12, 31, tzinfo=UTC))),
        ({"until": "9999-12-31"}, RatingFilters()),
        ({"model": "m", "backend": "b"}, RatingFilters(model="m", backend="b")),
    ]
)
def test_a_form_selects_whole_days_in_utc_and_the_ratings_of_a_model_and_back_end(fields: dict[str, str], expected: RatingFilters) -> None:
    assert options_of(fields) == ExportOptions(expected)


@for_each(
    [
        ({"hidden": "on", "why": f"  {REASON} "}, True, ExportOptions(RatingFilters(), has_hidden=True, reason=REASON)),
        ({"hidden": "on", "why": "x" * 180}, True, ExportOptions(RatingFilters(), has_hidden=True, reason="x" * 180)),
        ({"hidden": "on", "why": "x" * 9}, True, None),
        ({"hidden": "on", "why": "x" * 9 + " " * 5}, True, None),
        ({"hidden": "on", "why": "x" * 181}, True, None),
        ({"hidden": "on", "why": REASON}, False, ExportOptions(RatingFilters())),
        ({"format": "harmony"}, False, ExportOptions(RatingFilters(), RatingFormat.HARMONY)),
    ]
)
def test_hidden_channels_need_a_reason_and_are_not_offered_to_everybody(
    fields: dict[str, str], may_see_hidden: bool, expected: ExportOptions | None
) -> None:
    assert options_of(fields, may_see_hidden=may_see_hidden) == expected


def lines_for(person: User, filters: RatingFilters | None = None, *, has_hidden: bool = False) -> list[dict[str, Any]]:
    visitor = Visitor(person, "192.0.2.7", "download")
    options = ExportOptions(filters or RatingFilters(), has_hidden=has_hidden, reason=REASON)
    return [json.loads(line) for line in ratings.export(visitor, options)]


@pytest.mark.parametrize(("name", "hidden"), [("HIDDEN_MOST", True), ("EXPORT_MOST", False)])
def test_an_export_of_exactly_the_most_ratings_is_sent_and_a_larger_one_is_not(
    name: str, hidden: bool, reader: User, exported: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, name, 1)
    client, fields = signed_in(reader), {"format": "openchatml", "verdict": "down"} | ({"hidden": "on", "why": REASON} if hidden else {})
    rate(
        another_answer(exported),
        exported.conversation.owner,
        verdict="up",
    )
    assert client.post("/ratings/", fields).status_code == 200, "the filter counts"
    before = AuditEvent.objects.count()
    for other in ({"verdict": ""}, {"verdict": "", "since": "2026-01-01"}):
        assert client.post("/ratings/", fields | other).status_code == 400
    assert AuditEvent.objects.count() == before, "nothing was exported"
    monkeypatch.setattr(pages, name, 2)
    assert client.post("/ratings/", fields | {"verdict": ""}).status_code == 200


def test_a_line_has_these_values_and_no_others(reader: User, exported: Planted) -> None:
    Turn.objects.filter(pk=exported.turn.pk).update(choice="small/gpt-oss", effort="high")
    Rating.objects.update(reason="wrong", note="It is five.")
    [line] = lines_for(reader)
    assert line.pop("openchatml")
    assert line == {
        "verdict": "down",
        "reason": "wrong",
        "note": "It is five.",
        "rated_at": Rating.objects.get().rated_at.isoformat(timespec="seconds"),
        "conversation": str(exported.conversation.pk),
        "answer": str(exported.final.pk),
        "model": "gpt-oss-20b",
        "backend": "small",
        "effort": "high",
        "is_complete": True,
    }


def test_the_others_are_sent_when_a_rating_is_removed_during_an_export(reader: User, exported: Planted) -> None:
    last = rate(another_answer(exported), exported.conversation.owner)
    found = ratings.export(Visitor(reader, "192.0.2.7", "download"), ExportOptions(RatingFilters()))
    Rating.objects.exclude(pk=last.pk).delete()
    assert [json.loads(line)["answer"] for line in found] == [str(last.message_id)]


def test_an_earlier_answer_that_was_cut_off_is_in_a_training_example(reader: User, exported: Planted) -> None:
    Message.objects.filter(pk=exported.final.pk).update(is_complete=False)
    question = append(exported.conversation, exported.final, Header("user"), "And?")
    rate(append(exported.conversation, question, Header("assistant", channel="final"), "Five.", exported.turn), exported.conversation.owner)
    found = ratings.export(Visitor(reader, "192.0.2.7", "download"), ExportOptions(RatingFilters(), RatingFormat.HARMONY))
    [example] = [json.loads(line)["harmony"] for line in found]
    assert VISIBLE in example and example.endswith("Five.<|return|>")


def test_the_name_of_an_assistant_is_no_name_of_a_person(reader: User, exported: Planted) -> None:
    text = f"<|start|>assistant name=expert<|channel|>final<|message|>{VISIBLE}<|end|>"
    Message.objects.filter(pk=exported.final.pk).update(text=text, name="expert")
    Message.objects.filter(pk=exported.question.pk).update(text="<|start|>user name=lovelace<|message|>Why?<|end|>", name="lovelace")
    [line] = lines_for(reader)
    assert "name=expert" in line["openchatml"] and "lovelace" not in line["openchatml"]


def test_an_export_of_hidden_channels_is_stored_as_a_closed_debug_view_of_its_reader(reader: User, exported: Planted) -> None:
    lines_for(reader)
    assert not DebugRequest.objects.exists() and [line.action for line in AuditEvent.objects.all()] == ["ratings export"]
    lines_for(reader, has_hidden=True)
    view = DebugRequest.objects.get()
    assert (view.conversation, view.person, view.reason, view.minutes) == (exported.conversation, reader, REASON, 0)
    assert view.closed_at is not None and view.expires_at == view.closed_at <= timezone.now()
    assert [line.action for line in AuditEvent.objects.order_by("number")][1:] == ["ratings export with hidden channels"] * 2
