"""Which answers can be rated, and who may export ratings with hidden channels."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import ratings
from chatui.permissions.access import HiddenViewRefusedError, NotFoundError
from renderer.frames import Frame, Header
from tests.chatui.conftest import make_person, visitor
from tests.support.environment import change
from tests.support.messages import add_message
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db

ANSWER = Header("assistant", channel="final")


@pytest.fixture
def turn(ada: User) -> Turn:
    """A completed turn of Ada's."""
    turn = store(ada, ask()).turn
    Turn.objects.filter(pk=turn.pk).update(state="completed")
    return turn


def written(turn: Turn, header: Header = ANSWER, author: Author = Author.MODEL) -> Message:
    """A message of the turn."""
    row = add_message(turn.conversation, turn.question, Frame(header, "Four."), author)
    Message.objects.filter(pk=row.pk).update(turn=turn)
    return row


def can_rate(person: User | None, message: Message) -> bool:
    try:
        return ratings.ratable(visitor(person), message.conversation_id, message.pk) == message
    except NotFoundError:
        return False


def test_only_its_owner_rates_a_finished_answer(ada: User, bela: User, turn: Turn) -> None:
    answer = written(turn)
    assert [can_rate(person, answer) for person in (ada, bela, None)] == [True, False, False]
    with pytest.raises(NotFoundError):
        ratings.ratable(visitor(ada), turn.conversation_id, uuid4())
    assert not AuditEvent.objects.exists()
    for state, may in (("running", False), ("stopped", True), ("failed", True)):
        Turn.objects.update(state=state)
        assert can_rate(ada, answer) is may, state
    Conversation.objects.update(temporary_until=timezone.now())
    assert not can_rate(ada, answer), "nothing of a temporary conversation is exported"


def test_what_no_model_of_this_server_answered_cannot_be_rated(ada: User, turn: Turn) -> None:
    imported, preamble = written(turn, author=Author.IMPORT), written(turn, Header("assistant", channel="commentary", intent="preamble"))
    without_turn = add_message(turn.conversation, turn.question, Frame(ANSWER, "Four."), Author.MODEL)
    assert can_rate(ada, written(turn)), "the premise"
    assert [can_rate(ada, each) for each in (turn.question, imported, preamble, without_turn)] == [False] * 4
    assert not AuditEvent.objects.exists(), "all of these can be seen"


NEEDED = ("export_ratings", "view_hidden_channels", "view_any_conversation")


@pytest.mark.parametrize("missing", ["", "approval", *NEEDED])
def test_an_export_with_hidden_channels_needs_every_permission_and_no_approval(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    staff = make_person("vera", *NEEDED, staff=True)
    staff.user_permissions.remove(*Permission.objects.filter(codename=missing))
    change(monkeypatch, {"debug_approval": missing == "approval"})
    if missing == "":
        assert ratings.hidden_exporter(visitor(staff)) == ratings.exporter(visitor(staff)) == staff
    with pytest.raises(NotFoundError):
        ratings.hidden_exporter(visitor(None))
    if missing == "export_ratings":
        with pytest.raises(NotFoundError):
            ratings.hidden_exporter(visitor(staff))
    elif missing:
        with pytest.raises(HiddenViewRefusedError):
            ratings.hidden_exporter(visitor(staff))
        line = AuditEvent.objects.get()
        assert (line.code, line.action, line.actor) == ("E-PERM-VISIBILITY", ratings.HIDDEN_EXPORT, staff)
        assert ratings.exporter(visitor(staff)) == staff, "without hidden channels"
    assert AuditEvent.objects.count() == (missing not in ("", "export_ratings"))
