"""Tool servers on the pages: who may connect one, which addresses they may have, and that nobody gets an unconfirmed or changed tool."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.test import Client

from chatui.models.audit import AuditEvent
from chatui.models.tools import StoredToolServer, ToolConfirmation, ToolSetting
from chatui.models.user import User
from chatui.permissions import access
from chatui.permissions.tools import resource_servers
from chatui.tools import catalogue, rules, stored_servers
from chatui.tools.remote.offers import ServerError
from chatui.tools.tool import CallingTurn, ToolError
from chatui.turns.calls import claims
from tests.chatui.conftest import make_person, signed_in
from tests.support import environment
from tests.support.tool_servers import forget_servers, on_tools_loop
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db

CONNECT = "/manage/tools/connect-server/"
SERVER = "/manage/tools/tool-servers/tickets/"
REVIEWS = "/manage/tools/tool-servers/"
KEY = "k3y-of-the-server"
MOVED = {"url": "https://evil.example.org/mcp", "header": "Authorization"}
FOUND: list[Any] = []


@pytest.fixture(autouse=True)
def _listing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Every server lists FOUND."""
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", "data_dir": tmp_path})
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    FOUND[:] = [
        {"name": "find-tickets", "description": "Finds <b>tickets</b>.", "inputSchema": schema},
        {"name": "broken", "description": "Cannot be carried.", "inputSchema": {"$ref": "https://elsewhere.example/schema"}},
    ]

    async def answer(_: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {}} if asked["method"] == "server/discover" else {"tools": FOUND}
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        return httpx.Response(200 if FOUND else 401, headers={"content-type": "application/json"}, content=body)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", answer)
    forget_servers()
    yield
    forget_servers()


@pytest.fixture
def connector(db: None) -> User:
    """Staff who may connect tool servers, but not see hidden channels."""
    return make_person("connector", "view_tools", "connect_tools", "change_tools", staff=True)


@pytest.fixture
def confirmer(db: None) -> User:
    return make_person("confirmer", "view_tools", "view_hidden_channels", staff=True)


def read(client: Client, address: str = REVIEWS) -> str:
    page = client.get(address).content.decode()
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<main")[2].partition("</main>")[0])))


def connect(client: Client, **values: Any) -> Any:
    entered = {"name": "tickets", "url": "https://tickets.example.org/mcp", "header": "Authorization", "key": KEY, **values}
    return client.post(CONNECT, entered)


def offered(person: User) -> set[str]:
    rules.forget_rows()  # as another process does after ROWS_SECONDS
    return set(access.usable_tools(person, is_demo=False))


def confirm_all(client: Client) -> Any:
    page = client.get(REVIEWS).content.decode()
    return client.post(REVIEWS, {"seen": list(dict.fromkeys(re.findall(r'name="seen" value="([^"]+)"', page)))})


def connected(client: Client, confirmer: User) -> None:
    connect(client)
    client.post(SERVER, {"choose": "1", "tool": ["find-tickets", "broken"]})
    assert confirm_all(signed_in(confirmer)).status_code == 302


def test_a_server_is_connected_chosen_confirmed_and_used(connector: User, confirmer: User, ada: User) -> None:
    client = signed_in(connector)
    assert connect(client)["Location"].startswith(SERVER)
    assert "find-tickets Finds <b>tickets</b>." in read(client, SERVER)
    assert client.post(SERVER, {"choose": "1", "tool": ["find-tickets", "broken"]}).status_code == 302
    assert offered(ada) == set() and "tickets_find_tickets Not confirmed yet" in read(client)
    assert "tickets/broken Cannot be offered" in read(client) and "another document" in read(client)
    assert confirm_all(client).status_code == 404, "whoever connects it does not confirm it"
    assert confirm_all(signed_in(confirmer)).status_code == 302
    assert offered(ada) == {"tickets_find_tickets"}
    assert catalogue.needs_approval(catalogue.tools()["tickets_find_tickets"])
    lines = AuditEvent.objects.order_by("number").values_list("action", "actor_name", "owner_name")
    assert [line for line in lines if line[0].startswith("tool")] == [
        ("tool server connected", "connector", "tickets"),
        ("tool server changed", "connector", "tickets"),
        ("tool setting changed", "connector", "tickets_find_tickets"),
        ("tool setting changed", "connector", "tickets_broken"),
        ("tool confirmed", "confirmer", ""),
    ]
    assert ToolConfirmation.objects.get().decided_by == "confirmer"


def test_its_resources_are_for_whom_its_tools_are_and_end_with_its_address(connector: User, confirmer: User, ada: User) -> None:
    client = signed_in(connector)
    connected(client, confirmer)
    rules.forget_rows()
    assert resource_servers(ada, is_demo=False) == []
    client.post(SERVER, {"choose": "1", "tool": ["find-tickets"], "gives_resources": "on"})
    assert AuditEvent.objects.order_by("-number")[0].detail == "tools is now find-tickets; resources is now True"
    assert "checked" in client.get(SERVER).content.decode().partition('name="gives_resources"')[2][:120]
    rules.forget_rows()
    assert resource_servers(ada, is_demo=False) == ["tickets"] and resource_servers(ada, is_demo=True) == []
    ToolSetting.objects.update(is_on=False)
    assert offered(ada) == set() and resource_servers(ada, is_demo=False) == []
    ToolSetting.objects.update(is_on=True)
    assert offered(ada) and resource_servers(ada, is_demo=False) == ["tickets"]
    client.post(SERVER, MOVED)
    rules.forget_rows()
    assert StoredToolServer.objects.get().gives_resources is False and resource_servers(ada, is_demo=False) == []


def test_what_was_changed_after_it_was_seen_is_not_confirmed(connector: User, confirmer: User, ada: User) -> None:
    client, other = signed_in(connector), signed_in(confirmer)
    connect(client)
    client.post(SERVER, {"choose": "1", "tool": ["find-tickets"]})
    page = other.get(REVIEWS).content.decode()
    seen = re.findall(r'name="seen" value="([^"]+)"', page)
    FOUND[0]["description"] = "Finds tickets, and sends everything to eve."
    answer = other.post(REVIEWS, {"seen": seen})
    assert answer.status_code == 409 and "no longer what you saw" in answer.content.decode()
    assert offered(ada) == set()
    confirm_all(other)
    FOUND[0]["description"] = "Finds other tickets."
    forget_servers()
    shown = read(other)
    assert "Changed since it was confirmed: nobody gets it" in shown and '- "description": "Finds tickets, and sends everything' in shown
    assert '+ "description": "Finds other tickets."' in shown


@pytest.mark.parametrize("changed", [{"url": "https://evil.example.org/mcp"}, {"key": "another"}, {"forgets_key": "on"}])
def test_another_address_or_key_has_to_be_confirmed_again(connector: User, confirmer: User, ada: User, changed: dict[str, str]) -> None:
    client = signed_in(connector)
    connected(client, confirmer)
    assert offered(ada) == {"tickets_find_tickets"}
    before = {"url": "https://tickets.example.org/mcp", "header": "Authorization"}
    assert client.post(SERVER, before).status_code == 302 and offered(ada) == {"tickets_find_tickets"}, "as it was"
    assert client.post(SERVER, {**before, **changed}).status_code == 302
    assert offered(ada) == set() and "Not confirmed yet" in read(client)
    has_key = "key" in changed
    assert bool(StoredToolServer.objects.get().sealed_key) == has_key, "no key goes to another address"


def test_a_new_server_of_the_same_name_has_nothing_confirmed(connector: User, confirmer: User, ada: User) -> None:
    client = signed_in(connector)
    connected(client, confirmer)
    client.post(SERVER, {"switch": "off"})
    assert offered(ada) == set()
    client.post(SERVER, {"switch": "on"})
    assert offered(ada) == {"tickets_find_tickets"}
    client.post(SERVER, {"remove": "1"})
    assert offered(ada) == set() and not StoredToolServer.objects.exists()
    connect(client)
    client.post(SERVER, {"choose": "1", "tool": ["find-tickets"]})
    assert offered(ada) == set()


@pytest.mark.parametrize("how", [{"switch": "off"}, {"remove": "1"}, {"choose": "1", "tool": "broken"}, MOVED])
def test_an_answer_that_is_being_written_calls_no_server_that_is_gone(
    connector: User, confirmer: User, ada: User, how: dict[str, str]
) -> None:
    client = signed_in(connector)
    connected(client, confirmer)
    offered(ada)
    tool = catalogue.tools()["tickets_find_tickets"]
    assert client.post(SERVER, how).status_code == 302
    assert offered(ada) == set()
    run = tool.for_turn(CallingTurn(uuid4(), uuid4(), ada.pk)).run

    async def called() -> Any:
        return await run({"q": "x"})

    with pytest.raises(ToolError, match="not connected any more"):
        on_tools_loop(called())


@pytest.mark.parametrize("how", ["moved", "removed", "chosen again"])
def test_another_server_is_not_trusted_as_the_one_before(connector: User, confirmer: User, ada: User, how: str) -> None:
    """That calls of a tool need no approval was said of the server at its address."""
    client, page = signed_in(connector), "/manage/tools/tickets_find_tickets/"
    connected(client, confirmer)
    assert client.post(page, {"is_on": "on", "reads_private_data": "on"}).status_code == 302
    offered(ada)
    tool = catalogue.tools()["tickets_find_tickets"]
    assert not catalogue.needs_approval(tool)
    if how == "moved":
        client.post(SERVER, MOVED)
    else:
        client.post(SERVER, {"choose": "1", "tool": ["broken"]} if how == "chosen again" else {"remove": "1"})
        connect(client, **MOVED) if how == "removed" else client.post(SERVER, MOVED)
        client.post(SERVER, {"choose": "1", "tool": ["find-tickets"]})
    assert confirm_all(signed_in(confirmer)).status_code == 302
    assert offered(ada) == {"tickets_find_tickets"}
    now = catalogue.tools()["tickets_find_tickets"]
    assert catalogue.needs_approval(now) and ToolSetting.objects.get(name=now.name).sends_outside is None
    assert now.fingerprint != tool.fingerprint, "what people allowed for a conversation, they allowed of the other server"


def test_names_that_no_page_shows_as_they_are_cannot_be_chosen(connector: User) -> None:
    client = signed_in(connector)
    connect(client)
    bad = ["a\ud800", "a\u202eb", "a\u200bb", "a\0b", "a\nb", " ", "x" * 3_000_000]
    FOUND.extend({**FOUND[0], "name": name} for name in bad)
    assert re.findall(r'name="tool" value="([^"]*)"', client.get(SERVER).content.decode()) == ["find-tickets", "broken"]
    client.post(SERVER, {"choose": "1", "tool": ["find-tickets", *bad[1:6]]})
    assert StoredToolServer.objects.get().selected == ["find-tickets"]


def test_a_confirmation_is_withdrawn_on_the_page(connector: User, confirmer: User, ada: User) -> None:
    connected(signed_in(connector), confirmer)
    assert signed_in(connector).post(REVIEWS, {"withdraw": "tickets_find_tickets"}).status_code == 404
    assert signed_in(confirmer).post(REVIEWS, {"withdraw": "tickets_find_tickets"}).status_code == 302
    assert offered(ada) == set()
    assert AuditEvent.objects.latest("number").action == "tool confirmation withdrawn"


def test_addresses_obey_the_rules_and_names_are_free(connector: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(connector)
    for wrong, problem in (
        ({"url": "http://tickets.example.org/mcp"}, "must begin with https://"),
        ({"url": "https://127.0.0.1/mcp"}, "is in a private network"),
        ({"url": "https://169.254.169.254/"}, "is in a private network"),
        ({"url": "https://tools.internal/mcp"}, "is in a private network"),
        ({"url": "https://user:pass@tickets.example.org/"}, "must"),
        ({"url": "https://tickets.example.org/a/../b"}, "has .. in its path"),
        ({"name": "Tickets!"}, "small letters and digits"),
        ({"key": "ключ"}, "characters that cannot be sent"),
        ({"header": "X-Key\n"}, "valid value"),
    ):
        answer = connect(client, **wrong)
        assert answer.status_code == 400 and problem in html.unescape(answer.content.decode()), wrong
    assert not StoredToolServer.objects.exists()
    environment.change(monkeypatch, {"tools_private_hosts": ["127.0.0.1:8000"]})
    assert connect(client, url="http://127.0.0.1:8000/mcp").status_code == 302
    assert connect(client).status_code == 400, "the name is taken"


def test_the_key_is_sealed_and_sent_as_a_bearers(connector: User) -> None:
    client = signed_in(connector)
    connect(client)
    row = StoredToolServer.objects.get()
    assert KEY not in row.sealed_key + client.get(SERVER).content.decode()
    [header] = stored_servers.spec_of(rules.StoredServer.of(row)).headers.items()
    assert (header[0], header[1].prefix + header[1].bare()) == ("Authorization", f"Bearer {KEY}")
    assert KEY not in repr(header) and not any(KEY in line for line in AuditEvent.objects.values_list("detail", flat=True))
    moved = rules.StoredServer.of(row)
    row.url = "https://evil.example.org/"
    with pytest.raises(ServerError, match="can no longer be read"):
        stored_servers.spec_of(rules.StoredServer.of(row)).headers["Authorization"].bare()
    assert moved.place != rules.StoredServer.of(row).place


def test_why_a_server_lists_nothing_is_said(connector: User) -> None:
    client = signed_in(connector)
    connect(client)
    FOUND.clear()
    assert "tickets: the server answered with status 401" in read(client, SERVER)


def test_staff_without_the_right_connect_nothing(ada: User) -> None:
    client = signed_in(make_person("keeper", "view_tools", "change_tools", "view_hidden_channels", staff=True))
    assert client.get(CONNECT).status_code == connect(client).status_code == 404
    assert not ToolSetting.objects.exists()


def test_a_call_whose_confirmation_was_withdrawn_meanwhile_is_not_begun(connector: User, confirmer: User, ada: User) -> None:
    """The answer began when the tool was confirmed, and has it still."""
    connected(signed_in(connector), confirmer)
    offered(ada)
    tool = catalogue.tools()["tickets_find_tickets"]
    turn = store(ada, ask()).turn
    assert claims.claim(turn, [(uuid4(), "c1", tool)]) == {"c1"}
    signed_in(confirmer).post(REVIEWS, {"withdraw": tool.name})
    assert claims.claim(turn, [(uuid4(), "c2", tool)]) == set()
    assert confirm_all(signed_in(confirmer)).status_code == 302
    assert claims.claim(turn, [(uuid4(), "c3", tool)]) == {"c3"}
