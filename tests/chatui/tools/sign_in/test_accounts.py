"""Two people with accounts of their own at a real MCP server with a real authorization server: the official package's."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from chatui.audit_log.record import SHELL
from chatui.lifecycle import erasure
from chatui.models.audit import AuditEvent
from chatui.models.tool_sign_in import ToolClient, ToolSignIn
from chatui.models.user import User
from chatui.transfer import exports
from tests.support.people import close
from tests.support.places import ROOT
from tests.support.tool_accounts import (
    NeedsSignInError,
    Place,
    answered,
    begun,
    browser,
    call,
    calls_at_once,
    confirm,
    connect,
    installed,
    provider,
)
from tests.support.tool_calls import RefusedError

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served, pytest.mark.slow]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with provider() as found:
        yield found


@pytest.fixture
def place(url: str, tmp_path: Path) -> Iterator[Place]:
    with installed(url, tmp_path) as found:
        yield found


def person(name: str, **values: Any) -> User:
    return User.objects.create_user(name, password=None, **values)


@pytest.fixture
def people(place: Place) -> tuple[User, User]:
    """Both are offered the tools, which the first one's own connection listed."""
    staff = person("ada", is_staff=True, is_superuser=True)
    connect(staff, "ada-there")
    confirm(staff)
    return staff, person("bob")


def test_two_people_call_as_themselves_and_nobody_without_an_account(people: tuple[User, User], place: Place) -> None:
    ada, bob = people
    assert call(ada) == {"result": "You are ada-there."}
    with pytest.raises(NeedsSignInError, match="has not signed in there yet") as refused:
        call(bob)
    assert refused.value.server == "accounts"
    connect(bob, "bob-there")
    assert call(bob) == {"result": "You are bob-there."} and call(ada) == {"result": "You are ada-there."}
    assert ToolClient.objects.count() == 1 and place.state()["registered"] >= 1, "the second person uses the first one's registration"


def test_prompts_are_those_of_the_persons_own_account_while_it_is_connected(people: tuple[User, User]) -> None:
    ada, bob = people
    path = "/prompts/servers/accounts/"
    client, other = browser(ada), browser(bob)
    [shown] = client.get(path).json()["prompts"]
    assert client.post(path, {"pick": shown["pick"]}).json()["text"] == "Write about me. You are ada-there."
    refused = other.get(path).json()
    assert "accounts needs your own account there" in refused["message"] and refused["connect"] == "/settings/accounts/"
    connect(bob, "bob-there")
    [his] = other.get(path).json()["prompts"]
    assert other.post(path, {"pick": his["pick"]}).json()["text"] == "Write about me. You are bob-there."
    client.post("/settings/accounts/accounts/disconnect/")
    assert client.get(path).json()["connect"] == client.post(path, {"pick": shown["pick"]}).json()["connect"] == "/settings/accounts/"


def test_the_list_that_is_confirmed_is_that_of_the_account_that_is_named(place: Place) -> None:
    out = io.StringIO()
    call_command("tools", stdout=out, stderr=out)
    assert "accounts: each person signs in to this server as themselves: name the account" in out.getvalue()
    staff = person("ada", is_staff=True, is_superuser=True)
    with pytest.raises(CommandError):
        confirm(staff)
    connect(staff, "ada-there")
    assert "Confirmed: " in confirm(staff)
    assert call(staff) == {"result": "You are ada-there."}


def test_what_is_sealed_for_one_person_opens_for_no_other(people: tuple[User, User]) -> None:
    ada, bob = people
    row = ToolSignIn.objects.get(person=ada)
    ToolSignIn.objects.create(person=bob, server=row.server, issuer=row.issuer, content=row.content)
    assert call(ada) == {"result": "You are ada-there."}, "the premise"
    with pytest.raises(NeedsSignInError):
        call(bob)


def test_an_expired_token_is_renewed_once_however_many_processes_use_it(people: tuple[User, User], place: Place) -> None:
    ada, _ = people
    before = place.state()
    place.expire()
    found = calls_at_once([ada.pk] * 8, processes=4)
    after = place.state()
    assert found == [{"result": "You are ada-there."}] * 8
    assert (after["renewed"] - before["renewed"], after["replayed"] - before["replayed"]) == (1, 0)


def test_disconnecting_forgets_the_tokens_and_revokes_them_there(people: tuple[User, User], place: Place) -> None:
    ada, _ = people
    client, before = browser(ada), place.state()["revoked"]
    assert b"Disconnect" in client.get("/settings/accounts/").content
    assert client.post("/settings/accounts/accounts/disconnect/").status_code == 302
    assert not ToolSignIn.objects.exists()
    place.wait_for_revocation(before)
    with pytest.raises(NeedsSignInError):
        call(ada)
    assert client.post("/settings/accounts/accounts/disconnect/").status_code == 404
    assert set(AuditEvent.objects.filter(action__startswith="tool server").values_list("action", "actor_name", "detail")) == {
        ("tool server account connected", "ada", f"accounts, at {urlsplit(place.url).netloc}"),
        ("tool server account disconnected", "ada", "accounts"),
    }


@pytest.mark.parametrize("how", ["closed", "erased"])
def test_an_account_that_ends_takes_its_sign_ins_with_it(people: tuple[User, User], place: Place, how: str) -> None:
    bob = people[1]
    connect(bob, "bob-there")
    before = place.state()["revoked"]
    if how == "closed":
        close(bob)
    else:
        erasure.erase(SHELL, bob)
    assert not ToolSignIn.objects.filter(person=bob.pk).exists()
    place.wait_for_revocation(before)


def test_a_sign_in_that_the_service_ended_is_forgotten_and_offered_again(people: tuple[User, User], place: Place) -> None:
    ada, _ = people
    place.end()
    with pytest.raises(NeedsSignInError, match="has ended"):
        call(ada)
    assert not ToolSignIn.objects.exists()
    assert AuditEvent.objects.filter(action="tool server sign-in ended", owner_name="ada").exists()
    connect(ada, "ada-there")
    assert call(ada) == {"result": "You are ada-there."}


def test_an_answer_counts_once_for_its_person_its_browser_and_its_server(people: tuple[User, User], place: Place) -> None:
    ada, bob = people
    ToolSignIn.objects.all().delete()
    client = browser(ada)
    back = answered(begun(client), "ada-there")
    query = parse_qs(urlsplit(back).query)
    assert browser(bob).get(back).status_code == 400, "another person's browser"
    assert browser(ada).get(back).status_code == 400, "another browser of the same person"
    assert client.get(back.replace(query["state"][0], "x" * 43)).status_code == 400
    assert client.get(back).status_code == 302
    assert client.get(back).status_code == 400, "twice"
    ToolSignIn.objects.all().delete()
    for change in (lambda path: path.replace("iss=http", "iss=https"), lambda path: path + "&error=access_denied"):
        assert client.get(change(answered(begun(client), "ada-there"))).status_code == 400
    client.get("/settings/accounts/")
    assert not ToolSignIn.objects.exists()
    other = answered(begun(client), "ada-there")
    session = client.session
    pending = session["tool_sign_ins"]
    session["tool_sign_ins"] = {state: {**values, "person": str(bob.pk)} for state, values in pending.items()}
    session.save()
    assert client.get(other).status_code == 400, "begun by somebody else in this session"


def test_no_token_is_in_a_reply_a_page_a_log_an_export_or_the_database(
    people: tuple[User, User], place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ada, _ = people
    assert call(ada, "accounts_echo_token") == {"result": "(hidden)"}, "the server returned it"
    place.expire()
    call(ada)
    client = browser(ada)
    account_file = str(dict(exports.all_files(ada))["account.json"])
    told = [caplog.text, client.get("/settings/accounts/").content.decode(), account_file]
    told += [str(list(table.objects.values_list())) for table in (ToolSignIn, ToolClient, AuditEvent)]
    secret = place.state()["secret"]
    assert secret and not [each for each in secret for text in told if each in text]
    assert json.loads(account_file)["connected_accounts"][0]["tool_server"] == "accounts"


def test_only_servers_of_tools_that_a_person_is_offered_are_shown_to_them(place: Place) -> None:
    bob = person("bob")
    client = browser(bob)
    assert b"No tool that you may use" in client.get("/settings/accounts/").content
    assert client.post("/settings/accounts/accounts/connect/").status_code == 404
    assert client.post("/settings/accounts/nothing/connect/").status_code == 404
    staff = person("ada", is_staff=True, is_superuser=True)
    connect(staff, "ada-there")
    confirm(staff)
    assert b"not connected" in client.get("/settings/accounts/").content


def test_a_tool_that_a_persons_own_list_has_otherwise_is_not_called(people: tuple[User, User]) -> None:
    ada, _ = people
    assert calls_at_once([ada.pk]) == [{"result": "You are ada-there."}], "the premise"
    with pytest.raises(RefusedError, match="has changed"):
        calls_at_once([ada.pk], description="Says who you are, politely.")


def test_calls_at_the_same_time_carry_the_token_of_their_own_person(people: tuple[User, User]) -> None:
    ada, bob = people
    connect(bob, "bob-there")
    found = calls_at_once([ada.pk, bob.pk] * 10)
    assert found == [{"result": "You are ada-there."}, {"result": "You are bob-there."}] * 10
    with pytest.raises(NeedsSignInError):
        calls_at_once([ada.pk, uuid4(), bob.pk])


def test_a_restored_backup_has_no_sign_ins(people: tuple[User, User]) -> None:
    script = (ROOT / "deploy" / "restore-postgresql.sh").read_text()
    assert ToolSignIn.objects.exists() and f"DELETE FROM {ToolSignIn._meta.db_table}'" in script
