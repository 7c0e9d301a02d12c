"""A back end that was changed by somebody who may not see hidden channels waits for the confirmation of somebody who may."""

from __future__ import annotations

import pytest

from chatui import checks
from chatui.model_servers import configured
from chatui.models.audit import AuditEvent
from chatui.models.model_servers import StoredBackend
from chatui.models.user import User
from tests.chatui.conftest import make_person, signed_in

pytestmark = pytest.mark.django_db

BACKENDS = ("add_storedbackend", "change_storedbackend", "delete_storedbackend", "view_storedbackend")
ROW = {
    "name": "new",
    "kind": "chat",
    "url": "http://127.0.0.1:9",
    "is_enabled": "on",
    "position": "0",
    "effort": "medium",
    "first_token_seconds": "300",
    "idle_seconds": "60",
    "overall_seconds": "1800",
    "max_answer_tokens": "0",
    "context_tokens": "0",
    "summaries": "none",
}


@pytest.fixture
def manager() -> User:
    """Looks after back ends, and may not see hidden channels."""
    return make_person("karl", *BACKENDS, staff=True)


@pytest.fixture
def viewer() -> User:
    return make_person("sera", *BACKENDS, "view_hidden_channels", staff=True)


def offered() -> list[str]:
    return [spec.name for spec in configured.rows().specs]


def send(person: User, **changes: str) -> None:
    row = StoredBackend.objects.first()
    response = signed_in(person).post(f"/admin/chatui/storedbackend/{f'{row.pk}/change' if row else 'add'}/", ROW | changes)
    assert response.status_code == 302, response.content.decode()


def test_a_back_end_of_somebody_without_the_permission_waits_for_confirmation(manager: User, viewer: User) -> None:
    send(manager)
    assert offered() == [] and StoredBackend.objects.get().unconfirmed_by == "karl"
    send(viewer)
    assert offered() == ["new"]
    send(manager, url="http://127.0.0.1:10")
    assert offered() == []
    action = {"action": "confirm", "_selected_action": str(StoredBackend.objects.get().pk)}
    signed_in(manager).post("/admin/chatui/storedbackend/", action)
    assert offered() == [], "somebody who changed it does not confirm it"
    signed_in(viewer).post("/admin/chatui/storedbackend/", action)
    assert offered() == ["new"]
    actions = [line.action.removeprefix("back end ") for line in AuditEvent.objects.order_by("number")]
    assert actions == ["created", "confirmed", "changed", "not confirmed", "confirmed"]
    assert AuditEvent.objects.get(number=1).detail.startswith("waits for confirmation; ")


def test_saving_without_a_change_keeps_the_back_end_confirmed(manager: User, viewer: User) -> None:
    send(viewer)
    send(manager)
    assert offered() == ["new"]


@pytest.mark.parametrize("sent", [{"unconfirmed_by": ""}, {"_confirm": "1"}])
def test_no_extra_form_field_confirms_a_back_end(sent: dict[str, str], manager: User) -> None:
    send(manager, **sent)
    assert offered() == []


def test_the_operators_own_rows_count_as_confirmed() -> None:
    StoredBackend.objects.create(name="shell", url="http://127.0.0.1:9")
    assert offered() == ["shell"]


def test_a_check_reports_unconfirmed_back_ends(manager: User) -> None:
    send(manager)
    (warning,) = [message for message in checks.stored_backends(None) if message.id == "chatui.W017"]
    assert "'new'" in warning.msg and "'karl'" in warning.msg
