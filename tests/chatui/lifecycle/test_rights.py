"""Permissions lost during a request: each administrative action checks them after locking the accounts, and then does nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from chatui.accounts import account_managers, groups, invitations, second_factor
from chatui.audit_log.record import SHELL, Visitor
from chatui.lifecycle import closing
from chatui.lifecycle.erasure import erase
from chatui.models.audit import AuditEvent
from chatui.models.programs import ApiKey
from chatui.models.sign_in import Invitation, PasswordLink, RequiredFactor
from chatui.models.user import ClosingCause, User
from chatui.permissions.access import NotFoundError
from tests.chatui.conftest import PASSWORD, make_person, signed_in

pytestmark = pytest.mark.django_db

RIGHTS = ("view_user", "add_user", "change_user", "delete_user", "view_group", "add_group", "change_group")
Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def keeper() -> User:
    return make_person("keeper", *RIGHTS, staff=True)


@pytest.fixture
def visitor(keeper: User) -> Visitor:
    """With rights that were read and are remembered."""
    assert keeper.has_perm("chatui.change_user"), "the premise"
    return Visitor(keeper, "192.0.2.7", "admin")


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Something that another request does while one waits for the accounts to be free."""
    hold = account_managers.lock

    def patched(happens: Callable[[], object]) -> None:
        def slower(*args: object) -> None:
            happens()
            hold(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(account_managers, "lock", slower)

    return patched


def demote(person: User) -> Callable[[], object]:
    return lambda: User.objects.filter(pk=person.pk).update(is_staff=False)


def traces() -> tuple[object, ...]:
    """What the acts below would leave."""
    counts = tuple(rows.objects.count() for rows in (ApiKey, Group, Invitation, PasswordLink, RequiredFactor))
    return (*counts, AuditEvent.objects.count(), sorted(User.objects.values_list("username", "is_active", "email")))


def test_staff_who_lost_the_permission_cannot_close_reopen_or_erase(
    ada: User, keeper: User, visitor: Visitor, meanwhile: Meanwhile
) -> None:
    closed = make_person("closed")
    closing.close_account(closed, ClosingCause.OPERATOR, SHELL)
    before = traces()
    meanwhile(demote(keeper))
    for act in (
        lambda: closing.close_by_staff(ada, visitor),
        lambda: closing.reopen_account(closed, visitor),
        lambda: erase(visitor, ada),
    ):
        User.objects.filter(pk=keeper.pk).update(is_staff=True)
        with pytest.raises(NotFoundError):
            act()
    User.objects.filter(pk=keeper.pk).update(is_staff=False)
    assert traces() == before


def test_an_account_with_more_permissions_since_is_not_closed_by_staff_with_fewer(
    ada: User, visitor: Visitor, meanwhile: Meanwhile
) -> None:
    more = Permission.objects.get(codename="view_hidden_channels")
    meanwhile(lambda: ada.user_permissions.add(more))
    with pytest.raises(NotFoundError):
        closing.close_by_staff(ada, visitor)
    assert User.objects.get(pk=ada.pk).is_active


def test_staff_who_have_the_permission_may(ada: User, visitor: Visitor) -> None:
    assert closing.close_by_staff(ada, visitor) and closing.reopen_account(ada, visitor)
    erase(visitor, ada)
    assert not User.objects.filter(username="ada").exists()


def test_staff_who_lost_the_permission_cannot_invite_or_change_groups_or_factors(
    keeper: User, visitor: Visitor, meanwhile: Meanwhile
) -> None:
    group = Group.objects.create(name="readers")
    before = traces()
    meanwhile(demote(keeper))
    for act in (
        lambda: invitations.invite(visitor, ["somebody"], None, 7),
        lambda: groups.create(visitor, "writers", []),
        lambda: second_factor.set_for(visitor, group, is_on=True),
    ):
        User.objects.filter(pk=keeper.pk).update(is_staff=True)
        with pytest.raises(NotFoundError):
            act()
    User.objects.filter(pk=keeper.pk).update(is_staff=False)
    assert traces() == before


def form_of(path: str, **values: str) -> Callable[[Client, User], int]:
    filled = lambda person: {name: value.format(person=person.pk) for name, value in values.items()}  # noqa: E731
    return lambda client, person: client.post(path.format(person=person.pk), filled(person)).status_code


PAGES = {
    "close many": form_of("/manage/people/", what="close", sure="yes", person="{person}"),
    "sign out many": form_of("/manage/people/", what="sessions", person="{person}"),
    "a second factor": form_of("/manage/people/{person}/factor/"),
    "an account": form_of("/manage/people/{person}/details/", username="machine", email="elsewhere@example.org"),
    "rights": form_of("/manage/people/{person}/groups/", is_staff="on"),
    "a new account": form_of("/manage/people/new/", username="new"),
    "erasure": form_of("/manage/people/{person}/erase/", name="machine"),
    "a password link": form_of("/manage/people/{person}/password/"),
    "a key": form_of("/manage/people/{person}/key/", name="A script", formats="responses", per_minute="60", lasts="90"),
    "an invitation": form_of("/manage/people/invite/", people="Nora", days="7"),
    "a new group": form_of("/manage/groups/", name="writers"),
    "close one": form_of("/manage/people/{person}/close/"),
    "sessions": form_of("/manage/people/{person}/sessions/"),
}


@pytest.mark.parametrize("page", PAGES)
def test_no_admin_page_acts_for_staff_who_lost_the_permission(page: str, keeper: User, meanwhile: Meanwhile) -> None:
    machine = User.objects.create_user("machine")
    if page == "a password link":
        machine.set_password(PASSWORD)
        machine.save()
    client = signed_in(keeper)
    meanwhile(demote(keeper))
    before = traces()
    assert PAGES[page](client, machine) in (200, 302, 400, 403, 404)
    assert traces() == before


@pytest.mark.parametrize("page", [page for page in PAGES if page != "a second factor"])
def test_each_admin_page_acts_for_staff_who_have_the_permission(page: str, keeper: User) -> None:
    """The twin: what is sent above is what the page takes."""
    machine = User.objects.create_user("machine")
    client = signed_in(keeper)
    before = traces()
    assert PAGES[page](client, machine) in (200, 302)
    assert traces() != before
