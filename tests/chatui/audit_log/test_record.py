"""Writing a line of the audit log: with values that are too long or contain control characters."""

import hashlib
from datetime import UTC, datetime
from uuid import UUID

import pytest

from chatui.audit_log import record
from chatui.audit_log.record import FIRST_HASH, Visitor, digest
from chatui.models.audit import AuditEvent
from chatui.models.user import User

pytestmark = pytest.mark.django_db


def test_values_are_cut_to_their_columns_and_lose_control_characters(grace: User) -> None:
    line = record.record("act", Visitor(grace, "a" * 200, "page"), "n\x1b[2J\u202e" + "n" * 300, detail="d\x07\x9b" + "d" * 300)
    assert (len(line.address), len(line.owner_name), len(line.detail)) == (64, 150, 200)
    assert line.owner_name.startswith("n\ufffd[2J\ufffdn") and line.detail.startswith("d\ufffd\ufffdd")
    for column in ("address", "owner_name", "detail"):
        assert len(getattr(line, column)) <= (getattr(AuditEvent._meta.get_field(column), "max_length", None) or 0)


def test_the_hash_of_a_line_stays_the_same_in_every_version() -> None:
    """Logs are verified years after they were written: the text that is hashed may never change."""
    key = UUID("019ab000-0000-7000-8000-000000000001")
    line = AuditEvent(
        number=7,
        at=datetime(2026, 11, 20, 10, 14, 3, 250_000, tzinfo=UTC),
        code="",
        action="open debug view",
        way="page",
        actor_id=key,
        actor_name="Zoë",
        conversation_id=None,
        owner_name="東京",
        address="2001:db8::1",
        detail='15 min: "why" <not>',
        previous_hash=FIRST_HASH,
    )
    hashed = (
        f'[7, "2026-11-20T10:14:03.250000+00:00", "", "open debug view", "page", "{key}", "Zo\\u00eb", "", '
        f'"\\u6771\\u4eac", "2001:db8::1", "15 min: \\"why\\" <not>", "{FIRST_HASH}"]'
    )
    assert digest(line) == hashlib.sha256(hashed.encode()).hexdigest()
