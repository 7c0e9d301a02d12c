"""What staff may do on the admin pages: each part needs its permission, and nobody gains permissions by changing others' accounts."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType

from chatui.models.user import User
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from tests.chatui.conftest import make_person

pytestmark = pytest.mark.django_db

PARTS = {
    "view_user": (AdminPart.PEOPLE,),
    "view_storedbackend": (AdminPart.SERVERS, AdminPart.FAILURES),
    "view_tools": (AdminPart.TOOLS,),
    "view_hidden_channels": (AdminPart.REQUESTS,),
    "view_auditevent": (AdminPart.DEBUG_VIEWS, AdminPart.AUDIT),
    "view_usage": (AdminPart.USAGE,),
    "change_storedbackend": (AdminPart.SETTINGS, AdminPart.SYSTEM),
    "export_ratings": (AdminPart.RATINGS,),
}

NEEDED: dict[str, tuple[Callable[[User, User, Group], bool], set[str]]] = {
    "examine": (lambda staff, _, __: administration.may_examine(staff), {"view_storedbackend", "change_storedbackend"}),
    "change tools": (lambda staff, _, __: administration.may_change_tools(staff), {"view_tools", "change_tools"}),
    "connect tools": (lambda staff, _, __: administration.may_connect_tools(staff), {"view_tools", "connect_tools"}),
    "choose search": (
        lambda staff, _, __: administration.may_choose_search(staff),
        {"view_tools", "connect_tools", "view_hidden_channels"},
    ),
    "see groups": (lambda staff, _, __: administration.may_see_groups(staff), {"view_user", "view_group"}),
    "make groups": (lambda staff, _, __: administration.may_make_groups(staff), {"view_user", "view_group", "add_group"}),
    "change group": (lambda staff, _, group: administration.may_change_group(staff, group), {"view_user", "view_group", "change_group"}),
    "change account": (lambda staff, person, _: administration.may_change(staff, person), {"change_user"}),
    "erase account": (lambda staff, person, _: administration.may_erase(staff, person), {"delete_user"}),
    "invite": (lambda staff, _, __: administration.may_invite(staff, None), {"view_user", "add_user"}),
    "invite into group": (lambda staff, _, group: administration.may_invite(staff, group), {"view_user", "add_user"}),
}


def permit(staff: User, *codenames: str) -> User:
    """The same account with exactly these permissions, fetched again: a fetched account remembers those it had."""
    staff.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return User.objects.get(pk=staff.pk)


def group_with(name: str, *codenames: str) -> Group:
    group = Group.objects.create(name=name)
    group.permissions.set(Permission.objects.filter(codename__in=codenames))
    return group


MANAGING = ("view_user", "add_user", "change_user", "delete_user", "view_group", "add_group", "change_group")


@pytest.fixture
def kim(db: None) -> User:
    """Staff who manage accounts and groups."""
    return make_person("kim", *MANAGING, staff=True)


@pytest.fixture
def lea(db: None) -> User:
    """Staff with the same permissions as kim."""
    return make_person("lea", *MANAGING, staff=True)


@pytest.fixture
def mighty(grace: User, sam: User, bela: User, root: User) -> set[User]:
    """Everybody with permissions that kim lacks: by themselves, by a group, by both, in a deactivated account, and a superuser."""
    readers = group_with("readers", "view_auditevent", "view_usage")
    readers.user_set.add(sam, grace)
    group_with("more readers", "view_auditevent").user_set.add(sam)
    bela.user_permissions.set(Permission.objects.filter(codename="view_usage"))
    User.objects.filter(pk=bela.pk).update(is_active=False)
    return {grace, sam, bela, root}


@pytest.mark.parametrize("codename", PARTS)
def test_a_permission_opens_its_parts_of_the_admin_pages_and_no_others(codename: str, sam: User) -> None:
    staff = permit(sam, codename)
    assert administration.parts_of(staff) == PARTS[codename]
    for part in AdminPart:
        if part in PARTS[codename]:
            assert administration.require_part(staff, part) == staff
        else:
            with pytest.raises(NotFoundError):
                administration.require_part(staff, part)


def test_nobody_opens_the_admin_pages_without_staff_status_an_active_account_and_a_part(root: User, sam: User) -> None:
    assert administration.parts_of(root) == tuple(AdminPart) and administration.require_part(root) == root
    for lost in ("is_staff", "is_active"):
        setattr(root, lost, False)
        assert administration.parts_of(root) == (), lost
        setattr(root, lost, True)
    for person in (sam, None):
        with pytest.raises(NotFoundError):
            administration.require_part(person)


@pytest.mark.parametrize("what", NEEDED)
def test_an_action_needs_each_of_its_permissions_and_an_active_staff_account(what: str, sam: User, ada: User) -> None:
    may, needed = NEEDED[what]
    group = Group.objects.create(name="readers")
    staff = permit(sam, *needed)
    assert may(staff, ada, group), "the premise"
    for codename in needed:
        assert not may(permit(sam, *needed - {codename}), ada, group), f"without {codename}"
    for lost in ("is_staff", "is_active"):
        setattr(staff, lost, False)
        assert not may(staff, ada, group), lost
        setattr(staff, lost, True)


def test_the_people_with_more_permissions_are_found_once_each(kim: User, mighty: set[User], lea: User, ada: User) -> None:
    assert sorted(administration.people_with_more_permissions(kim), key=str) == sorted(mighty, key=str)


def test_nobody_has_more_permissions_than_they_have_themselves_even_in_a_deactivated_account(kim: User, grace: User, ada: User) -> None:
    kim.is_active = False
    assert set(administration.people_with_more_permissions(kim)) == {grace}


def test_nobody_has_more_permissions_than_a_superuser(root: User, mighty: set[User]) -> None:
    User.objects.create_superuser("another root")
    assert not administration.people_with_more_permissions(root).exists()
    assert all(administration.may_change(root, person) for person in User.objects.exclude(pk=root.pk))


def test_staff_change_and_erase_no_account_with_more_permissions_and_not_their_own(
    kim: User, mighty: set[User], lea: User, ada: User
) -> None:
    for may in (administration.may_change, administration.may_erase):
        assert [person for person in User.objects.all() if may(kim, person)] == [lea, ada]


def test_staff_put_only_people_whom_they_may_change_into_groups_that_give_nothing_more(
    kim: User, mighty: set[User], lea: User, ada: User
) -> None:
    everybody = {person.pk for person in User.objects.all()}
    plain, managers = group_with("plain"), group_with("managers", *MANAGING)
    assert [group.name for group in administration.assignable_groups(kim)] == ["managers", "plain"]
    for group in (plain, managers):
        assert administration.changeable_people(kim, group, everybody) == {lea.pk, ada.pk}
        assert administration.may_change_group(kim, group) and administration.may_invite(kim, group)
    for group in Group.objects.filter(name__contains="readers"):
        assert administration.changeable_people(kim, group, everybody) == set()
        assert not administration.may_change_group(kim, group) and not administration.may_invite(kim, group)
    for codename in ("view_user", "change_user"):
        assert administration.changeable_people(permit(kim, codename), plain, {ada.pk}) == set(), f"with {codename} alone"


def test_a_superuser_may_use_every_group(root: User, mighty: set[User], ada: User) -> None:
    readers = Group.objects.get(name="readers")
    assert list(administration.assignable_groups(root)) == list(Group.objects.order_by("name"))
    assert administration.may_change_group(root, readers) and administration.may_invite(root, readers)
    assert administration.changeable_people(root, readers, {ada.pk, root.pk}) == {ada.pk}


def test_staff_grant_to_groups_only_permissions_of_the_catalogue_that_they_hold(kim: User, root: User) -> None:
    kim = permit(kim, "view_user", "view_group", "view_permission")
    assert {row.codename for row in administration.group_permissions(kim)} == {"view_user", "view_group"}
    other_app = ContentType.objects.get(app_label="sessions", model="session")
    Permission.objects.create(content_type=other_app, codename="view_user", name="of another app")
    granted = {f"{row.content_type.app_label}.{row.codename}" for row in administration.group_permissions(root)}
    assert granted == set(administration.DESCRIPTIONS)
