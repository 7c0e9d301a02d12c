"""Who may see hidden channels, and that every access and attempt is recorded before anything is shown."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser, Permission
from django.utils import timezone

from chatui.audit_log.record import record
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access, debug_requests, offers
from chatui.permissions.access import HiddenViewRefusedError, NotFoundError, OptInNeededError
from chatui.permissions.administration import AdminPart, parts_of
from renderer.frames import Frame, Header
from tests.chatui.conftest import make_person, refuse_log, visitor
from tests.support.messages import add_message

pytestmark = pytest.mark.django_db


def last_line() -> AuditEvent:
    line = AuditEvent.objects.order_by("-number").first()
    assert line is not None
    return line


def test_an_owner_opens_their_own_conversation_and_nobody_elses(ada: User, bela: User, conversation: Conversation) -> None:
    assert access.own_conversation(ada, conversation.pk) == conversation
    for person in (bela, None):
        with pytest.raises(NotFoundError):
            access.own_conversation(person, conversation.pk)


def test_a_deactivated_person_owns_nothing(ada: User, conversation: Conversation) -> None:
    ada.is_active = False
    with pytest.raises(NotFoundError):
        access.own_conversation(ada, conversation.pk)


@pytest.mark.parametrize("key", ["", "x", None, 7, uuid4(), "../../etc", ["a"]])
def test_any_other_id_is_not_found(key: object, ada: User) -> None:
    with pytest.raises(NotFoundError):
        access.own_conversation(ada, key)


def say(row: Conversation, body: str, channel: str | None = None) -> Message:
    header = Header("assistant", channel=channel) if channel else Header("user")
    return add_message(row, None, Frame(header, body), Author.MODEL if channel else Author.PERSON)


def test_requests_for_a_hidden_message_are_recorded_unless_the_person_may_see_it(
    ada: User, hank: User, grace: User, conversation: Conversation
) -> None:
    hidden = say(conversation, "HIDDEN", "analysis")
    own = say(Conversation.objects.create(owner=hank), "HIDDEN", "analysis")
    asks = [(ada, hidden), (hank, hidden), (hank, own), (grace, hidden), (None, hidden)]
    recorded = []
    for person, message in asks:
        lines = AuditEvent.objects.count()
        with pytest.raises(NotFoundError):
            access.visible_message(visitor(person), message.conversation_id, message.pk, action="copy")
        recorded.append(AuditEvent.objects.count() - lines)
    assert recorded == [1, 1, 0, 0, 1]
    assert [line.owner_name for line in AuditEvent.objects.all()] == ["ada"] * 3


STAFF_MAY: dict[str, Callable[[User | None], bool]] = {
    "view_hidden_channels": access.can_see_hidden,
    "view_auditevent": access.can_read_audit,
    "view_storedbackend": access.can_see_failures,
    "view_usage": lambda person: AdminPart.USAGE in parts_of(person),
    "export_ratings": lambda person: AdminPart.RATINGS in parts_of(person),
    "offer_assistants": offers.may_offer,
}


@pytest.mark.parametrize("codename", STAFF_MAY)
def test_a_permission_counts_by_itself_for_active_staff_and_no_other_includes_it(codename: str, sam: User) -> None:
    may = STAFF_MAY[codename]
    sam.user_permissions.set(Permission.objects.exclude(codename=codename))
    assert not may(User.objects.get(pk=sam.pk)) and not may(None)
    sam.user_permissions.set(Permission.objects.filter(codename=codename))
    staff = User.objects.get(pk=sam.pk)
    assert may(staff)
    for lost in ("is_staff", "is_active"):
        setattr(staff, lost, False)
        assert not may(staff), lost
        setattr(staff, lost, True)


def test_a_visitor_without_an_account_is_nobody(ada: User) -> None:
    assert access.as_person(ada) == access.person_of(visitor(ada)) == ada
    assert access.as_person(AnonymousUser()) is None
    with pytest.raises(NotFoundError):
        access.person_of(visitor(None))


def test_a_visible_message_is_found_by_its_owner_and_a_missing_one_is_no_attempt(ada: User, bela: User, conversation: Conversation) -> None:
    shown, _hidden = say(conversation, "Why?"), say(conversation, "HIDDEN", "analysis")
    assert access.visible_message(visitor(ada), conversation.pk, shown.pk, action="copy") == shown
    for person, key in ((bela, shown.pk), (ada, uuid4()), (ada, "nonsense"), (None, shown.pk)):
        with pytest.raises(NotFoundError):
            access.visible_message(visitor(person), conversation.pk, key, action="copy")
    assert not AuditEvent.objects.exists()


def test_an_open_stream_is_checked_again_and_only_what_it_shows_anew_is_counted(grace: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, "a fault was reported")
    assert access.recheck_hidden(visitor(grace, "socket"), conversation.pk) == conversation
    assert CountedLine.objects.get().counts == {}
    access.recheck_hidden(visitor(grace, "socket"), conversation.pk, newly_shown="debug turn")
    assert CountedLine.objects.get().counts == {"debug turn": 1}
    grace.user_permissions.clear()
    lines = AuditEvent.objects.count()
    with pytest.raises(HiddenViewRefusedError):
        access.recheck_hidden(visitor(User.objects.get(pk=grace.pk), "socket"), conversation.pk, newly_shown="debug turn")
    assert AuditEvent.objects.count() == lines, "the product asked, not the person"


def test_only_ones_own_visible_messages_outside_the_bin_are_found_by_key(ada: User, bela: User, conversation: Conversation) -> None:
    shown, hidden = say(conversation, "Why?"), say(conversation, "A plan.", "analysis")
    other = say(Conversation.objects.create(owner=bela), "Another person's")
    gone = say(Conversation.objects.create(owner=ada, deleted_at=timezone.now()), "In the bin")
    assert list(access.own_messages(ada, [row.pk for row in (shown, hidden, other, gone)])) == [shown.pk]
    keys = [row.conversation_id for row in (shown, other, gone)]
    assert list(access.own_conversations_of(ada, keys)) == [conversation.pk]


def test_a_message_or_turn_of_another_conversation_is_not_found_through_ones_own(ada: User, bela: User, conversation: Conversation) -> None:
    row = Conversation.objects.create(owner=bela)
    question = say(row, "Another person's")
    turn = Turn.objects.create(
        conversation=row, question=question, asked_by=bela, client_id=uuid4(), effort="low", lease_until=timezone.now(), lease_owner="x"
    )
    assert (access.message_of(row, question.pk), access.turn_of(row, turn.pk)) == (question, turn)
    for look_up, key in ((access.message_of, question.pk), (access.turn_of, turn.pk)):
        with pytest.raises(NotFoundError):
            look_up(conversation, key)


def test_nobody_can_see_hidden_channels_of_a_deleted_conversation(grace: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, "a fault was reported")
    access.recheck_hidden(visitor(grace), conversation.pk)
    Conversation.objects.update(deleted_at=timezone.now())
    with pytest.raises(NotFoundError):
        access.recheck_hidden(visitor(grace), conversation.pk)


def test_permitted_staff_see_hidden_channels_after_they_opened_the_view(grace: User, conversation: Conversation) -> None:
    with pytest.raises(OptInNeededError):
        access.view_hidden(visitor(grace), conversation.pk, action="debug page")
    assert not AuditEvent.objects.exists(), "a missing opt-in is no attempt"
    debug_requests.open_debug_view(visitor(grace), conversation.pk, "a fault was reported")
    assert access.view_hidden(visitor(grace, "download"), conversation.pk, action="whole download") == conversation
    line = last_line()
    assert (line.action, line.code, line.way, line.actor, line.owner_name, line.address) == (
        "whole download",
        "",
        "download",
        grace,
        "ada",
        "192.0.2.7",
    )


@pytest.mark.parametrize(("way", "opened"), [("page", "page"), ("download", "download"), ("socket", "reconnect")])
def test_only_the_socket_of_an_open_page_counts_as_a_reconnect(way: str, opened: str, grace: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, "a fault was reported")
    grace.user_permissions.clear()
    with pytest.raises(HiddenViewRefusedError):
        access.view_hidden(visitor(User.objects.get(pk=grace.pk), way), conversation.pk, action="debug page")
    assert (last_line().code, last_line().way) == ("E-PERM-VISIBILITY", opened)


@pytest.mark.parametrize("name", ["ada", "bela", "sam", "hank"])
def test_e_perm_visibility_without_the_permission_it_is_refused_and_recorded(
    name: str, conversation: Conversation, request: pytest.FixtureRequest
) -> None:
    person = request.getfixturevalue(name)
    with pytest.raises(HiddenViewRefusedError):
        access.view_hidden(visitor(person, "socket"), conversation.pk, action="debug stream")
    line = last_line()
    assert (line.code, line.action, line.way, line.actor, line.conversation_id) == (
        "E-PERM-VISIBILITY",
        "debug stream",
        "socket",
        person,
        conversation.pk,
    )


def test_without_permission_for_others_a_missing_conversation_looks_like_not_yours(hank: User, conversation: Conversation) -> None:
    for key in (conversation.pk, uuid4(), "nonsense"):
        with pytest.raises(HiddenViewRefusedError):
            access.view_hidden(visitor(hank), key, action="debug page")


def test_without_permission_for_hidden_channels_nobody_learns_which_conversations_exist(conversation: Conversation) -> None:
    vic = make_person("vic", "view_any_conversation", staff=True)
    for key in (conversation.pk, uuid4(), "nonsense"):
        with pytest.raises(HiddenViewRefusedError):
            access.view_hidden(visitor(vic), key, action="debug page")
        assert (last_line().code, last_line().actor) == ("E-PERM-VISIBILITY", vic)
    assert AuditEvent.objects.count() == 3


def test_staff_with_only_the_first_permission_see_their_own(hank: User) -> None:
    own = Conversation.objects.create(owner=hank)
    debug_requests.open_debug_view(visitor(hank), own.pk, "a fault was reported")
    assert access.view_hidden(visitor(hank), own.pk, action="debug page") == own


def test_a_debug_view_is_for_one_person_and_one_conversation(grace: User, hank: User, ada: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, "a fault was reported")
    other = Conversation.objects.create(owner=ada)
    with pytest.raises(OptInNeededError):
        access.view_hidden(visitor(grace), other.pk, action="debug page")
    assert debug_requests.open_view(visitor(hank), conversation) is None


def test_if_the_line_cannot_be_written_nothing_is_shown(grace: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    debug_requests.open_debug_view(visitor(grace), conversation.pk, "a fault was reported")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space left"):
        refuse_log(patch)
        access.view_hidden(visitor(grace), conversation.pk, action="debug page")
    refuse_log(monkeypatch)
    with pytest.raises(OSError, match="no space left"):
        access.view_hidden(visitor(grace, "download"), conversation.pk, action="whole download")
    with pytest.raises(OSError, match="no space left"):
        debug_requests.open_debug_view(visitor(grace), conversation.pk, "a fault was reported")
    assert DebugRequest.objects.count() == 1, "what cannot be recorded is not opened"


def test_a_line_outlives_the_person_and_the_conversation(grace: User, conversation: Conversation) -> None:
    record("test", visitor(grace), conversation)
    conversation.delete()
    grace.delete()
    assert (last_line().actor_name, last_line().owner_name) == ("grace", "ada")
