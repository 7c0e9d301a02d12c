"""Members of a group in the admin pages: adding and removing, with the same rules and audit log lines as on the pages of people."""

import pytest
from django.contrib.auth.models import Group, Permission

from chatui.accounts import account_managers, people
from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from tests.chatui.conftest import make_person, signed_in

pytestmark = pytest.mark.django_db

RIGHTS = ("view_user", "view_group", "change_user")


@pytest.fixture
def kim() -> User:
    """Staff who manage accounts."""
    return make_person("kim", *RIGHTS, staff=True)


@pytest.fixture
def readers(ada: User) -> Group:
    """A group with Ada."""
    group = Group.objects.create(name="readers")
    group.user_set.add(ada)
    return group


def path_of(group: Group) -> str:
    return f"/manage/groups/{group.pk}/"


def members(group: Group) -> set[str]:
    return set(group.user_set.values_list("username", flat=True))


def move(staff: User, group: Group, person: User, where: str, **more: str) -> int:
    return signed_in(staff).post(path_of(group), {"member": where, "person": str(person.pk)} | more).status_code


def test_members_are_listed_found_added_and_removed(kim: User, readers: Group, ada: User, bela: User) -> None:
    client = signed_in(kim)
    page = client.get(path_of(readers)).content.decode()
    assert "<bdi>ada</bdi>" in page and "<bdi>bela</bdi>" not in page and "Remove from the group" in page
    found = client.get(path_of(readers), {"q": "bel"}).content.decode().partition('id="members-heading"')[2]
    assert "<bdi>bela</bdi>" in found and "<bdi>ada</bdi>" not in found and "Add to the group" in found
    answer = client.post(path_of(readers), {"member": "in", "person": str(bela.pk), "q": "bel"})
    assert answer["Location"].endswith("&q=bel#members-heading") and members(readers) == {"ada", "bela"}
    assert "bela is now a member of this group." in client.get(answer["Location"]).content.decode()
    assert move(kim, readers, ada, "out") == 302 and members(readers) == {"bela"}
    assert move(kim, readers, ada, "out") == 302, "an unchanged state is no change"
    lines = AuditEvent.objects.filter(action="account changed").order_by("number").values_list("actor_name", "owner_name", "detail", "way")
    assert list(lines) == [("kim", "bela", "joined group readers", "admin"), ("kim", "ada", "left group readers", "admin")]


def test_changing_members_needs_the_permission_for_the_account_and_group(kim: User, readers: Group, ada: User, bela: User) -> None:
    reader = make_person("reader", "view_user", "view_group", "change_group", staff=True)
    page = signed_in(reader).get(path_of(readers)).content.decode()
    assert "<bdi>ada</bdi>" in page and "Remove from the group" not in page and move(reader, readers, ada, "out") == 404
    mighty = make_person("mighty", "view_hidden_channels", staff=True)
    assert move(kim, readers, mighty, "in") == 404 and move(kim, readers, kim, "in") == 404
    for name in ("mighty", "kim"):
        assert "Add to the group" not in signed_in(kim).get(path_of(readers), {"q": name}).content.decode()
    readers.permissions.set(Permission.objects.filter(codename="view_hidden_channels"))
    assert (
        move(kim, readers, bela, "in") == 404
        and "Add to the group" not in signed_in(kim).get(path_of(readers), {"q": "bela"}).content.decode()
    )
    assert members(readers) == {"ada"} and not AuditEvent.objects.filter(action="account changed").exists()


@pytest.mark.parametrize(("member", "person"), [("in", "x"), ("in", ""), ("", "{ada}"), ("both", "{ada}")])
def test_a_non_member_is_not_found(member: str, person: str, kim: User, readers: Group, ada: User) -> None:
    sent = {"member": member, "person": person.format(ada=ada.pk)}
    assert signed_in(kim).post(path_of(readers), sent).status_code == 404 and members(readers) == {"ada"}


def test_the_last_account_manager_stays_in_their_group(ada: User) -> None:
    root = User.objects.create_superuser("root", password="correct horse battery")
    User.objects.filter(pk=root.pk).update(is_superuser=False)
    keepers = Group.objects.create(name="keepers")
    keepers.permissions.set(Permission.objects.filter(codename__in=RIGHTS, content_type__app_label__in=("chatui", "auth")))
    keepers.user_set.add(root)
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    ada.user_permissions.set(Permission.objects.filter(codename__in=RIGHTS, content_type__app_label__in=("chatui", "auth")))
    ada.set_unusable_password()
    ada.save(update_fields=["password"])
    staff = User.objects.get(pk=ada.pk)
    answer = signed_in(staff).post(path_of(keepers), {"member": "out", "person": str(root.pk)})
    assert answer.status_code == 409 and "nobody else could manage accounts" in answer.content.decode()
    assert members(keepers) == {"root"} and AuditEvent.objects.filter(action="account not changed").count() == 1


def test_an_account_that_gained_permissions_meanwhile_is_not_changed(
    kim: User, readers: Group, bela: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = account_managers.lock

    def faster(*args: object) -> None:
        bela.user_permissions.add(Permission.objects.get(codename="view_hidden_channels"))
        hold(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(account_managers, "lock", faster)
    with pytest.raises(NotFoundError):
        people.set_member(Visitor(kim, "192.0.2.7", "admin"), bela.pk, readers, is_in=True)
    assert members(readers) == set(readers.user_set.values_list("username", flat=True)) == {"ada"}
