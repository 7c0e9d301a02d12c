"""Which tools a conversation offers, and that only its owner finds a call that waits for approval."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.tools import ToolApproval, ToolCall, ToolRule
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access
from chatui.permissions import tools as permissions_tools
from chatui.store import passages
from chatui.tools.document_search import FIND
from tests.chatui.conftest import visitor
from tests.support.offering import offer
from tests.support.turns import ask, store

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


def approval_of(turn: Turn, arguments: str = '{"to": "Bela"}') -> ToolApproval:
    return ToolApproval.objects.create(
        turn=turn, call_id=uuid4().hex, tool="send", title="Send", arguments=arguments, lapses_at=timezone.now()
    )


def offered_in(conversation: Conversation | None, person: User) -> list[str]:
    return list(permissions_tools.tools_in(person, conversation, is_demo=False).offered)


def test_only_the_active_owner_finds_an_approval_and_only_in_its_conversation(ada: User, bela: User, turn: Turn) -> None:
    row, other = approval_of(turn), completed(ada)
    assert permissions_tools.own_approval(visitor(ada), turn.conversation_id, row.pk) == row
    deactivated = User(pk=ada.pk, is_active=False)
    for person, conversation_id, key in (
        (bela, turn.conversation_id, row.pk),
        (None, turn.conversation_id, row.pk),
        (deactivated, turn.conversation_id, row.pk),
        (ada, other.conversation_id, row.pk),
        (ada, turn.conversation_id, uuid4()),
    ):
        with pytest.raises(access.NotFoundError):
            permissions_tools.own_approval(visitor(person), conversation_id, key)


def test_a_call_whose_arguments_were_deleted_or_about_which_nobody_is_asked_has_no_approval_to_show(ada: User, turn: Turn) -> None:
    with pytest.raises(access.NotFoundError):
        permissions_tools.own_approval(visitor(ada), turn.conversation_id, approval_of(turn, arguments="").pk)


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


def test_only_tools_that_the_owner_switched_off_in_this_conversation_are_withdrawn(
    ada: User, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, look_up, send)
    other = completed(ada)
    for row, tool, is_allowed in ((turn, "send", False), (turn, "look_up", True), (other, "look_up", False)):
        ToolRule.objects.create(conversation=row.conversation, tool=tool, is_allowed=is_allowed)
    assert [offered_in(row, ada) for row in (turn.conversation, other.conversation, None)] == [["look_up"], ["send"], ["look_up", "send"]]


@pytest.mark.parametrize("column", ["imported_at", "handed_over_at"])
def test_words_of_others_exclude_tools_that_send_and_those_of_the_server(
    column: str, ada: User, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, look_up, send, tool_facts={"send": ("outside",), "look_up": ("neither",)})
    row = turn.conversation
    assert offered_in(row, ada) == ["look_up", "send"] and permissions_tools.server_tools_combine_with((), row)
    setattr(row, column, timezone.now())
    assert offered_in(row, ada) == ["look_up"] and not permissions_tools.server_tools_combine_with((), row)
    assert list(permissions_tools.tools_in(ada, row, is_demo=True).offered) == list(
        permissions_tools.tools_in(ada, None, is_demo=True).offered
    )


@pytest.mark.parametrize(
    ("facts", "may"), [((), True), (("neither",), True), (("private",), False), (("outside",), False), (("private", "outside"), False)]
)
def test_tools_of_the_server_are_not_combined_with_tools_that_read_or_send(
    facts: tuple[str, ...], may: bool, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, send, tool_facts={"send": facts or ("neither",)})
    tools = list(permissions_tools.tools_in(ada, None, is_demo=False).offered.values()) if facts else []
    assert len(tools) == bool(facts)
    assert permissions_tools.server_tools_combine_with(tools, None) is may
    offer(monkeypatch, send, tool_combinations="any")
    assert permissions_tools.server_tools_combine_with(tools, None), "the operator has allowed it"


def test_a_document_to_search_brings_its_tool_unless_the_demo_answers(ada: User, turn: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "are_in", lambda key: key == turn.conversation_id)
    found = {is_demo: permissions_tools.tools_in(ada, turn.conversation, is_demo=is_demo).offered for is_demo in (True, False)}
    assert FIND.name in found[False] and FIND.name not in found[True]
    for row in (None, completed(ada).conversation):
        assert FIND.name not in permissions_tools.tools_in(ada, row, is_demo=False).offered
    ToolRule.objects.create(conversation=turn.conversation, tool=FIND.name, is_allowed=False)
    assert FIND.name not in permissions_tools.tools_in(ada, turn.conversation, is_demo=False).offered


def test_tools_of_the_server_are_excluded_only_in_the_conversation_in_which_ours_were_used(ada: User, turn: Turn) -> None:
    other = completed(ada)
    ToolCall.objects.create(turn=other, call_id="1", tool="look_up")
    assert permissions_tools.server_tools_combine_with((), turn.conversation)
    assert not permissions_tools.server_tools_combine_with((), other.conversation)
