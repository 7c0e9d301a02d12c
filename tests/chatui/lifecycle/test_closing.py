"""Closed accounts: what ends with them, for each cause, which accounts cannot be closed, and what happens to their data."""

import asyncio
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from chatui.accounts import api_keys, key_admission
from chatui.audit_log import chain
from chatui.audit_log.record import SHELL, Visitor
from chatui.lifecycle import closed_accounts, closing
from chatui.lifecycle.closing import CannotCloseError
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation, Folder
from chatui.models.debug_requests import DebugRequest
from chatui.models.invitations import Invitation
from chatui.models.message import Message
from chatui.models.shares import ShareLink
from chatui.models.sign_in import PasswordLink
from chatui.models.turn import Turn
from chatui.models.user import ClosedAccount, ClosingCause, User
from chatui.permissions import debug_requests
from chatui.store import ownership_transfer, search_index, search_words
from tests.chatui.conftest import OPENING, PASSWORD, make_person, signed_in
from tests.chatui.store.long_conversations import long_conversation
from tests.support.browser_socket import BrowserSocket
from tests.support.environment import change
from tests.support.people import invite
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, answer, frame
from tests.support.staff_pages import PEOPLE, save_rights

pytestmark = pytest.mark.django_db

HERE = Visitor(None, "192.0.2.9", "program")


def lines_about(name: str) -> list[tuple[str, str]]:
    return list(AuditEvent.objects.filter(owner_name=name).order_by("number").values_list("action", "detail"))


def test_closing_ends_all_access(root: User) -> None:
    person = make_person("vera", "view_user", "add_user", "view_hidden_channels", "view_any_conversation", staff=True)
    browser, own_visitor = signed_in(person), Visitor(person, "192.0.2.1", "page")
    key = api_keys.create(own_visitor, api_keys.NewKeyOptions(name="A script", for_responses=True, for_chat=True))
    invitation = invite(person)
    PasswordLink.objects.create(user=person, made_by_name="root", expires_at=timezone.now() + timedelta(days=1))
    other = long_conversation(root, 2, "carrot")
    debug_requests.open_debug_view(own_visitor, other.pk, OPENING["reason"])
    link = ShareLink.objects.filter(created_by=root).first()
    assert browser.get("/").status_code == 200 and key_admission.admit(key.text, "192.0.2.1").owner == person, "the premise"
    assert Client().get(invitation).status_code == 200 and link is not None, "the premise"
    assert closing.close_account(person, ClosingCause.STAFF, Visitor(root, "192.0.2.2", "admin"))
    assert browser.get("/").status_code == 302
    assert Client().post("/sign-in/", {"username": "vera", "password": PASSWORD}).status_code == 200
    with pytest.raises(key_admission.KeyRefusedError):
        key_admission.admit(key.text, "192.0.2.1")
    assert Client().get(invitation).status_code == 404 and Invitation.objects.get().revoked_at is not None
    assert not DebugRequest.objects.filter(person=person, closed_at=None).exists()
    assert not PasswordLink.objects.filter(expires_at__gt=timezone.now() + timedelta(seconds=1)).exists()
    assert ("account closed", "by staff") in lines_about("vera") and chain.verify().is_intact


def test_a_closing_by_staff_replaces_one_by_a_provider(ada: User, root: User) -> None:
    assert closing.close_account(ada, ClosingCause.PROVISIONING, HERE, source="company")
    assert not closing.close_account(ada, ClosingCause.OWN, HERE), "nobody else does"
    assert closing.close_account(ada, ClosingCause.STAFF, Visitor(root, "", "admin"))
    assert not closing.close_account(ada, ClosingCause.OPERATOR, SHELL) and not closing.close_account(
        ada, ClosingCause.LOGOUT, HERE, source="company"
    )
    assert closing.closed_by(ada) == (ClosingCause.STAFF, "") and ClosedAccount.objects.get().by_name == "root"
    assert lines_about("ada")[-1] == ("account closed", "by staff, before: says the directory of company")


def test_reopening_an_account_does_not_restore_its_access(ada: User) -> None:
    browser = signed_in(ada)
    closing.close_account(ada, ClosingCause.OPERATOR, SHELL)
    assert closing.reopen_account(ada, SHELL) and not closing.reopen_account(ada, SHELL)
    assert User.objects.get(pk=ada.pk).is_active and not ClosedAccount.objects.exists()
    assert browser.get("/").status_code == 302
    assert Client().post("/sign-in/", {"username": "ada", "password": PASSWORD}).status_code == 302
    assert lines_about("ada")[:2] == [("account closed", "by the operator"), ("account reopened", "")]


@pytest.mark.parametrize("cause", [ClosingCause.PROVISIONING, ClosingCause.LOGOUT])
def test_no_other_server_closes_superusers_and_emergency_accounts(
    cause: ClosingCause, root: User, ada: User, grace: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_person("keeper", "change_user", staff=True)
    (tmp_path / "sign-in.toml").write_text('emergency_accounts = ["ada"]\n')
    change(monkeypatch, {"sign_in_file": tmp_path / "sign-in.toml"})
    for person in (root, ada):
        with pytest.raises(CannotCloseError):
            closing.close_account(person, cause, HERE, source="company")
        assert User.objects.get(pk=person.pk).is_active
    assert closing.close_account(grace, cause, HERE, source="company"), "the twin"
    assert [action for action, _ in lines_about("root")] == ["account not closed"]


@pytest.mark.parametrize("cause", [cause for cause in ClosingCause if cause is not ClosingCause.OPERATOR])
def test_the_last_account_manager_is_not_closed(cause: ClosingCause, ada: User) -> None:
    first, second = (make_person(name, "change_user", staff=True) for name in ("first", "second"))
    assert closing.close_account(first, cause, HERE)
    with pytest.raises(CannotCloseError):
        closing.close_account(second, cause, HERE)
    assert User.objects.get(pk=second.pk).is_active
    assert closing.close_account(second, ClosingCause.OPERATOR, SHELL), "the console can still create an operator"


def test_the_command_closes_and_reopens(ada: User) -> None:
    output = StringIO()
    for more in ([], [], ["--reopen"], ["--reopen"]):
        call_command("close_account", "ada", *more, stdout=output)
    assert output.getvalue().split("\n") == ["Closed.", "It was closed.", "Opened.", "It was open.", ""]


def test_staff_cannot_remove_the_last_account_manager(ada: User, root: User) -> None:
    keeper = make_person("keeper", "view_user", "change_user", staff=True)
    root.set_unusable_password()
    root.save()
    page = save_rights(signed_in(root), keeper, is_staff="")
    assert page.status_code == 409 and "Nothing was changed" in page.content.decode() and User.objects.get(pk=keeper.pk).is_staff
    assert lines_about("keeper") == [("account not changed", "by staff: nobody else could look after accounts")]
    save_rights(signed_in(root), keeper, permissions=[])
    assert User.objects.get(pk=keeper.pk).has_perm("chatui.change_user")
    answer = signed_in(root).post(PEOPLE, {"what": "close", "sure": "yes", "person": [str(keeper.pk), str(ada.pk)]})
    assert "changed=1&unchanged=1" in answer["Location"]
    assert User.objects.get(pk=keeper.pk).is_active and not User.objects.get(pk=ada.pk).is_active, "each by itself"
    make_person("second", "change_user", staff=True)
    save_rights(signed_in(root), keeper, is_staff="")
    assert not User.objects.get(pk=keeper.pk).is_staff, "the twin"


def test_several_people_are_closed_after_a_question_and_only_those_that_staff_may_change(ada: User, root: User, grace: User) -> None:
    keeper = make_person("keeper", "change_user", "view_user", staff=True)
    sent = {"person": [str(person.pk) for person in (ada, root, grace, keeper)]}
    page = signed_in(keeper).post(PEOPLE, sent | {"what": "close"}).content.decode()
    assert "These people are signed out everywhere at once" in page and not User.objects.filter(is_active=False).exists()
    signed_in(keeper).post(PEOPLE, sent | {"what": "close", "sure": "yes"})
    assert set(User.objects.filter(is_active=False)) == {ada}, "not oneself, a superuser, or somebody with more permissions"
    signed_in(keeper).post(PEOPLE, sent | {"what": "open"})
    assert not User.objects.filter(is_active=False).exists()
    assert signed_in(grace).post(PEOPLE, sent | {"what": "close", "sure": "yes"}).status_code == 404
    assert not User.objects.filter(is_active=False).exists(), "not without the permission"


def test_several_people_are_signed_out_and_added_to_a_group(ada: User, bela: User, grace: User) -> None:
    keeper = make_person("keeper", "change_user", "view_user", staff=True)
    client, member = signed_in(keeper), signed_in(ada)
    readers, lookers = Group.objects.create(name="readers"), Group.objects.create(name="lookers")
    lookers.permissions.add(Permission.objects.get(codename="view_hidden_channels"))
    sent = {"person": [str(person.pk) for person in (ada, bela, grace)]}
    for group in (readers, lookers):
        client.post(PEOPLE, sent | {"what": "add", "group": str(group.pk)})
    assert set(readers.user_set.all()) == {ada, bela} and not lookers.user_set.exists(), "nobody gives what they do not have"
    assert member.get("/").status_code == 200
    client.post(PEOPLE, sent | {"what": "sessions"})
    assert member.get("/").status_code == 302
    for wrong in ({"what": "nothing"}, {"what": "add", "group": "x"}, {"what": "open", "person": ["x", "1" * 40]}):
        assert client.post(PEOPLE, sent | wrong).status_code in (302, 404)


def test_closed_accounts_are_kept_unless_the_operator_says_otherwise(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    closing.close_account(ada, ClosingCause.OPERATOR, SHELL)
    ClosedAccount.objects.update(closed_at=timezone.now() - timedelta(days=31))
    call_command("purge", stdout=StringIO())
    assert User.objects.filter(pk=ada.pk).exists()
    change(monkeypatch, {"closed_accounts": "erase", "closed_account_days": 40})
    call_command("purge", stdout=StringIO())
    assert User.objects.filter(pk=ada.pk).exists(), "not before its time"
    change(monkeypatch, {"closed_accounts": "erase", "closed_account_days": 30})
    call_command("purge", stdout=StringIO())
    assert not User.objects.filter(username="ada").exists()


def test_conversations_are_transferred_and_found_by_the_heir_only(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row, binned = long_conversation(ada, 4, "zymurgy"), long_conversation(ada, 2, "zymurgy")
    Conversation.objects.filter(pk=binned.pk).update(deleted_at=timezone.now())
    closing.close_account(ada, ClosingCause.OPERATOR, SHELL)
    ClosedAccount.objects.update(closed_at=timezone.now() - timedelta(days=31))
    change(monkeypatch, {"closed_accounts": "hand-over"})
    output = StringIO()
    call_command("purge", stdout=StringIO(), stderr=output)
    assert "No account is the heir" in output.getvalue() and User.objects.filter(pk=ada.pk).exists()
    call_command("purge", heir="bela", stdout=StringIO())
    assert User.objects.filter(pk=ada.pk).exists(), "choosing is all that this does"
    own = Folder.objects.create(owner=bela, name="ada", instructions="Mine.")
    messages, key = Message.objects.filter(conversation=row).count(), ada.pk
    call_command("purge", stdout=StringIO())
    row.refresh_from_db()
    assert (row.owner, row.folder and row.folder.name) == (bela, "ada 2") and row.folder != own
    assert Message.objects.filter(conversation=row).count() == messages
    assert not User.objects.filter(pk=key).exists() and not Conversation.objects.filter(pk=binned.pk).exists()
    assert not Turn.objects.exclude(asked_by=bela).exists() and not ShareLink.objects.exists()
    assert {entry.conversation_id for entry in search_index.find(bela, search_words.query("zymurgy"), 10)} == {row.pk}
    assert signed_in(bela).get(f"/c/{row.pk}/").status_code == 200
    assert ("conversations handed over", "to bela") in lines_about("ada")


def test_an_account_that_is_being_erased_is_not_opened_again(ada: User, bela: User, grace: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for person in (ada, grace):
        long_conversation(person, 2, "carrot")
        closing.close_account(person, ClosingCause.OPERATOR, SHELL)
    ClosedAccount.objects.update(closed_at=timezone.now() - timedelta(days=31))
    change(monkeypatch, {"closed_accounts": "hand-over"})
    closed_accounts.choose_heir(SHELL, "bela")
    opened, output, real = [], StringIO(), ownership_transfer.transfer

    def hand_over(person: User, heir: User, *, with_summaries: bool) -> int:
        opened.extend([closing.reopen_account(ada, SHELL), closing.reopen_account(grace, SHELL)])
        call_command("close_account", person.username, "--reopen", stdout=output)
        return real(person, heir, with_summaries=with_summaries)

    monkeypatch.setattr(ownership_transfer, "transfer", hand_over)
    call_command("purge", stdout=StringIO())
    assert opened == [False, True] and output.getvalue() == "It is being erased.\n"
    assert not User.objects.filter(pk=ada.pk).exists()
    assert User.objects.get(pk=grace.pk).is_active and Conversation.objects.filter(owner=grace).exists()


@pytest.mark.django_db(transaction=True)
async def test_closing_ends_a_streaming_answer_and_a_streaming_debug_view(ada: User, backend: ScriptedBackend) -> None:
    """Whatever comes after it reaches neither."""

    @database_sync_to_async
    def prepare() -> User:
        make_person("keeper", "change_user", staff=True)
        return make_person("vera", "view_hidden_channels", "view_any_conversation", staff=True)

    vera = await prepare()
    gate = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "before"), *frame(FINAL, "Half"), gate, *frame(ANALYSIS, "CANARY-AFTER"), *answer("CANARY-FINAL")]
    close = database_sync_to_async(closing.close_account)
    async with BrowserSocket(ada) as owner_socket, BrowserSocket(vera) as watcher:
        await owner_socket.send_message()
        conversation = (await owner_socket.until("chatui:accepted"))[-1]["conversation"]
        await owner_socket.send("subscribe", conversation=conversation)
        await asyncio.wait_for(backend.waiting.wait(), 5)
        await database_sync_to_async(debug_requests.open_debug_view)(Visitor(vera, "", "page"), conversation, OPENING["reason"])
        await watcher.send("watch", conversation=conversation)
        await watcher.until("chatui:debug.snapshot")
        await close(vera, ClosingCause.PROVISIONING, HERE, source="company")
        await watcher.until("closed")
        await close(ada, ClosingCause.PROVISIONING, HERE, source="company")
        await owner_socket.until("closed")
        gate.set()
        async with asyncio.timeout(10):
            while await Turn.objects.filter(state="running").aexists():
                await asyncio.sleep(0.02)
        assert "CANARY" not in "".join([*watcher.raw, *owner_socket.raw])
    assert (await Turn.objects.aget()).state == "stopped"
    closed = AuditEvent.objects.filter(action="account closed").order_by("number")
    assert [(line.owner_name, line.detail) async for line in closed] == [
        ("vera", "says the directory of company"),
        ("ada", "says the directory of company"),
    ]
