"""Unusual input of every kind: no form field, query or JSON on the socket causes a 500 or closes the socket."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from itertools import product
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from chatui.live import page_socket
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.turns import running
from renderer.frames import Header
from tests.canary.asking import client_for, filled, open_view, places, rolled_back
from tests.canary.conftest import World
from tests.canary.planting import append
from tests.canary.reviewed import COMMANDS, ROUTES
from tests.chatui.conftest import PASSWORD
from tests.support import places as places_of
from tests.support.browser_socket import BrowserSocket
from tests.support.cases import EVERY_SHAPE, example_count, is_drawn
from tests.support.scripted import ScriptedBackend

QUICK = settings(
    max_examples=example_count(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.generate],
)

ODD_WORDS = [
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "\n",
    "{}",
    "[]",
    "-1",
    "0",
    "1e999",
    "null",
    "true",
    "None",
    "'",
    '"',
    "%",
    "%00",
    "%s",
    "..",
    "<b>",
    "𝒳" * 50,
    "9" * 400,
    "99999-01-01",
    "2024-13-45",
    "0190a0a0-0000-7000-8000-000000000000",
    "{0190a0a0-0000-7000-8000-000000000000}",
    "٣" * 32,
    "__class__",
    "pk__in",
]
ASKS = [ask for route in ROUTES for ask in route.asks]
OF_PAGES = (path.read_text(encoding="utf-8") for path in (places_of.ROOT / "templates").rglob("*.html"))
FIELDS = sorted(
    {name for ask in ASKS for name in [*ask.data, *parse_qs(urlsplit(ask.path).query, keep_blank_values=True)]}
    | {name for page in OF_PAGES for name in re.findall(r'\bname="([\w-]+)"', page)}
    | {"password1", "password2", "groups", "user_permissions", "whose", "way", "number__gt", "at__year", "_popup"}
)
"""The names of fields that the product knows, in forms and in queries, and some that Django's administration knows."""
words = st.sampled_from(ODD_WORDS) | st.text(max_size=40)
fields = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=12), words, max_size=6)


def is_tried(one_in: int, *names: str) -> bool:
    """One in so many; ``make attack`` tries them all."""
    return EVERY_SHAPE or is_drawn(one_in, *(name.encode("utf-8", "replace") for name in names))


def _sendable(data: dict[str, str]) -> dict[str, str]:
    """The data that a browser can put into a form: no lone surrogates."""
    return {_whole(name): _whole(value) for name, value in data.items()}


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


@pytest.mark.extended
@pytest.mark.slow
@pytest.mark.django_db
def test_no_field_or_query_causes_a_500(world: World) -> None:
    values = places(world)
    open_view(world)
    root = User.objects.create_superuser("root", password=PASSWORD)
    clients: list[Client] = [client_for(world.people["owner"]), client_for(world.people["both"]), client_for(None), client_for(root)]
    statuses: set[int] = set()

    @QUICK
    @given(
        asks=st.lists(st.sampled_from(ASKS), min_size=4, max_size=4),
        number=st.integers(0, 3),
        form=fields,
        query=fields,
        json_wanted=st.booleans(),
    )
    def try_them(asks: list[Any], number: int, form: dict[str, str], query: dict[str, str], json_wanted: bool) -> None:
        client = clients[number]
        for ask in asks:
            with rolled_back(client):
                path = filled(ask.path, values).partition("?")[0]
                headers = {"accept": "application/json" if json_wanted else "text/html"}
                sent = _sendable(query)
                if ask.method == "POST":
                    response = client.post(path, _sendable(form), query_params=sent, headers=headers)
                else:
                    response = client.get(path, query_params=sent, headers=headers)
                assert response.status_code < 500, f"{ask.method} {path}"
                statuses.add(response.status_code)

    try_them()
    assert {200, 302, 404} <= statuses, "the premise: some of it was understood"


@pytest.mark.slow
@pytest.mark.django_db
def test_no_filter_of_the_audit_log_causes_a_500(world: World) -> None:
    client = client_for(world.people["both"])
    places(world)
    statuses: set[int] = set()
    for field in ("person", "whose", "action", "code", "way", "conversation", "since", "until", "below", "above"):
        for word in ODD_WORDS:
            sent = _sendable({field: word})
            if is_tried(6, "page", field, word):
                statuses.add(client.get("/audit/", query_params=sent).status_code)
            if is_tried(6, "export", field, word):
                statuses.add(client.post("/audit/export/csv/", sent).status_code)
    assert 200 in statuses and statuses <= {200, 400}


@pytest.mark.slow
@pytest.mark.django_db
def test_no_field_of_administration_causes_a_500(world: World) -> None:
    client = client_for(User.objects.create_superuser("root", password=PASSWORD))
    places(world)
    pages = ("/manage/people/", "/manage/keys/", "/manage/limits/", "/manage/people/new/", "/manage/groups/")
    names = ("q", "page", "show", "what", "person", "group", "name", "roles", "permissions", "username", "day_turns", "since")
    for path, field, word in product(pages, names, ("x", "-1", "99", "9" * 30, "2024-13-45", "\0", "a" * 3000)):
        if is_tried(6, "get", path, field, word):
            assert client.get(path, query_params={field: word}).status_code < 500, f"{path} {field}={word!r}"
        if is_tried(6, "post", path, field, word):
            with rolled_back(client):
                sent = {"what": "add" if "people" in path else "limit"} | {field: word}
                assert client.post(path, sent).status_code < 500, f"{path} {field}={word!r}"


@pytest.mark.slow
@pytest.mark.django_db
def test_no_id_in_an_address_causes_a_500(world: World) -> None:
    client = client_for(User.objects.create_superuser("root", password=PASSWORD))
    with_ids = {(ask.method, path) for ask in ASKS if "{" in (path := ask.path.partition("?")[0])}
    assert len(with_ids) > 80
    for segment in ("", "x", "0190a0a0-0000-7000-8000-00000000000", "0" * 32, "%00", "..", "٣" * 8, "a" * 3000, "_5F"):
        for method, path in sorted(with_ids):
            if is_tried(8, "id", method, path, segment):
                path = re.sub(r"{\w+}", segment, path)
                with rolled_back(client):
                    assert client.generic(method, path).status_code < 500, path


values_of_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words | st.sampled_from(["@conversation", "@question", "@nothing"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)
KEYS = ["client_id", "conversation", "question", "turn", "text", "effort", "choice", "audience", "message"]
commands = st.fixed_dictionaries(
    {"type": st.sampled_from([command.type for command in COMMANDS]) | values_of_json},
    optional={key: values_of_json | st.sampled_from(["@conversation", "@question", "@client", "low", "high"]) for key in KEYS},
)
# Nearly valid: input that passes the first checks finds other faults.
nearly = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["send", "edit", "regenerate", "stop", "subscribe"]),
        "client_id": st.sampled_from(["@client", "@nothing"]),
        "conversation": st.sampled_from([None, "@conversation"]),
        "effort": st.sampled_from(["low", "high"]),
        "text": words,
        "question": st.sampled_from(["@question", "@nothing"]),
        "choice": st.sampled_from([None, "", "demo", "demo/x", "gone", "/", "demo" * 100]),
    }
)
frames = st.lists(
    commands.map(json.dumps) | nearly.map(json.dumps) | values_of_json.map(json.dumps) | st.text(max_size=60), min_size=5, max_size=12
)


def on_a_socket(person: User, act: Callable[[BrowserSocket], Awaitable[None]]) -> None:
    async def run() -> None:
        async with BrowserSocket(person) as socket:
            await act(socket)
        await running.settle()

    async_to_sync(run)()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_no_json_on_the_socket_causes_an_error_or_closes_it(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from chatui.model_servers import connected

    monkeypatch.setattr(connected, "backend", lambda choice="": ScriptedBackend())
    monkeypatch.setattr(page_socket, "COMMANDS_BURST", 1e9)
    row = Conversation.objects.create(owner=ada)
    question = append(row, None, Header("user"), "Hello?")
    codes: set[str] = set()

    @QUICK
    @example(texts=[json.dumps({"type": "send", "client_id": "@client", "conversation": "@conversation", "text": "x", "effort": "low"})])
    @given(texts=frames)
    def try_them(texts: list[str]) -> None:
        names = {"@conversation": str(row.pk), "@question": str(question.pk), "@client": str(uuid4()), "@nothing": str(uuid4())}

        async def act(socket: BrowserSocket) -> None:
            for text in texts:
                for name, value in names.items():
                    text = text.replace(name, value)
                await socket.send_raw(text or " ")  # a frame without a byte never gets through the server
            await socket.send("no command", client_id="last")  # is refused, with its id
            async with asyncio.timeout(20):
                while (event := await socket.next(20)).get("client_id") != "last":
                    assert event["type"] != "closed" and event.get("code") != "E-X-INTERNAL", texts
                    codes.add(event["type"])

        on_a_socket(ada, act)

    try_them()
    assert {"chatui:refused", "chatui:accepted"} <= codes, "the premise: some of it was understood"


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_no_depth_of_json_closes_the_socket(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON can be just shallow enough to be read and too deep to be written again."""
    monkeypatch.setattr(page_socket, "COMMANDS_BURST", 1e9)
    async with BrowserSocket(ada) as socket:
        for depth in [*range(1, 900, 100), *range(880, 1010, 2), 5000]:
            await socket.send_raw('{"type": "nothing", "client_id": ' + "[" * depth + "]" * depth + "}")
            assert (await socket.next())["code"] == "E-X-COMMAND", depth
        await socket.send_raw('{"type": "nothing", "client_id": ' + "9" * 4299 + "}")
        assert (await socket.next())["code"] == "E-X-COMMAND"


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_bytes_and_long_frames_do_not_close_the_socket(ada: User) -> None:
    async with BrowserSocket(ada) as socket:
        for sent in ({"bytes_data": b"\xff\x00"}, {"text_data": "x" * 600_000}, {"bytes_data": b'{"type": "subscribe"}'}):
            await socket._communicator.send_to(**sent)
            assert (await socket.next())["type"] == "chatui:refused"
        await socket.send("subscribe", conversation=str(uuid4()))
        while (await socket.next())["code"] != "E-X-NOT-FOUND":
            pass
