"""Which tools a conversation offers, and that only its owner finds a call that waits for approval."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models import Conversation, ToolApproval, ToolCall, Turn, User
from chatui.permissions import access
from chatui.permissions import tools as permitted
from tests.chatui.conftest import store
from tests.chatui.tools.offering import offer
from tests.chatui.turns.test_turns import ask

pytestmark = pytest.mark.django_db


def look_up() -> str:
    """Reads something."""
    return "found"


def send() -> str:
    """Sends something."""
    return "sent"


@pytest.fixture
def turn(ada: User) -> Turn:
    """A completed turn of Ada's."""
    return completed(ada)


def completed(person: User) -> Turn:
    turn = store(person, ask()).turn
    Turn.objects.filter(pk=turn.pk).update(state="completed")
    return turn


def visitor(person: User | None) -> Visitor:
    return Visitor(person, "192.0.2.7", "page")


def approval_of(turn: Turn, arguments: str = '{"to": "Bela"}') -> ToolApproval:
    return ToolApproval.objects.create(
        turn=turn, call_id=uuid4().hex, tool="send", title="Send", arguments=arguments, lapses_at=timezone.now()
    )


def offered_in(conversation: Conversation | None, person: User) -> list[str]:
    return list(permitted.tools_in(person, conversation, is_demo=False).offered)


def test_only_the_active_owner_finds_an_approval_and_only_in_its_conversation(ada: User, bela: User, turn: Turn) -> None:
    row, other = approval_of(turn), completed(ada)
    assert permitted.own_approval(visitor(ada), turn.conversation_id, row.pk) == row
    deactivated = User(pk=ada.pk, is_active=False)
    for person, conversation_id, key in (
        (bela, turn.conversation_id, row.pk),
        (None, turn.conversation_id, row.pk),
        (deactivated, turn.conversation_id, row.pk),
        (ada, other.conversation_id, row.pk),
        (ada, turn.conversation_id, uuid4()),
    ):
        with pytest.raises(access.NotFoundError):
            permitted.own_approval(visitor(person), conversation_id, key)


def test_a_call_whose_arguments_were_deleted_or_about_which_nobody_is_asked_has_no_approval_to_show(ada: User, turn: Turn) -> None:
    with pytest.raises(access.NotFoundError):
        permitted.own_approval(visitor(ada), turn.conversation_id, approval_of(turn, arguments="").pk)


def test_a_tool_of_a_group_is_offered_to_its_members(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, look_up, send, tools={"look_up": (), "send": ("research",)})
    Group.objects.create(name="research").user_set.add(ada)
    assert (offered_in(None, ada), offered_in(None, bela)) == (["look_up", "send"], ["look_up"])


def test_a_tool_that_sends_is_withdrawn_only_in_conversations_where_another_one_read_private_data(
    ada: User, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, send, tool_facts={"send": ("outside",)})
    other = completed(ada)
    ToolCall.objects.create(turn=other, call_id="1", tool="look_up")
    assert (offered_in(turn.conversation, ada), offered_in(other.conversation, ada)) == (["send"], [])
