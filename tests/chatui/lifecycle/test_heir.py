"""The heir of closed accounts is an account, not a name: nobody but the operator chooses, changes or takes it."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chatui.accounts import account_linking, people, sign_in_settings
from chatui.accounts.openid import NotAdmittedError
from chatui.audit_log.record import SHELL, Visitor
from chatui.database.faults import Refused
from chatui.lifecycle import closed_accounts, closing
from chatui.lifecycle.closed_accounts import NoHeirError
from chatui.models.audit import AuditEvent
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import ClosingCause, User
from chatui.permissions.access import NotFoundError
from tests.chatui.conftest import confirmed, make_person, signed_in
from tests.chatui.lifecycle.conftest import TABLE, Directory
from tests.support.environment import change
from tests.support.people import close
from tests.support.provider_sign_ins import connect, sign_in
from tests.support.system_checks import said

RIGHTS = ("view_user", "add_user", "change_user", "delete_user", "view_group", "change_group")


@pytest.fixture
def heir(db: None) -> User:
    make_person("keeper", *RIGHTS, staff=True)
    make_person("archive")
    call_command("purge", heir="archive", stdout=StringIO())
    return User.objects.get(username="archive")


def staff() -> Visitor:
    return Visitor(User.objects.get(username="keeper"), "192.0.2.7", "admin")


def test_the_operator_chooses_an_account_that_exists_and_is_open(heir: User, monkeypatch: pytest.MonkeyPatch) -> None:
    assert people.heir() == heir
    closed = make_person("closed")
    close(closed)
    for name in ("nobody", "closed", "ARCHIVE "):
        with pytest.raises(CommandError):
            call_command("purge", heir=name)
    assert people.heir() == heir, "a refused choice changes nothing"
    make_person("another")
    call_command("purge", heir="another", stdout=StringIO())
    assert people.heir() == User.objects.get(username="another") and User.objects.filter(is_heir=True).count() == 1
    call_command("purge", heir="", stdout=StringIO())
    assert people.heir() is None
    lines = AuditEvent.objects.filter(action__startswith="heir").order_by("number").values_list("action", "owner_name")
    not_any_more = "heir not chosen any more"
    assert list(lines) == [("heir chosen", "archive"), (not_any_more, "archive"), ("heir chosen", "another"), (not_any_more, "another")]
    assert not said("W059"), "nothing is to be handed over"
    change(monkeypatch, {"closed_accounts": "hand-over"})
    assert said("W059")
    closed_accounts.choose_heir(SHELL, "archive")
    assert not said("W059"), "the twin"


def test_whoever_takes_the_name_inherits_nothing(db: None, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"closed_accounts": "hand-over", "closed_account_days": 0})
    make_person("archive")
    close(ada)
    with pytest.raises(NoHeirError):
        list(closed_accounts.apply_retention(SHELL, Refused()))
    assert User.objects.filter(pk=ada.pk).exists()


def test_nobody_closes_or_erases_the_heir(heir: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"close_own_account": True})
    for command in ("close_account", "erase_person"):
        with pytest.raises(CommandError, match="heir"):
            call_command(command, "archive", stdout=StringIO())
    for cause in (ClosingCause.OWN, ClosingCause.LOGOUT, ClosingCause.PROVISIONING, ClosingCause.OPERATOR):
        with pytest.raises(closing.CannotCloseError):
            close(heir, cause)
    with pytest.raises(NotFoundError):
        closing.close_by_staff(heir, staff())
    page = confirmed(signed_in(heir)).post("/settings/close/", {"sure": "yes"})
    assert page.status_code == 400 and "conversations of closed accounts" in page.content.decode()
    assert User.objects.get(pk=heir.pk).is_active
    closed_accounts.choose_heir(SHELL, "")
    assert close(heir), "the twin"


@pytest.mark.parametrize("is_superuser", [False, True])
def test_staff_do_not_change_the_heir(is_superuser: bool, heir: User) -> None:
    User.objects.filter(username="keeper").update(is_superuser=is_superuser)
    client = signed_in(User.objects.get(username="keeper"))
    before = User.objects.get(pk=heir.pk).__dict__
    key = heir.pk
    for path, fields in (
        (f"/manage/people/{key}/details/", {"username": "other"}),
        (f"/manage/people/{key}/erase/", {"name": "archive"}),
        (f"/manage/people/{key}/password/", {"void": "yes"}),
        ("/manage/people/", {"what": "close", "sure": "yes", "person": str(key)}),
        (f"/manage/people/{key}/groups/", {"is_staff": "on"}),
        (f"/manage/people/{key}/close/", {"sure": "yes"}),
    ):
        client.post(path, fields)
        now = User.objects.get(pk=heir.pk)
        assert {name: now.__dict__[name] for name in before if name != "_state"} == {n: v for n, v in before.items() if n != "_state"}, path
    closed_accounts.choose_heir(SHELL, "")
    assert people.changeable(staff(), heir.pk) == heir, "the twin"


def test_no_provider_and_no_directory_takes_or_changes_the_heir(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    key = directory.create_account("archive", "00u9")
    heir = User.objects.get(username="archive")
    closed_accounts.choose_heir(SHELL, "archive")
    for method, path, body in (
        ("PATCH", f"Users/{key}", {"Operations": [{"op": "replace", "value": {"userName": "other"}}]}),
        ("PATCH", f"Users/{key}", {"Operations": [{"op": "replace", "value": {"active": False}}]}),
        ("DELETE", f"Users/{key}", None),
    ):
        assert directory.ask(method, path, body)[0] == 404
    said: dict[str, Any] = {"groups": None, "directory_id": "00u9"}
    with pytest.raises(NotAdmittedError):
        sign_in(TABLE, "00u9", "archive", **said)
    with pytest.raises(NotAdmittedError):
        connect(User.objects.get(pk=heir.pk), TABLE, "00u9", "archive", **said)
    assert account_linking.connectable(User.objects.get(pk=heir.pk)) == [] and not OutsideIdentity.objects.exists()
    closed_accounts.choose_heir(SHELL, "")
    sign_in(TABLE, "00u9", "archive", **said)
    closed_accounts.choose_heir(SHELL, "archive")
    assert sign_in(TABLE, "00u9", "other", **said) == heir, "an identity from before goes on"
    assert User.objects.get(pk=heir.pk).username == "archive" and sign_in_settings.provider_of("company")
