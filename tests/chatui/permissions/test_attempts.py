"""Attempts to see hidden channels: strangers cannot flood the log, and staff are warned of people who keep trying."""

import logging
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone

from chatui.audit_log import chain
from chatui.audit_log.record import RequestCause, Visitor
from chatui.audit_log.repeated_action import WINDOW_SECONDS
from chatui.limits import Throttle
from chatui.models.audit import AttemptWarning, AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access, attempts
from chatui.store import erasure
from tests.chatui.conftest import signed_in
from tests.support.environment import change
from tests.support.html_text import collapsed

pytestmark = pytest.mark.django_db


def attempt(person: User | None, conversation_id: UUID, address: str = "192.0.2.7") -> None:
    with pytest.raises(access.HiddenViewRefusedError):
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


def test_a_stranger_does_not_learn_whether_a_conversation_exists(conversation: Conversation) -> None:
    there, nothing = (Client().get(f"/c/{key}/debug/") for key in (conversation.pk, uuid4()))
    assert there.status_code == nothing.status_code == 302 and there.content == nothing.content


def test_a_strangers_attempts_are_listed_up_to_a_limit_and_one_line_says_so(conversation: Conversation) -> None:
    for _ in range(attempts.LISTED_PER_HOUR + 30):
        attempt(None, conversation.pk)
    lines = list(AuditEvent.objects.order_by("number").values_list("detail", flat=True))
    assert lines == [""] * attempts.LISTED_PER_HOUR + [attempts.NOT_LISTED]
    attempt(None, conversation.pk, "192.0.2.8")
    assert AuditEvent.objects.filter(address="192.0.2.8", detail="").count() == 1, "another address is listed"


def test_an_ipv6_network_counts_as_one_stranger(conversation: Conversation) -> None:
    for number in range(attempts.LISTED_PER_HOUR + 30):
        attempt(None, conversation.pk, f"2001:db8:0:1::{number + 1:x}")
    assert AuditEvent.objects.count() == attempts.LISTED_PER_HOUR + 1
    attempt(None, conversation.pk, "2001:db8:0:2::1")
    assert AuditEvent.objects.count() == attempts.LISTED_PER_HOUR + 2


def test_many_addresses_together_cannot_flood_the_log_either(conversation: Conversation) -> None:
    in_total = attempts.LISTED_PER_HOUR_TOTAL
    Throttle("all-lines:stranger", in_total, WINDOW_SECONDS).count(amount=in_total - 40)
    for number in range(60):
        attempt(None, conversation.pk, f"192.0.2.{number}")
    lines = list(AuditEvent.objects.order_by("number").values_list("detail", flat=True))
    assert lines == [""] * 40 + [attempts.NOT_LISTED]


def lines() -> list[tuple[str, str, str]]:
    return list(AuditEvent.objects.order_by("number").values_list("actor_name", "owner_name", "detail"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Lets time pass."""
    passed = [timezone.now()]
    monkeypatch.setattr(timezone, "now", lambda: passed[0])

    def wait(time: timedelta) -> None:
        passed[0] += time

    return wait


def test_a_persons_first_attempt_gets_a_line_at_once_and_repetitions_one_more(
    bela: User, conversation: Conversation, clock: Callable[[timedelta], None]
) -> None:
    for number in range(60):
        attempt(bela, conversation.pk, f"192.0.2.{number % 3}")
        assert lines() == [("bela", "ada", "")], "the owner's name is in it"
        clock(timedelta(seconds=10))
    assert attempts.attempts_of(bela) == 60, "none is lost while no line says so"
    last = timezone.now() - timedelta(seconds=10)
    clock(timedelta(hours=1))
    attempt(bela, conversation.pk)
    assert lines()[1:] == [("bela", "ada", f"after line 1: 59 more; from 3 networks; last {last:%Y-%m-%d %H:%M:%S}"), ("bela", "ada", "")]
    summed = AuditEvent.objects.get(number=2)
    assert (summed.code, summed.action, summed.way, summed.conversation_id) == ("E-PERM-VISIBILITY", "debug page", "page", conversation.pk)
    assert attempts.attempts_of(bela) == 61 and chain.verify().is_intact


def test_an_attempt_without_repetitions_gets_no_second_line(
    bela: User, sam: User, conversation: Conversation, clock: Callable[[timedelta], None]
) -> None:
    attempt(bela, conversation.pk)
    clock(timedelta(hours=2))
    attempt(sam, conversation.pk)
    assert [name for name, _, _ in lines()] == ["bela", "sam"]
    assert CountedLine.objects.count() == 1, "nothing is stored of what has ended"


def test_attempts_where_nothing_is_to_be_seen_get_a_line_each_up_to_a_limit(
    bela: User, sam: User, conversation: Conversation, clock: Callable[[timedelta], None]
) -> None:
    attempt(bela, conversation.pk)
    clock(timedelta(hours=2))
    for number in range(60):
        attempt(bela, conversation.pk if number == attempts.LISTED_OF_PERSON else uuid4())
    details = [detail for _, _, detail in lines()][1:]
    assert details == [""] * attempts.LISTED_OF_PERSON + [attempts.ONLY_COUNTED]
    assert attempts.attempts_of(bela) == 61
    attempt(sam, conversation.pk)
    assert lines()[-1] == ("sam", "ada", ""), "one person does not use up another one's lines"
    moment = timezone.now()
    clock(timedelta(hours=2))
    attempt(sam, conversation.pk)
    assert lines()[-2] == ("bela", "", f"after line 22: 39 more on other conversations; last {moment:%Y-%m-%d %H:%M:%S}")
    assert lines()[21] == ("bela", "ada", attempts.ONLY_COUNTED), "the premise: the first of these was on Ada's conversation"
    assert AuditEvent.objects.get(number=24).conversation_id is None, "and nobody takes the others for attempts on it"
    assert attempts.attempts_of(bela) == 61


@pytest.mark.parametrize("cause", [RequestCause.PERSON, RequestCause.LINK])
def test_nobody_hides_what_they_try_behind_other_attempts(cause: RequestCause, ada: User, bela: User, conversation: Conversation) -> None:
    def tries(target: UUID, action: str) -> None:
        with pytest.raises(access.HiddenViewRefusedError):
            access.view_hidden(Visitor(bela, "192.0.2.7", "page", cause), target, action=action)

    for _ in range(3 * attempts.LISTED_OF_PERSON):
        tries(uuid4(), "debug page")
    assert AuditEvent.objects.count() == attempts.LISTED_OF_PERSON + 1, "the premise: they have used up their lines"
    other = Conversation.objects.create(owner=ada)
    tried = [(row.pk, action) for row in (conversation, other) for action in ("debug page", "whole download")]
    for target, action in tried * 3:
        tries(target, action)
    nothing = uuid4()
    for _ in range(3):
        tries(nothing, "debug raw text")
    recorded = AuditEvent.objects.order_by("number").values_list("conversation_id", "action")[attempts.LISTED_OF_PERSON + 1 :]
    assert list(recorded) == [*tried, (nothing, "debug raw text")], "each action and each conversation, once"


def test_a_flood_of_attempts_on_conversations_that_exist_writes_their_lines_only_once(
    bela: User, conversation: Conversation, clock: Callable[[timedelta], None]
) -> None:
    rows = Conversation.objects.bulk_create(Conversation(owner=bela) for _ in range(2 * attempts.LISTED_OF_PERSON))
    for _ in range(2):
        for row in rows:
            attempt(bela, row.pk)
    assert AuditEvent.objects.count() == len(rows)
    clock(timedelta(hours=2))
    for row in rows:
        attempt(bela, row.pk)
    fresh = AuditEvent.objects.exclude(detail__startswith="after line").values_list("detail", flat=True)[: attempts.LISTED_OF_PERSON + 1]
    assert list(fresh) == [attempts.ONLY_COUNTED] + [""] * attempts.LISTED_OF_PERSON, "an hour later only as many as for anything"
    assert attempts.attempts_of(bela) == 3 * len(rows)


def test_a_repeated_attempt_after_the_conversation_was_erased_is_still_counted(bela: User, conversation: Conversation) -> None:
    key = conversation.pk
    attempt(bela, key)
    erasure.erase_conversation(key)
    attempt(bela, key)
    assert lines() == [("bela", "ada", "")] and attempts.attempts_of(bela) == 2, "a new line would say that it is gone"


@pytest.mark.slow
def test_no_mixture_of_attempts_gets_more_lines(bela: User, conversation: Conversation, clock: Callable[[timedelta], None]) -> None:
    ways, actions = ("page", "socket", "download"), range(7)
    for number in range(300):
        visitor = Visitor(bela, "192.0.2.7", ways[number % 3])
        with pytest.raises(access.HiddenViewRefusedError):
            access.view_hidden(visitor, conversation.pk if number % 2 else uuid4(), action=f"debug {number % 7}")
        clock(timedelta(seconds=12))
    # In an hour, and those that started in the hour before. Each kind of attempt has a line for those that are only counted, and one on
    # the conversation.
    kinds = len(ways) * len(actions)
    most = 2 * (attempts.LISTED_OF_PERSON + kinds) + kinds
    assert AuditEvent.objects.filter(detail__startswith="after line").count() < most
    assert AuditEvent.objects.exclude(detail__startswith="after line").count() <= most
    assert attempts.attempts_of(bela) == 300


def test_the_owners_name_outlives_the_conversation_in_the_sum_line_too(
    bela: User, conversation: Conversation, clock: Callable[[timedelta], None]
) -> None:
    for _ in range(3):
        attempt(bela, conversation.pk)
    key = conversation.pk
    erasure.erase_conversation(key)
    clock(timedelta(hours=2))
    attempt(bela, key)
    assert [(name, owner) for name, owner, _ in lines()] == [("bela", "ada"), ("bela", "ada"), ("bela", "")]
    assert {line.conversation_id for line in AuditEvent.objects.all()} == {key}


def test_attempts_caused_by_another_site_are_recorded_as_such_without_a_warning(bela: User, conversation: Conversation) -> None:
    cause = RequestCause.LINK
    for _ in range(3 * attempts.LISTED_OF_PERSON):
        with pytest.raises(access.HiddenViewRefusedError):
            access.view_hidden(Visitor(bela, "192.0.2.7", "page", cause), uuid4(), action="debug page")
    assert AuditEvent.objects.count() == attempts.LISTED_OF_PERSON + 1
    assert set(AuditEvent.objects.values_list("code", "way")) == {("E-PERM-VISIBILITY", cause.value)}
    assert attempts.unacknowledged() == [] and attempts.attempts_of(bela) == 0
    for _ in range(5):
        attempt(bela, conversation.pk)
    assert AuditEvent.objects.filter(way="page").count() == 1, "their own attempts still have separate lines"
    assert [warned.attempts for warned in attempts.unacknowledged()] == [5]


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
    assert (warned.person_name, warned.attempts, warned.day) == ("bela", 7, timezone.now().date())
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "'bela' made 5 attempts within 24 hours" in record.getMessage()
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


def test_the_number_is_a_setting(bela: User, conversation: Conversation, set_up: Callable[..., None]) -> None:
    set_up(alert_attempts=2)
    attempt(bela, conversation.pk)
    assert attempts.unacknowledged() == []
    attempt(bela, conversation.pk)
    assert len(attempts.unacknowledged()) == 1


def test_a_limit_of_zero_disables_warnings(bela: User, conversation: Conversation, set_up: Callable[..., None]) -> None:
    set_up(alert_attempts=0)
    for _ in range(10):
        attempt(bela, conversation.pk)
    assert not AttemptWarning.objects.exists()


def test_strangers_cause_no_warning(conversation: Conversation) -> None:
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
    assert "tried to open hidden channels without permission 5 times" in collapsed(signed_in(grace).get("/audit/").content.decode())
    for person in (sam, bela):
        page = signed_in(person).get("/").content.decode()
        assert "badge" not in page and "/audit/" not in page


def test_a_warning_is_acknowledged_once_and_that_is_recorded(grace: User, bela: User, conversation: Conversation) -> None:
    for _ in range(5):
        attempt(bela, conversation.pk)
    (warned,) = attempts.unacknowledged()
    client = signed_in(grace)
    for _ in range(2):
        assert client.post(f"/audit/warnings/{warned.id}/acknowledge/")["Location"].startswith("/audit/?done=")
    assert attempts.unacknowledged() == []
    line = AuditEvent.objects.get(action="acknowledge warning")
    assert (line.actor, line.owner_name, line.code) == (grace, "bela", "")
    row = AttemptWarning.objects.get()
    assert row.acknowledged_by == "grace" and row.acknowledged_at is not None
    attempt(bela, conversation.pk)
    assert attempts.unacknowledged() == [], "once per person and day"


def test_what_was_attempted_in_another_way_is_another_attempt(bela: User, conversation: Conversation) -> None:
    """Somebody who has tried a page, and now tries a download or a stream, is not only counted."""
    tried = [("page", "debug page"), ("page", "debug raw frame"), ("download", "whole download"), ("socket", "debug page")]
    for way, action in tried * 2:
        with pytest.raises(access.HiddenViewRefusedError):
            access.view_hidden(Visitor(bela, "192.0.2.7", way), conversation.pk, action=action)
    assert list(AuditEvent.objects.order_by("number").values_list("way", "action")) == tried
    assert attempts.attempts_of(bela) == 2 * len(tried)


def test_only_the_warning_that_was_named_is_acknowledged(bela: User, sam: User, grace: User, conversation: Conversation) -> None:
    for person in (bela, sam):
        for _ in range(5):
            attempt(person, conversation.pk)
    first, second = attempts.unacknowledged()
    attempts.acknowledge(Visitor(grace, "192.0.2.7", "page"), first.id)
    assert [warning.person_name for warning in attempts.unacknowledged()] == [second.person_name]
    assert AuditEvent.objects.get(action="acknowledge warning").owner_name == first.person_name
