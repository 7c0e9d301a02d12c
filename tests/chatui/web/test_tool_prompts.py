"""Prompts of tool servers at the message box: whoever is offered a tool of a server gets them, and nobody gets those of another."""

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import signing
from django.core.management import call_command
from django.test import Client

from chatui.models.user import User
from chatui.tools import rules
from chatui.tools.mcp import prompts
from chatui.tools.picks import signed
from chatui.web.tool_prompts import TOKEN_CHARS
from tests.chatui.conftest import signed_in
from tests.support import environment
from tests.support import peer as peers
from tests.support.mcp_server import Mcp, called, result
from tests.support.peer import PeerRequest, peer
from tests.support.tool_servers import forget_servers

pytestmark = pytest.mark.django_db

FILE = """
[[mcp]]
name = "library"
url = "{url}"
tools = ["add"]
resources = false
[[mcp]]
name = "archive"
url = "{url}"
tools = ["add"]
"""
TOOLS: dict[str, Any] = {"library_add": (), "archive_add": ("staff",)}
LISTED = [
    {"name": "review", "title": "Review", "description": "Finds mistakes", "arguments": [{"name": "code", "required": True}]},
    {"name": "greet", "title": "Greet <b>me</b>"},
]
PLACE = "/prompts/servers/library/"


async def get(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
    """A prompt that says what it was asked for."""
    asked = request.json["params"]
    picture = {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}}
    words = {"role": "user", "content": {"type": "text", "text": f"{asked['name']}: {asked['arguments']}"}}
    await result({"messages": [words, picture] if asked["name"] == "greet" else [words]})(request, writer)


@pytest.fixture
def mcp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, db: None) -> Iterator[Mcp]:
    """An installation with two servers, of which the tools of one are for staff."""
    server = Mcp(on={"prompts/list": result({"prompts": LISTED}), "prompts/get": get})
    server.on["server/discover"] = result({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "prompts": {}}})
    with peer(server) as served:
        file = tmp_path / "tools.toml"
        file.write_text(FILE.format(url=served.url))
        values = {"tools_file": file, "data_dir": tmp_path, "tools": TOOLS, "backend_url": "http://127.0.0.1:9"}
        environment.change(monkeypatch, values)
        forget_servers()
        call_command("tools", *TOOLS, "--confirm", stdout=io.StringIO())
        rules.forget_rows()
        yield server
    forget_servers()


def shown(client: Client) -> list[dict[str, Any]]:
    found = client.get(PLACE).json()
    assert found["ok"], found
    return list(found["prompts"])


def test_a_persons_servers_are_named_with_their_prompts(mcp: Mcp, ada: User) -> None:
    client = signed_in(ada)
    assert client.get("/prompts/offered/").json() == {"prompts": [], "servers": ["library"]}
    assert not called(mcp, "prompts/list"), "no server is waited for"
    review, greet = shown(client)
    assert (review["name"], review["begins"]) == ("Review", "Finds mistakes") and greet["name"] == "Greet <b>me</b>"
    assert review["fields"] == [{"name": "code", "about": "", "required": True}] and greet["fields"] == []


def test_a_picked_prompt_is_filled_by_the_server_and_nothing_is_kept(mcp: Mcp, ada: User) -> None:
    client = signed_in(ada)
    review, greet = shown(client)
    filled = client.post(PLACE, {"pick": review["pick"], "value": ["x = 1\ny"]}).json()
    assert filled == {"ok": True, "text": "review: {'code': 'x = 1\\ny'}", "note": ""}
    filled = client.post(PLACE, {"pick": greet["pick"], "value": ["of no argument"]}).json()
    assert filled["text"] == "greet: {}"
    assert filled["note"] == "Only text can be inserted. Left out of what library gave: pictures."
    [message, _] = called(mcp, "prompts/get")
    assert ada.username not in str(message) and str(ada.pk) not in str(message), "the server is not told who asks"


def test_a_server_of_which_one_is_offered_no_tool_looks_like_one_that_does_not_exist(mcp: Mcp, ada: User) -> None:
    client = signed_in(ada)
    for name in ("archive", "nothing"):
        asked = client.get(f"/prompts/servers/{name}/"), client.post(f"/prompts/servers/{name}/", {"pick": "x"})
        assert [each.status_code for each in asked] == [404, 404], name
    assert not called(mcp, "prompts/list") and not called(mcp, "prompts/get")
    assert Client().get(PLACE).status_code == 302


def test_a_withdrawn_tool_ends_it_at_once(mcp: Mcp, ada: User) -> None:
    client = signed_in(ada)
    [review, _] = shown(client)
    call_command("tools", "library_add", "--withdraw", stdout=io.StringIO())
    assert client.get("/prompts/offered/").json()["servers"] == []
    assert client.post(PLACE, {"pick": review["pick"], "value": "x"}).status_code == 404


def test_nobody_asks_for_what_they_were_not_shown(mcp: Mcp, ada: User, bela: User) -> None:
    [review, greet] = shown(signed_in(ada))
    other = signed("prompt", (bela.pk, "archive"), ["review", []])
    resource = signed("resource", (bela.pk, "library"), ["review", []])
    for pick in (review["pick"], greet["pick"], greet["pick"][:-2], "review", "", other, resource):
        reply = signed_in(bela).post(PLACE, {"pick": pick, "value": "x"}).json()
        assert not reply["ok"] and "no longer what library showed you" in reply["message"], pick
    assert not called(mcp, "prompts/get")
    [own, _] = shown(signed_in(bela))
    for values in ([], [" "], ["x" * 8001]):
        assert "a field is empty or too long" in signed_in(bela).post(PLACE, {"pick": own["pick"], "value": values}).json()["message"]
    assert not called(mcp, "prompts/get") and signed_in(bela).post(PLACE, {"pick": own["pick"], "value": "x"}).json()["ok"]


async def refuse(request: PeerRequest, writer: asyncio.StreamWriter) -> None:
    await peers.send(writer, {"jsonrpc": "2.0", "id": request.json["id"], "error": {"code": -32603, "message": "secret details"}})


LONG = result({"messages": [{"role": "user", "content": {"type": "text", "text": "x" * 200_000}}]})
NONE = result({"messages": [{"role": "assistant", "content": {"type": "text", "text": "secret details"}}]})


@pytest.mark.parametrize(
    ("method", "answer", "says"),
    [
        ("prompts/list", refuse, "library gives no prompts now"),
        ("prompts/list", peers.reset, "library gives no prompts now"),
        ("prompts/list", peers.junk, "library gives no prompts now"),
        ("prompts/get", refuse, "library did not give this prompt"),
        ("prompts/get", peers.half, "library did not give this prompt"),
        ("prompts/get", NONE, "or gave no text"),
        ("prompts/get", LONG, "What library gave is too long for a message."),
    ],
)
def test_a_failure_is_a_sentence_of_ours(mcp: Mcp, ada: User, method: str, answer: Any, says: str) -> None:
    client = signed_in(ada)
    [_, greet] = shown(client)
    mcp.on[method] = answer
    response = client.get(PLACE) if method == "prompts/list" else client.post(PLACE, {"pick": greet["pick"]})
    reply = response.json()
    assert response.status_code == 200 and not reply["ok"] and says in reply["message"] and not reply["connect"]
    assert "secret" not in response.content.decode()


def test_the_longest_pick_fits_into_a_request(mcp: Mcp, ada: User) -> None:
    name = "\U0001f600" * prompts.REMOTE_CHARS
    arguments = [{"name": name[:-1] + str(each), "title": name, "description": name} for each in range(prompts.MAX_ARGUMENTS)]
    mcp.on["prompts/list"] = result({"prompts": [{"name": name, "description": name * 9, "arguments": arguments}]})
    [entry] = shown(signed_in(ada))
    assert len(entry["pick"]) <= TOKEN_CHARS and signing.loads(entry["pick"], salt="tool server picks")
    assert signed_in(ada).post(PLACE, {"pick": entry["pick"], "value": ["x"] * prompts.MAX_ARGUMENTS}).json()["ok"]
