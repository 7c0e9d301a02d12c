"""Attempts at hidden channels: strangers cannot flood the log, and staff hear of a person who goes on trying."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models import AttemptWarning, AuditEvent, Conversation, User
from chatui.permissions import access, attempts
from tests.chatui.conftest import signed_in
from tests.support.environment import change
from tests.support.html_text import lean

pytestmark = pytest.mark.django_db


def attempt(person: User | None, conversation_id: UUID, address: str = "192.0.2.7") -> None:
    with pytest.raises(access.RefusedError):
        access.view_hidden(Visitor(person, address, "page"), conversation_id, action="debug page")


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Other settings than the default ones."""
    return lambda **values: change(monkeypatch, values)


def test_a_stranger_is_sent_to_the_sign_in_and_the_attempt_is_recorded(conversation: Conversation) -> None:
    for place in ("debug/", "download/whole/"):
        response = Client(REMOTE_ADDR="192.0.2.9").get(f"/c/{conversation.pk}/{place}")
        assert response.status_code == 302 and response["Location"].startswith("/sign-in/?next=/c/")
        line = AuditEvent.objects.order_by("-number")[0]
        assert (line.code, line.actor, line.actor_name, line.address, line.conversation_id) == (
            "E-PERM-VISIBILITY",
            None,
            "",
            "192.0.2.9",
            conversation.pk,
        )
    assert AuditEvent.objects.count() == 2


def test_a_stranger_learns_nothing_of_whether_there_is_such_a_conversation(conversation: Conversation) -> None:
    there, nothing = (Client().get(f"/c/{key}/debug/") for key in (conversation.pk, uuid4()))
    assert there.status_code == nothing.status_code == 302 and there.content == nothing.content


def test_a_strangers_attempts_are_listed_up_to_a_number_and_then_one_line_says_that_the_rest_is_not(conversation: Conversation) -> None:
    for _ in range(attempts.LISTED_PER_HOUR + 30):
        attempt(None, conversation.pk)
    lines = list(AuditEvent.objects.order_by("number").values_list("detail", flat=True))
    assert lines == [""] * attempts.LISTED_PER_HOUR + [attempts.NOT_LISTED]
    attempt(None, conversation.pk, "192.0.2.8")
    assert AuditEvent.objects.filter(address="192.0.2.8", detail="").count() == 1, "another address is listed"


def test_a_network_of_ipv6_addresses_is_one_stranger(conversation: Conversation) -> None:
    for number in range(attempts.LISTED_PER_HOUR + 30):
        attempt(None, conversation.pk, f"2001:db8:0:1::{number + 1:x}")
    assert AuditEvent.objects.count() == attempts.LISTED_PER_HOUR + 1
    attempt(None, conversation.pk, "2001:db8:0:2::1")
    assert AuditEvent.objects.count() == attempts.LISTED_PER_HOUR + 2


def test_many_addresses_together_do_not_flood_the_log_either(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LISTED_PER_HOUR_IN_ALL", 40)
    for number in range(60):
        attempt(None, conversation.pk, f"192.0.2.{number}")
    lines = list(AuditEvent.objects.order_by("number").values_list("detail", flat=True))
    assert lines == [""] * 40 + [attempts.NOT_LISTED]


def test_a_person_who_signed_in_is_always_recorded(bela: User, conversation: Conversation) -> None:
    for _ in range(attempts.LISTED_PER_HOUR + 10):
        attempt(bela, conversation.pk)
    assert AuditEvent.objects.count() == attempts.LISTED_PER_HOUR + 10


def test_staff_are_warned_once_per_person_and_day(
    bela: User, sam: User, conversation: Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "chatui.permissions.attempts"):
        for _ in range(4):
            attempt(bela, conversation.pk)
        attempt(sam, conversation.pk)
        assert attempts.unacknowledged() == [] and not caplog.records
        for _ in range(3):
            attempt(bela, conversation.pk)
    (warned,) = attempts.unacknowledged()
    assert (warned.person, warned.attempts, warned.day) == ("bela", 7, timezone.now().date())
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "'bela' asked 5 times within 24 hours" in record.getMessage()
    assert str(conversation.pk) not in record.getMessage() and "Ada" not in record.getMessage()


def test_attempts_of_another_day_do_not_count(bela: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    two_days_ago = timezone.now() - timedelta(days=2)
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", lambda: two_days_ago)
        for _ in range(4):
            attempt(bela, conversation.pk)
    for _ in range(4):
        attempt(bela, conversation.pk)
    assert attempts.unacknowledged() == []
    attempt(bela, conversation.pk)
    assert [warned.attempts for warned in attempts.unacknowledged()] == [5]


def test_the_number_and_the_hours_are_settings(bela: User, conversation: Conversation, set_up: Callable[..., None]) -> None:
    set_up(alert_attempts=2)
    attempt(bela, conversation.pk)
    assert attempts.unacknowledged() == []
    attempt(bela, conversation.pk)
    assert len(attempts.unacknowledged()) == 1


def test_a_number_of_zero_warns_of_nobody(bela: User, conversation: Conversation, set_up: Callable[..., None]) -> None:
    set_up(alert_attempts=0)
    for _ in range(10):
        attempt(bela, conversation.pk)
    assert not AttemptWarning.objects.exists()


def test_strangers_raise_no_warning(conversation: Conversation) -> None:
    for _ in range(10):
        attempt(None, conversation.pk)
    assert not AttemptWarning.objects.exists()


def test_staff_with_the_permission_see_the_warning_and_a_badge_and_others_do_not(
    grace: User, sam: User, bela: User, conversation: Conversation
) -> None:
    for _ in range(5):
        attempt(bela, conversation.pk)
    page = signed_in(grace).get("/").content.decode()
    assert "Account: grace, 1 warning" in page and 'class="badge"' in page
    assert "asked for hidden channels without the permission 5 times" in lean(signed_in(grace).get("/audit/").content.decode())
    for person in (sam, bela):
        page = signed_in(person).get("/").content.decode()
        assert "badge" not in page and "/audit/" not in page


def test_a_warning_is_acknowledged_once_and_that_is_recorded(grace: User, bela: User, conversation: Conversation) -> None:
    for _ in range(5):
        attempt(bela, conversation.pk)
    (warned,) = attempts.unacknowledged()
    client = signed_in(grace)
    for _ in range(2):
        assert client.post(f"/audit/warnings/{warned.id}/acknowledge/")["Location"] == "/audit/"
    assert attempts.unacknowledged() == []
    line = AuditEvent.objects.get(action="acknowledge warning")
    assert (line.actor, line.owner_name, line.code) == (grace, "bela", "")
    row = AttemptWarning.objects.get()
    assert row.acknowledged_by == "grace" and row.acknowledged_at is not None
    attempt(bela, conversation.pk)
    assert attempts.unacknowledged() == [], "once per person and day"


def test_nobody_without_the_permission_acknowledges_a_warning(sam: User, bela: User, conversation: Conversation) -> None:
    for _ in range(5):
        attempt(bela, conversation.pk)
    (warned,) = attempts.unacknowledged()
    for person in (sam, bela):
        assert signed_in(person).post(f"/audit/warnings/{warned.id}/acknowledge/").status_code == 404
    assert len(attempts.unacknowledged()) == 1
