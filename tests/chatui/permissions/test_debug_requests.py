"""Opening a debug view needs a reason, a duration and, if the operator wants it, another person, who can decide once and in time."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
import pytest_django
from django.contrib.auth.models import Group, Permission
from django.db.models import QuerySet
from django.utils import timezone

from chatui.accounts import groups, people, provider_groups
from chatui.accounts.sign_in_settings import Provider
from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import User
from chatui.permissions import access, debug_requests
from chatui.permissions.access import HiddenViewRefusedError, NotFoundError, OptInNeededError
from chatui.permissions.debug_requests import ReasonNeededError
from tests.chatui.conftest import make_person, refuse_log, visitor

pytestmark = pytest.mark.django_db

REASON = "a fault was reported"


def set_environment(settings: pytest_django.Settings, **values: object) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update=values)


@pytest.fixture
def approval(settings: pytest_django.Settings) -> None:
    """Views wait for a second person."""
    set_environment(settings, debug_approval=True)


@pytest.fixture
def debug_request(approval: None, grace: User, conversation: Conversation) -> DebugRequest:
    """Grace's request to look at ada's conversation, which waits for a second person."""
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 60)
    return DebugRequest.objects.get()


def lines() -> list[tuple[str, str, str, str]]:
    return [(line.action, line.code, line.actor_name, line.detail) for line in AuditEvent.objects.order_by("number")]


def can_look(person: User, conversation: Conversation) -> bool:
    try:
        access.view_hidden(visitor(person), conversation.pk, action="debug page")
    except OptInNeededError:
        return False
    return True


def root() -> Visitor:
    """Staff who may change everything."""
    found: User | None = User.objects.filter(username="root").first()
    return visitor(found or User.objects.create_superuser("root", is_staff=True))


def rights_of(person: User, *, may: bool) -> None:
    """By staff, in Administration."""
    people.set_rights(root(), person.pk, person.groups.values_list("pk", flat=True), is_staff=may)


def member_of(person: User, *, may: bool) -> None:
    people.set_member(root(), person.pk, Group.objects.get(name="debuggers"), is_in=may)


def rights_of_group(_person: User, *, may: bool) -> None:
    groups.change(root(), Group.objects.get(name="debuggers").pk, "debuggers", list(_debug_permissions()) if may else [])


def group_itself(person: User, *, may: bool) -> None:
    if may:
        Group.objects.create(name="debuggers").permissions.set(_debug_permissions())
        person.groups.add(Group.objects.get(name="debuggers"))
    else:
        groups.delete(root(), Group.objects.get(name="debuggers").pk)


def by_provider(person: User, *, may: bool) -> None:
    issuer = Provider.model_construct(key="x", issuer="https://x.example", staff=("admins",), groups={}, name="", client_id="")
    provider_groups.set_groups(visitor(None), person, issuer, frozenset({"admins"}) if may else frozenset())


def in_the_database(person: User, *, may: bool) -> None:
    """As an operator does in a shell: the product notices at the next access that is refused."""
    User.objects.filter(pk=person.pk).update(is_staff=may)
    if not may:
        for way in ("page", "socket"):
            with pytest.raises(HiddenViewRefusedError):
                access.view_hidden(visitor(User.objects.get(pk=person.pk), way), Conversation.objects.get().pk, action="debug page")


def _debug_permissions() -> QuerySet[Permission]:
    return Permission.objects.filter(codename__in=("view_hidden_channels", "view_any_conversation"))


@pytest.mark.parametrize("waits", [False, True], ids=["open", "waiting"])
@pytest.mark.parametrize("change", [rights_of, member_of, rights_of_group, group_itself, by_provider, in_the_database])
def test_a_permission_that_returns_opens_no_view_by_itself(
    change: Callable[..., None], waits: bool, conversation: Conversation, vera: User, settings: pytest_django.Settings
) -> None:
    set_environment(settings, debug_approval=waits)
    person = make_person("ines", staff=True)
    group_itself(person, may=True)
    person = User.objects.get(pk=person.pk)
    for each in (person, vera):
        debug_requests.open_debug_view(visitor(each), conversation.pk, REASON, 60)
    assert waits or can_look(person, conversation), "the premise"
    change(person, may=False)
    assert not access.may_view_hidden(User.objects.get(pk=person.pk), conversation), "the premise"
    change(User.objects.get(pk=person.pk), may=True)
    back = User.objects.get(pk=person.pk)
    assert access.may_view_hidden(back, conversation), "the premise"
    left = DebugRequest.objects.filter(closed_at=None)
    assert list(left.values_list("person__username", flat=True)) == ["vera"], "who kept the permission keeps the view"
    assert debug_requests.open_view(visitor(back), conversation) is None and not can_look(back, conversation)
    if not waits:
        debug_requests.open_debug_view(visitor(back), conversation.pk, REASON, 60)
        assert can_look(back, conversation), "with a new reason"


def test_a_view_opens_for_the_chosen_time_and_closes_by_itself(grace: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 60)
    opened = debug_requests.open_view(visitor(grace), conversation)
    assert opened is not None and opened.reason == REASON and 3590 < opened.seconds <= 3600
    assert can_look(grace, conversation)
    DebugRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert not can_look(grace, conversation) and debug_requests.open_view(visitor(grace), conversation) is None
    assert lines()[0] == ("open debug view", "", "grace", f"60 min: {REASON}")


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_machine_with_a_wrong_clock_opens_a_view_for_the_chosen_time_and_no_longer(
    grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    right = timezone.now()
    with monkeypatch.context() as wrong:
        wrong.setattr(timezone, "now", lambda: right + timedelta(hours=hours))
        debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 60)
        assert can_look(grace, conversation)
        assert DebugRequest.objects.filter(expires_at__range=(right + timedelta(minutes=59), right + timedelta(minutes=62))).exists()
        DebugRequest.objects.update(expires_at=right - timedelta(minutes=1))
        assert not can_look(grace, conversation)


@pytest.mark.parametrize("reason", ["", "fault", "too short", "x" * 181])
def test_e_x_reason_without_a_real_reason_nothing_opens_and_nothing_is_recorded(
    reason: str, grace: User, conversation: Conversation
) -> None:
    with pytest.raises(ReasonNeededError) as caught:
        debug_requests.open_debug_view(visitor(grace), conversation.pk, reason, 15)
    assert caught.value.code == "E-X-REASON"
    assert not DebugRequest.objects.exists() and not AuditEvent.objects.exists()


@pytest.mark.parametrize("reason", ["ten signs..", "x" * 10, "x" * 180])
def test_a_reason_of_ten_to_a_hundred_and_eighty_characters_is_accepted_and_logged_in_full(
    reason: str, grace: User, conversation: Conversation
) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, reason, 240)
    assert lines()[0][3] == f"240 min: {reason}"


@pytest.mark.parametrize(("most", "choices"), [(1440, (15, 60, 240)), (240, (15, 60, 240)), (60, (15, 60)), (59, (15,)), (5, (5,))])
def test_the_operator_sets_the_maximum_duration(
    most: int, choices: tuple[int, ...], settings: pytest_django.Settings, grace: User, conversation: Conversation
) -> None:
    set_environment(settings, debug_open_minutes=most)
    assert debug_requests.minutes_to_choose() == choices
    for minutes in {15, 60, 240, 0, -15, 10**8} - set(choices):
        with pytest.raises(ReasonNeededError):
            debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, minutes)
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, choices[-1])
    assert can_look(grace, conversation)


def test_reopening_restarts_the_time_and_closes_the_old_view(grace: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 240)
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 15)
    opened = debug_requests.open_view(visitor(grace), conversation)
    assert opened is not None and opened.seconds <= 900
    assert DebugRequest.objects.filter(closed_at=None).count() == 1


def test_closing_is_recorded_if_a_view_was_open(grace: User, conversation: Conversation) -> None:
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert not AuditEvent.objects.exists()
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON)
    debug_requests.close_debug_view(visitor(grace), conversation.pk)
    assert [line[0] for line in lines()] == ["open debug view", "close debug view"] and not can_look(grace, conversation)


def test_a_request_opens_nothing_until_somebody_else_approves_it_and_the_time_counts_from_then(
    debug_request: DebugRequest, grace: User, vera: User, conversation: Conversation
) -> None:
    assert not can_look(grace, conversation)
    DebugRequest.objects.update(asked_at=timezone.now() - timedelta(hours=5))
    debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=True)
    opened = debug_requests.open_view(visitor(grace), conversation)
    assert opened is not None and opened.approved_by == "vera" and 3590 < opened.seconds <= 3600
    assert can_look(grace, conversation) and not can_look(vera, conversation), "the one who approves has not opened anything"
    assert lines()[:2] == [
        ("ask for debug view", "", "grace", f"60 min: {REASON}"),
        ("approve debug view", "", "vera", f"for grace: {REASON}"),
    ]


def test_a_declined_request_never_opens(debug_request: DebugRequest, grace: User, vera: User, conversation: Conversation) -> None:
    debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=False)
    with pytest.raises(NotFoundError):
        debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=True)
    assert not can_look(grace, conversation) and debug_requests.pending_requests(visitor(vera)) == []
    assert lines()[-1] == ("decline debug view", "", "vera", f"for grace: {REASON}")


@pytest.mark.parametrize("approves", [True, False])
def test_nobody_decides_their_own_request_and_the_attempt_is_recorded(
    approves: bool, debug_request: DebugRequest, grace: User, conversation: Conversation
) -> None:
    with pytest.raises(HiddenViewRefusedError):
        debug_requests.decide(visitor(grace), conversation.pk, debug_request.pk, approves=approves)
    assert not can_look(grace, conversation)
    assert lines()[-1][1:3] == ("E-PERM-VISIBILITY", "grace")
    assert debug_requests.own_request(visitor(grace), conversation) is not None, "it still waits"


@pytest.mark.parametrize("days", [-2, 2])
def test_a_machine_with_a_wrong_clock_lets_a_request_wait_for_a_day_and_no_longer(
    approval: None, grace: User, vera: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    right = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: right + timedelta(days=days))
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 60)
    asked = DebugRequest.objects.get()
    assert abs(asked.asked_at - right) < timedelta(minutes=1)
    for hours, waits in ((25, False), (23, True)):
        DebugRequest.objects.update(asked_at=right - timedelta(hours=hours))
        assert (debug_requests.own_request(visitor(grace), conversation) is not None) == waits
        assert debug_requests.count_to_decide(vera) == int(waits)
        with contextlib.nullcontext() if waits else pytest.raises(NotFoundError):
            debug_requests.decide(visitor(vera), conversation.pk, asked.pk, approves=True)
        assert can_look(grace, conversation) == waits


def _closed(debug_request: DebugRequest) -> None:
    DebugRequest.objects.filter(pk=debug_request.pk).update(closed_at=timezone.now())


def _lapsed(debug_request: DebugRequest) -> None:
    DebugRequest.objects.filter(pk=debug_request.pk).update(asked_at=timezone.now() - debug_requests.REQUEST_LASTS - timedelta(minutes=1))


def _expired(debug_request: DebugRequest) -> None:
    DebugRequest.objects.filter(pk=debug_request.pk).update(decided_at=timezone.now(), expires_at=timezone.now() - timedelta(minutes=1))


def _deleted(debug_request: DebugRequest) -> None:
    Conversation.objects.update(deleted_at=timezone.now())


def _withdrawn(debug_request: DebugRequest) -> None:
    debug_request.person.user_permissions.clear()


def _deactivated(debug_request: DebugRequest) -> None:
    User.objects.filter(pk=debug_request.person_id).update(is_active=False)


@pytest.mark.parametrize("happens", [_closed, _lapsed, _expired, _deleted, _withdrawn, _deactivated])
def test_a_request_that_is_no_longer_pending_cannot_be_approved(
    happens: Callable[[DebugRequest], None], debug_request: DebugRequest, vera: User, conversation: Conversation
) -> None:
    happens(debug_request)
    before = DebugRequest.objects.values().get()
    with pytest.raises(NotFoundError):
        debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=True)
    assert DebugRequest.objects.values().get() == before


def test_a_replayed_approval_does_not_extend_the_time(
    debug_request: DebugRequest, grace: User, vera: User, conversation: Conversation
) -> None:
    debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=True)
    soon = timezone.now() + timedelta(minutes=1)
    DebugRequest.objects.update(expires_at=soon)
    for approves in (True, False):
        with pytest.raises(NotFoundError):
            debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=approves)
    assert DebugRequest.objects.get().expires_at == soon


def test_a_request_of_another_conversation_is_not_found(debug_request: DebugRequest, ada: User, grace: User, vera: User) -> None:
    other = Conversation.objects.create(owner=ada)
    for key in (debug_request.pk, uuid4()):
        with pytest.raises(NotFoundError):
            debug_requests.decide(visitor(vera), other.pk, key, approves=True)
    debug_request.refresh_from_db()
    assert debug_request.expires_at is None


@pytest.mark.parametrize("name", ["ada", "bela", "sam", "hank", None])
def test_e_perm_visibility_without_the_permission_for_this_conversation_nobody_approves(
    name: str | None, debug_request: DebugRequest, conversation: Conversation, request: pytest.FixtureRequest
) -> None:
    person = request.getfixturevalue(name) if name else None
    with pytest.raises(HiddenViewRefusedError):
        debug_requests.decide(visitor(person), conversation.pk, debug_request.pk, approves=True)
    debug_request.refresh_from_db()
    assert debug_request.expires_at is None and lines()[-1][1] == "E-PERM-VISIBILITY"


def test_a_decision_concerns_only_the_request_that_it_names(debug_request: DebugRequest, vera: User, conversation: Conversation) -> None:
    wanda = make_person("wanda", "view_hidden_channels", "view_any_conversation", staff=True)
    debug_requests.open_debug_view(visitor(wanda), conversation.pk, REASON, 15)
    later = DebugRequest.objects.get(person=wanda)
    debug_requests.decide(visitor(vera), conversation.pk, later.pk, approves=True)
    debug_requests.decide(visitor(wanda), conversation.pk, debug_request.pk, approves=False)
    assert [(row.person.username, row.expires_at is not None) for row in DebugRequest.objects.order_by("asked_at")] == [
        ("grace", False),
        ("wanda", True),
    ]


@pytest.mark.parametrize("happens", [_withdrawn, _deactivated])
def test_a_request_of_somebody_who_lost_the_permission_can_be_declined(
    happens: Callable[[DebugRequest], None], debug_request: DebugRequest, vera: User, conversation: Conversation
) -> None:
    happens(debug_request)
    debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=False)
    assert debug_requests.pending_requests(visitor(vera)) == []


def test_a_view_that_was_opened_without_approval_is_no_request(
    grace: User, vera: User, conversation: Conversation, settings: pytest_django.Settings
) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 15)
    assert debug_requests.count_to_decide(vera) is None
    set_environment(settings, debug_approval=True)
    assert debug_requests.pending_requests(visitor(vera)) == [] and debug_requests.own_request(visitor(grace), conversation) is None
    assert debug_requests.count_to_decide(vera) == 0
    before = DebugRequest.objects.values().get()
    with pytest.raises(NotFoundError):
        debug_requests.decide(visitor(vera), conversation.pk, before["id"], approves=True)
    assert DebugRequest.objects.values().get() == before


def test_an_approved_view_shows_nothing_once_the_permission_is_withdrawn(
    debug_request: DebugRequest, grace: User, vera: User, conversation: Conversation
) -> None:
    debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=True)
    grace.user_permissions.clear()
    with pytest.raises(HiddenViewRefusedError):
        can_look(User.objects.get(pk=grace.pk), conversation)


def test_the_list_shows_each_person_what_they_may_decide_and_nothing_of_a_conversation(
    debug_request: DebugRequest, grace: User, hank: User, vera: User, sam: User, ada: User, conversation: Conversation
) -> None:
    (shown,) = debug_requests.pending_requests(visitor(vera))
    assert (shown.person_name, shown.owner_name, shown.reason, shown.minutes, shown.is_own) == ("grace", "ada", REASON, 60, False)
    assert conversation.title not in repr(shown)
    assert [debug_requests.count_to_decide(person) for person in (vera, grace, hank, sam, ada, None)] == [1, 0, 0, None, None, None]
    assert [item.is_own for item in debug_requests.pending_requests(visitor(grace))] == [True]
    assert debug_requests.pending_requests(visitor(hank)) == [], "he may not look into conversations of others"
    for person in (ada, sam, None):
        with pytest.raises(NotFoundError):
            debug_requests.pending_requests(visitor(person))
    Conversation.objects.filter(pk=conversation.pk).update(owner=hank)
    assert [item.id for item in debug_requests.pending_requests(visitor(hank))] == [shown.id] and debug_requests.count_to_decide(hank) == 1


def test_of_many_requests_those_that_wait_longest_are_listed(
    debug_request: DebugRequest, ada: User, grace: User, vera: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debug_requests, "MAX_SHOWN", 2)
    later, earlier = (Conversation.objects.create(owner=ada) for _ in range(2))
    for row, hours in ((later, 1), (earlier, 2)):
        waiting = DebugRequest.objects.create(conversation=row, person=grace, minutes=15)
        DebugRequest.objects.filter(pk=waiting.pk).update(asked_at=timezone.now() - timedelta(hours=hours))
    shown = [each.conversation_id for each in debug_requests.pending_requests(visitor(vera))]
    assert shown == [str(earlier.pk), str(later.pk)] and debug_requests.count_to_decide(vera) == 3


def test_asking_again_leaves_one_request_and_withdrawing_leaves_none(
    debug_request: DebugRequest, grace: User, vera: User, conversation: Conversation
) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 15)
    assert [item.minutes for item in debug_requests.pending_requests(visitor(vera))] == [15]
    assert debug_requests.close_debug_view(visitor(grace), conversation.pk) == conversation
    assert debug_requests.pending_requests(visitor(vera)) == [] and lines()[-1] == ("close debug view", "", "grace", "")


def test_asking_for_more_time_leaves_the_view_open_that_was_approved(
    debug_request: DebugRequest, grace: User, vera: User, conversation: Conversation
) -> None:
    debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=True)
    debug_requests.open_debug_view(visitor(grace), conversation.pk, REASON, 240)
    assert can_look(grace, conversation), "until somebody has decided"
    assert debug_requests.own_request(visitor(grace), conversation) is not None


def test_a_request_for_a_deleted_conversation_is_not_listed(debug_request: DebugRequest, vera: User, conversation: Conversation) -> None:
    assert len(debug_requests.pending_requests(visitor(vera))) == 1 == debug_requests.count_to_decide(vera)
    Conversation.objects.update(deleted_at=timezone.now())
    assert debug_requests.pending_requests(visitor(vera)) == [] and debug_requests.count_to_decide(vera) == 0


def test_a_lowered_maximum_duration_applies_to_the_approval(
    debug_request: DebugRequest, grace: User, vera: User, conversation: Conversation, settings: pytest_django.Settings
) -> None:
    set_environment(settings, debug_open_minutes=15)
    debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=True)
    opened = debug_requests.open_view(visitor(grace), conversation)
    assert opened is not None and opened.seconds <= 900


def test_a_decision_that_cannot_be_recorded_has_no_effect(
    debug_request: DebugRequest, grace: User, vera: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        refuse_log(patch)
        with pytest.raises(OSError, match="no space left"):
            debug_requests.decide(visitor(vera), conversation.pk, debug_request.pk, approves=True)
    assert not can_look(grace, conversation)


def open_view(person: User, conversation: Conversation) -> DebugRequest:
    """The person's debug view, or their request for one if somebody else must approve it."""
    debug_requests.open_debug_view(visitor(person), conversation.pk, REASON, 15)
    return DebugRequest.objects.filter(person=person, conversation=conversation).latest("asked_at")


def test_people_find_only_their_own_request_and_only_in_its_conversation(
    approval: None, ada: User, grace: User, vera: User, conversation: Conversation
) -> None:
    asked, other = open_view(grace, conversation), Conversation.objects.create(owner=ada)
    found = debug_requests.own_request(visitor(grace), conversation)
    assert found is not None and (found.id, found.is_own, found.account_permissions) == (str(asked.pk), True, ())
    assert debug_requests.own_request(visitor(vera), conversation) is None
    assert debug_requests.own_request(visitor(grace), other) is None


def test_people_who_may_view_only_their_own_conversations_still_find_what_they_asked_before(
    approval: None, grace: User, vera: User, conversation: Conversation
) -> None:
    asked = open_view(grace, conversation)
    open_view(vera, conversation)
    grace.user_permissions.remove(Permission.objects.get(codename="view_any_conversation"))
    left = User.objects.get(pk=grace.pk)
    assert [found.id for found in debug_requests.pending_requests(visitor(left))] == [str(asked.pk)]
    assert debug_requests.count_to_decide(left) == 0


def test_nothing_can_be_shown_or_counted_for_a_request_that_waits(approval: None, grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    with pytest.raises(access.OptInNeededError):
        access.view_hidden(visitor(grace), conversation.pk, action="debug page")
    assert AuditEvent.objects.count() == 1 and not CountedLine.objects.exists()


def test_a_download_from_another_network_is_listed_once_and_by_its_address(grace: User, conversation: Conversation) -> None:
    open_view(grace, conversation)
    access.view_hidden(visitor(grace, "download", "198.51.100.1"), conversation.pk, action="whole download")
    access.view_hidden(visitor(grace, address="198.51.100.1"), conversation.pk, action="debug page")
    listed = AuditEvent.objects.order_by("number").values_list("action", "address", "detail")[1:]
    assert list(listed) == [("whole download", "198.51.100.1", "")], "the line of the download shows the network already"


def test_an_attempt_to_ask_is_recorded_as_one_and_its_reason_is_not(approval: None, ada: User, conversation: Conversation) -> None:
    with pytest.raises(access.HiddenViewRefusedError):
        debug_requests.open_debug_view(visitor(ada), conversation.pk, REASON)
    assert list(AuditEvent.objects.values_list("action", "detail")) == [("ask for debug view", "")]


LOOKERS = ("view_hidden_channels", "view_any_conversation")


@pytest.mark.parametrize(
    ("of_asker", "of_decider", "words"),
    [
        ((), (), ""),
        (("change_user",), (), " (who asked may change accounts)"),
        ((), ("add_user",), " (who approves may change accounts)"),
        (("change_user",), ("add_user",), " (who asked and who approves may change accounts)"),
    ],
)
def test_the_line_of_an_approval_says_which_of_the_two_may_change_accounts(
    approval: None, of_asker: tuple[str, ...], of_decider: tuple[str, ...], words: str, conversation: Conversation
) -> None:
    asker, decider = make_person("olga", *LOOKERS, *of_asker, staff=True), make_person("vera", *LOOKERS, *of_decider, staff=True)
    for approves in (False, True):
        asked = open_view(asker, conversation)
        debug_requests.decide(visitor(decider), conversation.pk, asked.pk, approves=approves)
        assert AuditEvent.objects.latest("number").detail == f"for olga{words if approves else ''}: {REASON}"
