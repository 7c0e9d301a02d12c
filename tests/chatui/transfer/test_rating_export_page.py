"""The page that exports ratings: which days and ratings a form selects, how many at most, the whole of a line, and the order of lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.debug_requests import DebugRequest
from chatui.models.message import Message
from chatui.models.ratings import Rating
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.transfer import ratings as transfer_ratings
from chatui.transfer.ratings import ExportOptions, RatingFilters, RatingFormat
from chatui.web import ratings
from chatui.web.ratings import ExportForm
from renderer.frames import Header
from tests.canary.markers import Canary
from tests.canary.planting import VISIBLE, Planted, append, plant
from tests.chatui.conftest import make_person, signed_in
from tests.support.cases import for_each

WHY = "to see why it was wrong"


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
        ({"verdict": "up"}, RatingFilters(verdict="up")),
        ({"model": "m", "backend": "b"}, RatingFilters(model="m", backend="b")),
    ]
)
def test_a_form_selects_whole_days_in_utc_and_the_ratings_of_a_model_and_back_end(fields: dict[str, str], expected: RatingFilters) -> None:
    assert options_of(fields) == ExportOptions(expected)


@for_each(
    [
        ({"hidden": "on", "why": f"  {WHY} "}, True, ExportOptions(RatingFilters(), has_hidden=True, reason=WHY)),
        ({"hidden": "on", "why": "x" * 10}, True, ExportOptions(RatingFilters(), has_hidden=True, reason="x" * 10)),
        ({"hidden": "on", "why": "x" * 180}, True, ExportOptions(RatingFilters(), has_hidden=True, reason="x" * 180)),
        ({"hidden": "on", "why": "x" * 9}, True, None),
        ({"hidden": "on", "why": "x" * 9 + " " * 5}, True, None),
        ({"hidden": "on", "why": "x" * 181}, True, None),
        ({"hidden": "on"}, True, None),
        ({"why": "short"}, True, ExportOptions(RatingFilters(), reason="short")),
        ({"hidden": "on", "why": WHY}, False, ExportOptions(RatingFilters())),
        ({"format": "harmony"}, False, ExportOptions(RatingFilters(), RatingFormat.HARMONY)),
    ]
)
def test_hidden_channels_need_a_reason_and_are_not_offered_to_everybody(
    fields: dict[str, str], may_see_hidden: bool, expected: ExportOptions | None
) -> None:
    assert options_of(fields, may_see_hidden=may_see_hidden) == expected


@pytest.fixture
def exported(ada: User) -> Planted:
    planted = plant(ada, Canary())
    rate(planted, planted.final)
    return planted


@pytest.fixture
def reader(db: None) -> User:
    return make_person("reader", "export_ratings", "view_hidden_channels", "view_any_conversation", staff=True)


def rate(planted: Planted, message: Any, days_ago: int = 0, **fields: str) -> Rating:
    at = timezone.now() - timedelta(days=days_ago)
    return Rating.objects.create(message=message, person=planted.conversation.owner, rated_at=at, **{"verdict": "down"} | fields)


def lines(person: User, filters: RatingFilters | None = None, *, has_hidden: bool = False) -> list[dict[str, Any]]:
    visitor = Visitor(person, "192.0.2.7", "download")
    options = ExportOptions(filters or RatingFilters(), has_hidden=has_hidden, reason=WHY)
    return [json.loads(line) for line in transfer_ratings.export(visitor, options)]


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "hidden"), [("HIDDEN_MOST", True), ("EXPORT_MOST", False)])
def test_an_export_of_exactly_the_most_ratings_is_sent_and_a_larger_one_is_not(
    name: str, hidden: bool, reader: User, exported: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ratings, name, 1)
    client, fields = signed_in(reader), {"format": "openchatml", "verdict": "down"} | ({"hidden": "on", "why": WHY} if hidden else {})
    rate(exported, append(exported.conversation, exported.question, Header("assistant", channel="final"), "Five."), verdict="up")
    assert client.post("/ratings/", fields).status_code == 200, "the filter counts"
    before = AuditEvent.objects.count()
    for other in ({"verdict": ""}, {"verdict": "", "since": "2026-01-01"}):
        assert client.post("/ratings/", fields | other).status_code == 400
    assert AuditEvent.objects.count() == before, "nothing was exported"
    monkeypatch.setattr(ratings, name, 2)
    assert client.post("/ratings/", fields | {"verdict": ""}).status_code == 200


@pytest.mark.django_db
def test_the_file_is_named_by_its_day_and_format(reader: User, exported: Planted) -> None:
    response = signed_in(reader).post("/ratings/", {"format": "harmony"})
    assert response["Content-Disposition"] == f'attachment; filename="ratings-{timezone.now():%Y-%m-%d}.harmony.jsonl"'
    assert response["Content-Type"] == "application/jsonl; charset=utf-8"


@pytest.mark.django_db
def test_a_line_has_these_values_and_no_others(reader: User, exported: Planted) -> None:
    Turn.objects.filter(pk=exported.turn.pk).update(choice="small/gpt-oss", effort="high")
    Rating.objects.update(reason="wrong", note="It is five.")
    [line] = lines(reader)
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


@pytest.mark.django_db
def test_the_others_are_sent_when_a_rating_is_removed_during_an_export(reader: User, exported: Planted) -> None:
    last = rate(exported, append(exported.conversation, exported.question, Header("assistant", channel="final"), "Five."))
    found = transfer_ratings.export(Visitor(reader, "192.0.2.7", "download"), ExportOptions(RatingFilters()))
    Rating.objects.exclude(pk=last.pk).delete()
    assert [json.loads(line)["answer"] for line in found] == [str(last.message_id)]


@pytest.mark.django_db
def test_an_earlier_answer_that_was_cut_off_is_in_a_training_example(reader: User, exported: Planted) -> None:
    Message.objects.filter(pk=exported.final.pk).update(is_complete=False)
    question = append(exported.conversation, exported.final, Header("user"), "And?")
    rate(exported, append(exported.conversation, question, Header("assistant", channel="final"), "Five.", exported.turn))
    found = transfer_ratings.export(Visitor(reader, "192.0.2.7", "download"), ExportOptions(RatingFilters(), RatingFormat.HARMONY))
    [example] = [json.loads(line)["harmony"] for line in found]
    assert VISIBLE in example and example.endswith("Five.<|return|>")


@pytest.mark.django_db
def test_the_name_of_an_assistant_is_no_name_of_a_person(reader: User, exported: Planted) -> None:
    text = f"<|start|>assistant name=expert<|channel|>final<|message|>{VISIBLE}<|end|>"
    Message.objects.filter(pk=exported.final.pk).update(text=text, name="expert")
    Message.objects.filter(pk=exported.question.pk).update(text="<|start|>user name=lovelace<|message|>Why?<|end|>", name="lovelace")
    [line] = lines(reader)
    assert "name=expert" in line["openchatml"] and "lovelace" not in line["openchatml"]


@pytest.mark.django_db
def test_a_summary_of_the_reasoning_is_exported_with_hidden_channels_only(reader: User, exported: Planted) -> None:
    header = Header("assistant", channel="commentary", name="reasoning_summary", intent="preamble")
    summary = append(exported.conversation, exported.final.parent, header, "It thought of five.", exported.turn)
    Message.objects.filter(pk=exported.final.pk).update(parent=summary)
    for has_hidden in (False, True):
        [line] = lines(reader, has_hidden=has_hidden)
        assert ("It thought of five." in line["openchatml"]) == has_hidden


@pytest.mark.django_db
def test_an_export_of_hidden_channels_is_stored_as_a_closed_debug_view_of_its_reader(reader: User, exported: Planted) -> None:
    lines(reader)
    assert not DebugRequest.objects.exists() and [line.action for line in AuditEvent.objects.all()] == ["ratings export"]
    lines(reader, has_hidden=True)
    view = DebugRequest.objects.get()
    assert (view.conversation, view.person, view.reason, view.minutes) == (exported.conversation, reader, WHY, 0)
    assert view.closed_at is not None and view.expires_at == view.closed_at <= timezone.now()
    assert [line.action for line in AuditEvent.objects.order_by("number")][1:] == ["ratings export with hidden channels"] * 2
