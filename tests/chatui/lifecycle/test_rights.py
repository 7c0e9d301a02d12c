"""Permissions lost during a request: each administrative action checks them after locking the accounts, and then does nothing."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, Permission

from chatui.accounts import account_managers
from chatui.audit_log.record import Visitor
from chatui.lifecycle import closing
from chatui.models.audit import AuditEvent
from chatui.models.invitations import Invitation
from chatui.models.programs import ApiKey
from chatui.models.sign_in import PasswordLink, RequiredFactor
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from tests.chatui.conftest import PASSWORD, make_person, signed_in
from tests.support.people import close

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


def traces() -> tuple[object, ...]:
    """What the acts below would leave."""
    counts = tuple(rows.objects.count() for rows in (ApiKey, Group, Invitation, PasswordLink, RequiredFactor, User.groups.through))
    return (*counts, AuditEvent.objects.count(), sorted(User.objects.values_list("username", "is_active", "email")))


def test_an_account_with_more_permissions_since_is_not_closed_by_staff_with_fewer(
    ada: User, visitor: Visitor, meanwhile: Meanwhile
) -> None:
    more = Permission.objects.get(codename="view_hidden_channels")
    meanwhile(lambda: ada.user_permissions.add(more))
    with pytest.raises(NotFoundError):
        closing.close_by_staff(ada, visitor)
    assert User.objects.get(pk=ada.pk).is_active


PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "close many": ("people/", {"what": "close", "sure": "yes", "person": "{person}"}),
    "sign out many": ("people/", {"what": "sessions", "person": "{person}"}),
    "a second factor": ("people/{person}/factor/", {}),
    "an account": ("people/{person}/details/", {"username": "machine", "email": "elsewhere@example.org"}),
    "rights": ("people/{person}/groups/", {"is_staff": "on"}),
    "a new account": ("people/new/", {"username": "new"}),
    "erasure": ("people/{person}/erase/", {"name": "machine"}),
    "a password link": ("people/{person}/password/", {}),
    "a key": ("people/{person}/key/", {"name": "A script", "formats": "responses", "per_minute": "60", "lasts": "90"}),
    "an invitation": ("people/invite/", {"people": "Nora", "days": "7"}),
    "a new group": ("groups/", {"name": "writers"}),
    "a required factor": ("groups/{group}/", {"required": "on"}),
    "a member": ("groups/{group}/", {"member": "in", "person": "{person}"}),
    "close one": ("people/{person}/close/", {}),
    "open one": ("people/{person}/open/", {}),
    "sessions": ("people/{person}/sessions/", {}),
}
"""The form of each page of Administration: its address below /manage/, and what is sent about somebody or a group."""


@pytest.fixture
def machine() -> User:
    """An account without a password."""
    return User.objects.create_user("machine")


def send(keeper: User, page: str, machine: User) -> int:
    path, sent = PAGES[page]
    keys = {"person": machine.pk, "group": Group.objects.get().pk}
    fields = {name: value.format(**keys) for name, value in sent.items()}
    return signed_in(keeper).post(f"/manage/{path.format(**keys)}", fields).status_code


def arrange(page: str, machine: User) -> None:
    """What some of the pages need to have something to do."""
    Group.objects.create(name="readers")
    if page == "a password link":
        machine.set_password(PASSWORD)
        machine.save()
    if page == "open one":
        close(machine)


@pytest.mark.parametrize("page", PAGES)
def test_no_admin_page_acts_for_staff_who_lost_the_permission(page: str, keeper: User, machine: User, meanwhile: Meanwhile) -> None:
    arrange(page, machine)
    meanwhile(lambda: User.objects.filter(pk=keeper.pk).update(is_staff=False))
    before = traces()
    assert send(keeper, page, machine) in (200, 302, 400, 403, 404)
    assert traces() == before


@pytest.mark.parametrize("page", [page for page in PAGES if page != "a second factor"])
def test_each_admin_page_acts_for_staff_who_have_the_permission(page: str, keeper: User, machine: User) -> None:
    """The twin: what is sent above is what the page takes."""
    arrange(page, machine)
    before = traces()
    assert send(keeper, page, machine) in (200, 302)
    assert traces() != before
