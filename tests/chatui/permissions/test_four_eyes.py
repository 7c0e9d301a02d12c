"""The four-eyes rule: somebody who created or changed an account cannot approve its requests, nor the other way round."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.utils import timezone

from chatui.accounts import invitations, provider_groups
from chatui.accounts.sign_in_settings import Provider
from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import AccountChange, GroupChange, User
from chatui.permissions import debug_requests, four_eyes
from tests.chatui.conftest import make_person, signed_in
from tests.support.environment import change
from tests.support.people import are_linked, invite
from tests.support.staff_pages import PEOPLE, page_of, save_details, save_rights

pytestmark = pytest.mark.django_db

NOBODY = Visitor(None, "", "page")
LOOKERS = ("view_hidden_channels", "view_any_conversation")
ACCOUNTS = ("add_user", "change_user", "delete_user", "view_user", "change_group", "view_group")


@pytest.fixture(autouse=True)
def _approval(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"debug_approval": True})


@pytest.fixture
def asker() -> User:
    """May look, and looks after accounts."""
    return make_person("olga", *LOOKERS, *ACCOUNTS, staff=True)


@pytest.fixture
def approver() -> User:
    return make_person("vera", *LOOKERS, staff=True)


def save(by: User, person: User, **changes: str) -> None:
    response = save_details(signed_in(by), person, **changes)
    assert response.status_code == 302, response.content.decode()


def save_group(by: User, group: Group, *codenames: str) -> None:
    permissions = [str(row.pk) for row in Permission.objects.filter(codename__in=codenames)]
    assert signed_in(by).post(f"/manage/groups/{group.pk}/", {"name": group.name, "permissions": permissions}).status_code == 302


def approve(asker: User, approver: User, conversation: Conversation) -> int:
    """The asker asks, the approver approves: the answer's status."""
    debug_requests.open_debug_view(Visitor(asker, "", "page"), conversation.pk, "a fault was reported", 15)
    debug_request = DebugRequest.objects.get(person=asker, decided_at=None)
    path = f"/c/{conversation.pk}/debug/requests/{debug_request.pk}/approve/"
    status = signed_in(approver).post(path, headers={"accept": "application/json"}).status_code
    debug_request.refresh_from_db()
    assert (debug_request.expires_at is not None) == (status == 302)
    DebugRequest.objects.filter(pk=debug_request.pk).update(closed_at=timezone.now(), decided_at=timezone.now())
    return status


def test_two_people_with_unrelated_accounts_can_approve(asker: User, approver: User, conversation: Conversation) -> None:
    save(asker, make_person("carol"), email="carol@example.org")
    assert approve(asker, approver, conversation) == 302


CHANGES: dict[str, Callable[[Client, User], object]] = {
    "address": lambda client, person: save_details(client, person, email="elsewhere@example.org"),
    "name": lambda client, person: save_details(client, person, username="wera"),
    "permissions": lambda client, person: save_rights(client, person, permissions=[]),
    "activity": lambda client, person: client.post(page_of(person, "close")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_account_cannot_approve_for_whoever_changed_it(
    what: str, asker: User, approver: User, conversation: Conversation
) -> None:
    permissions = list(approver.user_permissions.all())
    CHANGES[what](signed_in(asker), approver)
    approver.refresh_from_db()
    User.objects.filter(pk=approver.pk).update(is_active=True)
    approver.user_permissions.set(permissions)
    assert approve(asker, User.objects.get(pk=approver.pk), conversation) == 403


def test_an_account_that_the_requester_created_cannot_approve(asker: User, conversation: Conversation) -> None:
    assert signed_in(asker).post(f"{PEOPLE}new/", {"username": "puppet"}).status_code == 302
    puppet = User.objects.get(username="puppet")
    permissions = [str(row.pk) for row in Permission.objects.filter(codename__in=LOOKERS)]
    assert save_rights(signed_in(asker), puppet, permissions=permissions, is_staff="on").status_code == 302
    assert approve(asker, User.objects.get(pk=puppet.pk), conversation) == 403


def test_an_account_created_by_such_an_account_cannot_approve(asker: User, approver: User, conversation: Conversation) -> None:
    between = make_person("between", *LOOKERS, *ACCOUNTS, staff=True)
    save(asker, between, email="elsewhere@example.org")
    save(between, approver, email="elsewhere@example.org")
    between.delete()
    assert approve(asker, approver, conversation) == 403


def test_somebody_who_changed_the_requesters_account_cannot_approve(asker: User, approver: User, conversation: Conversation) -> None:
    save(asker, approver, email="elsewhere@example.org")
    assert approve(approver, asker, conversation) == 403


def test_whoever_changes_an_empty_group_is_linked_with_everybody_who_joins_it(
    asker: User, approver: User, conversation: Conversation
) -> None:
    """A provider's list can make somebody a member later, and no account is changed by hand."""
    group = Group.objects.create(name="lookers")
    kept, gone = Group.objects.create(name="kept"), Group.objects.create(name="gone")
    for row in (group, gone):
        save_group(asker, row, "view_hidden_channels")
    approver.groups.add(kept, gone)
    approver.groups.remove(gone)
    assert approve(asker, approver, conversation) == 302, "the premise: nobody changed a group that they are in"
    approver.groups.add(group)
    assert approve(asker, approver, conversation) == 403
    GroupChange.objects.update(at=timezone.now() - timedelta(days=31))
    assert approve(asker, approver, conversation) == 302, "old changes link nobody"


COMPANY = Provider.model_construct(key="company", name="", issuer="https://id.example.org", client_id="", groups={"/l": ("lookers",)})


def by_provider(person: User, *said: str) -> None:
    provider_groups.set_groups(NOBODY, person, COMPANY, frozenset(said))


def joins_by_provider(person: User) -> None:
    provider_groups.remember_giver(person, COMPANY)
    by_provider(person, "/l")


def joins_by_staff(person: User) -> None:
    save_rights(signed_in(User.objects.create_superuser("root")), person, groups=list(Group.objects.values_list("pk", flat=True)))


def joins_by_invitation(person: User) -> None:
    inviter = User.objects.create_superuser("root")
    path = invite(inviter, Group.objects.get())
    _, invitation_id, token = path.strip("/").split("/")
    invitations.accept(NOBODY, invitation_id, token, person)


@pytest.mark.parametrize("joins", [joins_by_provider, joins_by_staff, joins_by_invitation])
@pytest.mark.parametrize(
    "leaves", [User.groups.through.objects.all().delete, lambda: Group.objects.all().delete()], ids=["left", "deleted"]
)
def test_who_was_in_a_changed_group_for_a_while_stays_linked_with_whoever_changed_it(
    joins: Callable[[User], None], leaves: Callable[[], object], asker: User, approver: User
) -> None:
    """They may have used its rights meanwhile, to create a second account."""
    group = Group.objects.create(name="lookers")
    between = make_person("between")
    save_group(asker, group, "view_hidden_channels")
    joins(between)
    four_eyes.record_change(between, [approver.pk], "account created")
    assert between.group_names() == {"lookers"} and are_linked(asker, approver), "the premise"
    leaves()
    assert not between.group_names() and are_linked(asker, approver)


def test_joining_a_group_links_only_with_those_who_changed_it_lately(asker: User, approver: User) -> None:
    group = Group.objects.create(name="lookers")
    four_eyes.record_group_change(asker, group)
    by_provider(asker, "/l")
    GroupChange.objects.update(at=timezone.now() - timedelta(days=31))
    by_provider(approver, "/l")
    assert approver.group_names() == asker.group_names() == {"lookers"} and not AccountChange.objects.exists()


def test_password_links_and_group_changes_link_accounts(asker: User, approver: User, conversation: Conversation) -> None:
    signed_in(asker).post(page_of(approver, "password"))
    assert approve(asker, approver, conversation) == 403
    AccountChange.objects.all().delete()
    assert approve(asker, approver, conversation) == 302, "the premise"
    group = Group.objects.create(name="lookers")
    approver.groups.add(group)
    save_group(asker, group, "view_hidden_channels")
    assert approve(asker, approver, conversation) == 403


def test_old_changes_no_longer_link_accounts(
    asker: User, approver: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(asker, approver, email="elsewhere@example.org")
    AccountChange.objects.update(at=timezone.now() - timedelta(days=29))
    assert approve(asker, approver, conversation) == 403
    AccountChange.objects.update(at=timezone.now() - timedelta(days=31))
    assert approve(asker, approver, conversation) == 302
    change(monkeypatch, {"debug_approval": True, "four_eyes_days": 60})
    assert approve(asker, approver, conversation) == 403


def test_a_machine_whose_clock_is_fast_forgets_no_change(
    asker: User, approver: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(asker, approver, email="elsewhere@example.org")
    right = timezone.now()
    AccountChange.objects.update(at=right - timedelta(days=29))
    assert are_linked(asker, approver), "the premise"
    monkeypatch.setattr(timezone, "now", lambda: right + timedelta(days=2))
    assert are_linked(asker, approver)


def test_e_x_four_eyes_has_its_own_message_and_line(asker: User, approver: User, conversation: Conversation) -> None:
    save(asker, approver, email="elsewhere@example.org")
    debug_requests.open_debug_view(Visitor(asker, "", "page"), conversation.pk, "a fault was reported", 15)
    debug_request = DebugRequest.objects.get()
    client = signed_in(approver)
    shown = client.get("/debug/requests/").content.decode()
    assert "You cannot approve this" in shown and "/approve/" not in shown and "/decline/" in shown
    answer = client.post(f"/c/{conversation.pk}/debug/requests/{debug_request.pk}/approve/", headers={"accept": "application/json"})
    assert answer.status_code == 403 and answer.json()["code"] == "E-X-FOUR-EYES"
    line = AuditEvent.objects.order_by("-number")[0]
    assert (line.action, line.code, line.actor, line.conversation_id, line.detail) == (
        "approve debug view",
        "E-X-FOUR-EYES",
        approver,
        conversation.pk,
        "for olga",
    )
    assert client.post(f"/c/{conversation.pk}/debug/requests/{debug_request.pk}/decline/").status_code == 302, "they may always decline"


def test_permissions_to_change_accounts_are_shown_on_the_page(asker: User, approver: User, conversation: Conversation) -> None:
    debug_requests.open_debug_view(Visitor(asker, "", "page"), conversation.pk, "a fault was reported", 15)
    able = "olga may create accounts, change accounts, change groups, delete accounts"
    shown = signed_in(approver).get("/debug/requests/").content.decode()
    assert able in shown and f"{approver} may" not in shown


def change_in_turn(*people: UUID) -> None:
    """Each person changes the next one's account."""
    AccountChange.objects.bulk_create(
        AccountChange(changer_id=changer, changed_id=changed, what="") for changer, changed in pairwise(people)
    )


@pytest.mark.parametrize("between", [0, 1, 7])
def test_a_chain_of_changes_links_its_ends_in_both_directions(between: int, asker: User, approver: User) -> None:
    assert not are_linked(asker, approver)
    change_in_turn(asker.pk, *(uuid4() for _ in range(between)), approver.pk)
    assert are_linked(asker, approver) and are_linked(approver, asker)


def test_accounts_behind_a_chain_too_long_to_follow_count_as_one_person(asker: User, approver: User) -> None:
    change_in_turn(asker.pk, *(uuid4() for _ in range(7)))
    assert not are_linked(asker, approver), "seven can be followed to the end"
    change_in_turn(AccountChange.objects.latest("pk").changed_id, uuid4())
    assert are_linked(asker, approver)


def test_changes_in_a_circle_link_nobody_outside_it(asker: User, approver: User) -> None:
    third = uuid4()
    change_in_turn(asker.pk, third, asker.pk)
    change_in_turn(approver.pk, uuid4())
    change_in_turn(uuid4(), third)
    assert not are_linked(asker, approver)


def test_two_accounts_that_a_third_changed_are_not_linked(asker: User, approver: User) -> None:
    third = uuid4()
    change_in_turn(third, asker.pk)
    change_in_turn(third, approver.pk)
    assert not are_linked(asker, approver)


def test_changes_of_others_accounts_are_recorded_unless_the_operator_made_them(asker: User, approver: User, ada: User) -> None:
    four_eyes.record_change(None, [approver.pk], "groups changed")
    assert not AccountChange.objects.exists()
    four_eyes.record_change(asker, [asker.pk, approver.pk, ada.pk], "groups changed")
    changes = set(AccountChange.objects.values_list("changer_id", "changed_id", "what"))
    assert changes == {(asker.pk, person.pk, "groups changed") for person in (approver, ada)}
