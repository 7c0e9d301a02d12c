"""A tool server of Administration at which each person signs in as themselves: entered on the page, at a real provider."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from chatui.models.tools import StoredToolServer
from chatui.models.user import User
from chatui.tools import rules, stored_servers
from chatui.tools.remote.definition import McpSpec, OAuthSpec
from chatui.tools.sign_in.door import door_of
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.tools.sign_in.test_accounts import Place, answered, begun, call, connect, url, wait_for_revocation
from tests.chatui.web.manage.test_tool_servers import CONNECT, confirm_all, read
from tests.support import environment
from tests.support.tool_servers import close_servers, forget_servers

__all__ = ["url"]  # a fixture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served, pytest.mark.slow]

SERVER = "/manage/tools/tool-servers/accounts/"
RIGHTS = ("view_tools", "connect_tools", "change_tools", "view_hidden_channels")


@pytest.fixture
def place(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    values = {"tools_private_hosts": [urlsplit(url).netloc], "data_dir": tmp_path, "tools": {}}
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", **values})
    forget_servers()
    yield Place(url, tmp_path)
    close_servers()
    forget_servers()


def test_it_is_connected_confirmed_and_used_by_each_as_themselves(place: Place) -> None:
    staff, ada = make_person("grace", *RIGHTS, staff=True), make_person("ada")
    client = signed_in(staff)
    entered = {"name": "accounts", "url": f"{place.url}/mcp", "header": "Authorization", "signs_in": "on"}
    assert client.post(CONNECT, entered)["Location"].startswith(SERVER)
    assert "has not signed in there yet" in read(client, SERVER) and "Connect your own account" in read(client, SERVER)
    assert b"/settings/accounts/" in client.get("/settings/").content, "no operator's file is needed for it"
    client.get(answered(begun(client), "grace-there"))
    assert "whoami" in read(client, SERVER)
    client.post(SERVER, {"choose": "1", "tool": ["whoami"]})
    assert confirm_all(client).status_code == 302
    rules.forget_rows()

    connect(ada, "ada-there")

    assert "ada-there" in str(call(ada))
    before = place.state()["revoked"]
    connect(ada, "ada-there")
    wait_for_revocation(place, before)
    assert "ada-there" in str(call(ada)), "the new sign-in still counts"


@pytest.mark.django_db
def test_what_is_entered_of_a_client_is_sealed_kept_for_it_and_has_to_be_public() -> None:
    client = signed_in(make_person("grace", *RIGHTS, staff=True))
    entered = {"name": "tickets", "url": "https://tickets.example.org/mcp", "header": "Authorization", "signs_in": "on"}
    for wrong, sentence in (
        ({"issuer": "http://10.0.0.1/"}, "private network"),
        ({"client_id": "chat"}, "needs the address of the service"),
        ({"secret": "s3cret-of-the-client"}, "needs its client"),
        ({"key": "k"}, "no key for everybody"),
    ):
        answer = client.post(CONNECT, entered | wrong)
        assert answer.status_code == 400 and sentence in answer.content.decode()
    issuer = {"issuer": "https://login.example.org", "client_id": "chat"}
    assert client.post(CONNECT, entered | issuer | {"secret": "s3cret-of-the-client"}).status_code == 302
    row = StoredToolServer.objects.get()
    assert "s3cret" not in str(row.more)
    first = stored_servers.spec_of(rules.StoredServer.of(row))
    assert first.oauth and first.oauth.client_secret and first.oauth.client_secret.bare() == "s3cret-of-the-client"
    page = "/manage/tools/tool-servers/tickets/"
    assert client.post(page, entered | issuer).status_code == 302
    again = stored_servers.spec_of(rules.StoredServer.of(StoredToolServer.objects.get()))
    assert again.oauth == first.oauth and again.place == first.place, "as it was: nothing has to be confirmed again"
    client.post(page, entered | issuer | {"issuer": "https://evil.example.org"})
    moved = stored_servers.spec_of(rules.StoredServer.of(StoredToolServer.objects.get()))
    assert moved.oauth and moved.oauth.client_secret is None and moved.place != first.place


def test_what_staff_entered_opens_no_private_network(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = McpSpec(name="a", url="https://10.0.0.1/mcp", tools=["b"], oauth=OAuthSpec()).at_place("somewhere")
    assert not door_of(spec, spec.url).named, "what its names resolve to is judged, as for any address"
    environment.change(monkeypatch, {"tools_private_hosts": ["10.0.0.1"]})
    assert door_of(spec, spec.url).named == {"https://10.0.0.1:443"}


@pytest.mark.django_db
def test_two_of_one_name_at_the_same_moment_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(make_person("grace", *RIGHTS, staff=True))
    entered = {"name": "tickets", "url": "https://tickets.example.org/mcp", "header": "Authorization"}
    assert client.post(CONNECT, entered).status_code == 302
    monkeypatch.setattr(stored_servers, "problems", lambda wanted, before: [])  # the other one came after the check
    answer = client.post(CONNECT, entered)
    assert answer.status_code == 400 and "already a tool server with this name" in answer.content.decode()
    assert StoredToolServer.objects.count() == 1 and User.objects.exists()
