"""Two people with accounts of their own at a real MCP server with a real authorization server: the official package's."""

import asyncio
import io
import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from chatui.audit_log.record import SHELL
from chatui.lifecycle import closing, erasure
from chatui.models.audit import AuditEvent
from chatui.models.tool_sign_in import ToolClient, ToolSignIn
from chatui.models.user import ClosingCause, User
from chatui.tools import confirmations, server_registry
from chatui.tools.remote.exchange import StatusError
from chatui.tools.server_registry import ServerConnection
from chatui.tools.sign_in import kept
from chatui.tools.sign_in.tokens import SignInNeededError, SignIns
from chatui.tools.tool import CallingTurn, CallNeedsSignInError, ToolError
from chatui.transfer import exports
from tests.support import environment
from tests.support import published_servers as published
from tests.support.mcp_calls import Remembered
from tests.support.places import ROOT
from tests.support.tool_servers import close_servers, forget_servers, on_tools_loop

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served, pytest.mark.slow]

TOOLS = {"accounts_whoami": (), "accounts_echo_token": ()}


@dataclass
class Place:
    """The server, and the installation whose tools file names it."""

    url: str
    directory: Path

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.url}/state").json()
        return found

    def expire(self) -> None:
        httpx.post(f"{self.url}/expire")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with published.listening([published.python(), published.ACCOUNTS]) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def place(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    lines = ["[[mcp]]", 'name = "accounts"', f'url = "{url}/mcp"', 'tools = ["whoami", "echo_token"]', "[mcp.oauth]"]
    (tmp_path / "tools.toml").write_text("\n".join(lines))
    values = {"tools_file": tmp_path / "tools.toml", "data_dir": tmp_path, "tools": TOOLS, "tools_without_approval": list(TOOLS)}
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", **values})
    forget_servers()
    yield Place(url, tmp_path)
    close_servers()
    forget_servers()


async def closed(connections: Iterable[ServerConnection]) -> None:
    for each in connections:
        await each.close()


def person(name: str, **values: Any) -> User:
    return User.objects.create_user(name, password=None, **values)


def browser(of: User) -> Client:
    client = Client()
    client.force_login(of)
    return client


def begun(client: Client) -> str:
    """Where the page sends the browser."""
    response = client.post("/settings/accounts/accounts/connect/", {"next": "/usage/"})
    assert response.status_code == 200, response.content
    return str(response.headers["Refresh"]).partition("url=")[2]


def answered(address: str, name: str) -> str:
    """The person signs in there, under that name. Returns the path to which they are sent back."""
    login = httpx.get(address).headers["location"]
    back = urlsplit(httpx.get(f"{login}&as={name}").headers["location"])
    assert back.netloc == "testserver"
    return f"{back.path}?{back.query}"


def connect(of: User, name: str) -> Client:
    client = browser(of)
    response = client.get(answered(begun(client), name))
    assert (response.status_code, response.headers["Location"]) == (302, "/usage/")
    return client


def confirm(by: User) -> str:
    out = io.StringIO()
    call_command("tools", *TOOLS, "--confirm", "--as", by.username, stdout=out, stderr=out)
    return out.getvalue()


def call(of: User, tool: str = "accounts_whoami") -> Any:
    turn = CallingTurn(uuid4(), uuid4(), of.pk, sessions=Remembered())
    run = server_registry.tools()[tool].for_turn(turn).run

    async def body() -> Any:
        return await run({})

    return on_tools_loop(body())


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
    with pytest.raises(CallNeedsSignInError, match="has not signed in there yet") as refused:
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
    assert set(server_registry.tools()) == set(TOOLS)


def test_what_is_sealed_for_one_person_opens_for_no_other(people: tuple[User, User]) -> None:
    ada, bob = people
    row = ToolSignIn.objects.get(person=ada)
    ToolSignIn.objects.create(person=bob, server=row.server, issuer=row.issuer, content=row.content)
    assert kept.load(bob.pk, row.server) is None and kept.load(ada.pk, row.server) is not None
    with pytest.raises(CallNeedsSignInError):
        call(bob)


def test_an_expired_token_is_renewed_once_however_many_processes_use_it(people: tuple[User, User], place: Place) -> None:
    ada, _ = people
    before = place.state()
    place.expire()
    spec = server_registry.specs()[0]
    others = [ServerConnection(spec, server_registry.server_of(spec)) for _ in range(4)]
    whoami = confirmations.stored()["accounts_whoami"].offer

    async def all_at_once() -> list[Any]:
        turns = [CallingTurn(uuid4(), uuid4(), ada.pk, sessions=Remembered()) for _ in range(8)]
        found = await asyncio.gather(*(others[index % 4].call(whoami, turn, {}) for index, turn in enumerate(turns)))
        await closed(others)
        return found

    found = on_tools_loop(all_at_once())
    after = place.state()
    assert found == [{"result": "You are ada-there."}] * 8
    assert (after["renewed"] - before["renewed"], after["replayed"] - before["replayed"]) == (1, 0)


def test_disconnecting_forgets_the_tokens_and_revokes_them_there(people: tuple[User, User], place: Place) -> None:
    ada, _ = people
    client, before = browser(ada), place.state()["revoked"]
    assert b"Disconnect" in client.get("/settings/accounts/").content
    assert client.post("/settings/accounts/accounts/disconnect/").status_code == 302
    assert not ToolSignIn.objects.exists()
    wait_for_revocation(place, before)
    with pytest.raises(CallNeedsSignInError):
        call(ada)
    assert client.post("/settings/accounts/accounts/disconnect/").status_code == 404
    assert set(AuditEvent.objects.filter(action__startswith="tool server").values_list("action", "actor_name", "detail")) == {
        ("tool server account connected", "ada", f"accounts, at {urlsplit(place.url).netloc}"),
        ("tool server account disconnected", "ada", "accounts"),
    }


def wait_for_revocation(place: Place, before: int) -> None:
    for _ in range(200):
        if place.state()["revoked"] > before:
            return
        asyncio.run(asyncio.sleep(0.05))
    raise AssertionError("it was not revoked")


@pytest.mark.parametrize("how", ["closed", "erased"])
def test_an_account_that_ends_takes_its_sign_ins_with_it(people: tuple[User, User], place: Place, how: str) -> None:
    bob = people[1]
    connect(bob, "bob-there")
    before = place.state()["revoked"]
    if how == "closed":
        closing.close_account(bob, ClosingCause.OPERATOR, SHELL)
    else:
        erasure.erase(SHELL, bob)
    assert not ToolSignIn.objects.filter(person=bob.pk).exists()
    wait_for_revocation(place, before)


def test_a_sign_in_that_the_service_ended_is_forgotten_and_offered_again(people: tuple[User, User], place: Place) -> None:
    ada, _ = people
    place.expire()
    spec = server_registry.specs()[0]
    found = kept.load(ada.pk, kept.place_of(spec))
    assert found
    auth = (found.tokens.client.id, found.tokens.client.secret)
    httpx.post(f"{place.url}/revoke", data={"token": found.tokens.renewal, "client_id": auth[0], "client_secret": auth[1]}, auth=auth)
    with pytest.raises(CallNeedsSignInError, match="has ended"):
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
    told += [repr(kept.load(ada.pk, ToolSignIn.objects.get(person=ada).server))]
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
    changed = confirmations.stored()["accounts_whoami"].offer.model_copy(update={"description": "Says who you are, politely."})
    spec = server_registry.specs()[0]
    connection = ServerConnection(spec, server_registry.server_of(spec))
    turn = CallingTurn(uuid4(), uuid4(), ada.pk, sessions=Remembered())
    with pytest.raises(ToolError, match="has changed"):
        on_tools_loop(connection.call(changed, turn, {}))
    on_tools_loop(closed([connection]))


def test_a_call_that_lacks_scopes_is_not_made_and_they_are_asked_for_with_the_next_sign_in(place: Place) -> None:
    ada = person("ada", is_staff=True, is_superuser=True)
    connect(ada, "ada-there")
    spec = server_registry.specs()[0]
    told = 'Bearer error="insufficient_scope", scope="notes notes.write"'

    async def refused() -> Any:
        raise StatusError(403, told)

    with pytest.raises(SignInNeededError, match="does not allow this"):
        on_tools_loop(SignIns(spec).with_token(ada.pk, refused))
    assert kept.wanted(ada.pk, kept.place_of(spec)) == ("notes", "notes.write")
    assert parse_qs(urlsplit(begun(browser(ada))).query)["scope"] == ["notes notes.write"]


def test_a_restored_backup_has_no_sign_ins(people: tuple[User, User]) -> None:
    script = (ROOT / "deploy" / "restore-postgresql.sh").read_text()
    assert ToolSignIn.objects.exists() and f"DELETE FROM {ToolSignIn._meta.db_table}'" in script
