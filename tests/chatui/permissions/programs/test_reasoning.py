"""Which programs may read raw reasoning, and the audit line of each reading."""

from __future__ import annotations

import pytest

from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import programs as reasoning
from tests.support.environment import change

pytestmark = pytest.mark.django_db


def test_the_line_of_a_reading_says_which_key_read_which_conversation(grace: User) -> None:
    own = Conversation.objects.create(owner=grace)
    reasoning.record_reading(Visitor(grace, "192.0.2.7", "program"), own.pk, "ck_1a2b")
    line = AuditEvent.objects.get()
    assert (line.action, line.detail, line.way, line.actor, line.owner_name) == (
        "raw reasoning to program",
        "ck_1a2b",
        "program",
        grace,
        "grace",
    )
    assert (line.conversation_id, line.code, line.address) == (own.pk, "", "192.0.2.7")


def test_only_keys_of_people_who_see_hidden_channels_without_approval_read_any(
    hank: User, ada: User, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [reasoning.may_read(person) for person in (hank, sam, ada)] == [True, False, False]
    change(monkeypatch, {"debug_approval": True})
    assert not reasoning.may_read(hank), "nobody could approve each reading"
