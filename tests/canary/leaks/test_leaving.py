"""The core guarantee where text leaves the conversation: search, share links, exports, metrics, logs. All hidden text contains markers."""

import io
import json
import logging
import re
import zipfile

import pytest
import pytest_django
from django.core import mail
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chatui.models.audit import AuditEvent
from chatui.models.message import Message, SearchEntry
from chatui.models.shares import ShareLink
from chatui.store import search_index, search_words, transcripts
from chatui.web import conversations
from renderer.markup import html
from tests.canary.asking import client_for, client_of, open_view, whole
from tests.canary.conftest import World
from tests.canary.planting import VISIBLE, plant
from tests.support.log_lines import formatter

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

_LOOKED_UP = re.compile(r"(?<= MATCH )'(?:[^']|'')*'")
"""The words of a query, and the beginnings of them that may be inside others."""
NONSENSE = "zqzqzqzqzqzq000"


def test_the_search_index_has_only_visible_words_and_no_marker(world: World) -> None:
    held = "\n".join(SearchEntry.objects.values_list("terms", flat=True))
    assert "visible" in held, "the premise: there is an index"
    assert not world.canary.found(held)
    assert set(SearchEntry.objects.filter(message__is_visible=False)) == set()
    visible = Message.objects.filter(is_visible=True).count()
    assert SearchEntry.objects.filter(message__is_visible=True).count() == visible > 5


def test_internal_tables_of_the_database_have_no_marker(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT block FROM chatui_words_data")
        contents = b"".join(block for (block,) in cursor)
    assert b"visible" in contents and not world.canary.found(contents)


@pytest.mark.parametrize("name", ["owner", "other", "hidden only", "opened"])
def test_searching_hidden_words_looks_and_costs_the_same_as_searching_nothing(name: str, world: World) -> None:
    client = client_of(name, world)
    if name == "opened":
        open_view(world)

    def search(text: str) -> tuple[bytes, list[str]]:
        with CaptureQueriesContext(connection) as queries:
            answer = client.get("/search/", {"q": text}).content
        statements = [_LOOKED_UP.sub("", query["sql"]) for query in queries.captured_queries]
        return answer, [sql for sql in statements if re.search("chatui_(?:words|searchentry|message|conversation|turn)", sql)]

    nothing = search(NONSENSE)
    for text in (*list(world.canary.planted)[::7], world.canary.beginning, world.canary.beginning[:5], "analysis", "instructions"):
        assert search(text) == nothing, text


def test_finding_hidden_words_in_a_conversation_finds_nothing(world: World) -> None:
    client, path = client_for(world.people["owner"]), f"/c/{world.planted.conversation.pk}/find/"

    def find(text: str) -> bytes:
        return client.get(path, {"q": text}).content.replace(text.encode(), b"")

    assert find("visible") != find(NONSENSE), "the premise: what is visible is found"
    for marker in [*world.canary.planted][::7]:
        assert find(marker) == find(NONSENSE), marker


def test_the_premise_only_the_owner_finds_visible_text(world: World) -> None:
    for name in ("owner", "other", "both"):
        page = client_for(world.people[name]).get("/search/", {"q": "visible answer"}).content.decode()
        assert ("<mark>visible</mark> <mark>answer</mark>" in page) == (name == "owner"), name


def test_index_counts_are_per_owner(world: World) -> None:
    owner, other = world.people["owner"], world.people["other"]
    assert owner and other
    assert len(search_index.find(owner, search_words.query("visible"), 100)) == 2, (
        "a question and an answer; those in the bin are not counted"
    )
    assert search_index.find(other, search_words.query("visible"), 100) == []


@pytest.mark.parametrize("name", ["anonymous", "owner", "opened"])
def test_a_shared_page_has_no_marker_for_any_reader(name: str, world: World) -> None:
    if name == "opened":
        open_view(world)
    response = client_of(name, world).get(f"/s/{world.planted.link.token}/")
    assert VISIBLE in response.content.decode() and not world.canary.found(whole(response))


def test_share_links_have_no_marker_and_none_ends_at_a_hidden_message(world: World) -> None:
    client = client_for(world.people["owner"])
    address = f"/c/{world.planted.conversation.pk}/share/"
    ShareLink.objects.all().delete()
    count = 0
    for message in world.planted.conversation.messages.all():
        cache.clear()  # otherwise the requests would be rate limited
        response = client.post(address, {"leaf": str(message.pk), "days": "1"})
        assert response.status_code == (302 if message.is_visible else 404)
        count += message.is_visible
    links = ShareLink.objects.all()
    assert len(links) == count > 4
    pages = [Client().get(f"/s/{link.token}/") for link in links]
    assert {page.status_code for page in pages} == {200}
    assert not world.canary.found(*map(whole, pages))


def test_a_preview_has_no_marker(world: World) -> None:
    response = client_for(world.people["owner"]).get(f"/c/{world.planted.conversation.pk}/share/")
    assert VISIBLE in response.content.decode() and not world.canary.found(whole(response))


@pytest.mark.parametrize("form", ["openchatml", "markdown", "json"])
def test_the_owners_exports_have_no_marker_but_the_complete_one_of_staff_does(form: str, world: World) -> None:
    path = f"/c/{world.planted.conversation.pk}/download/"
    own = client_for(world.people["owner"]).get(path, {"form": form})
    assert VISIBLE in own.content.decode() and not world.canary.found(whole(own))
    if form == "json":
        assert {message["role"] for message in json.loads(own.content)["messages"]} == {"user", "assistant"}
    staff = client_for(world.people["both"])
    assert staff.get(f"{path}whole/", {"form": form}).status_code == 403
    open_view(world)
    before = AuditEvent.objects.count()
    shown = staff.get(f"{path}whole/", {"form": form})
    assert shown.status_code == 200 and len(world.canary.found(whole(shown))) > 30
    assert AuditEvent.objects.count() == before + 1


def test_an_export_of_everything_has_no_marker_and_nothing_of_others(world: World) -> None:
    other = world.people["other"]
    assert other
    plant(other, world.canary)
    response = client_for(world.people["owner"]).get("/download/")
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:  # type: ignore[attr-defined]
        assert archive.testzip() is None
        held = {name: archive.read(name) for name in archive.namelist()}
    talks = {name: text for name, text in held.items() if name.endswith((".md", ".ocml", "-versions.json"))}
    assert len([name for name in talks if name.endswith(".md")]) == 2, "the conversation and the one in the bin, not the other person's"
    assert all(VISIBLE.encode() in text for name, text in talks.items() if not name.startswith("bin/"))
    assert not world.canary.found(*held, *held.values(), whole(response))


def test_metrics_have_no_marker(world: World, settings: pytest_django.Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"metrics_token": "a token"})
    response = Client().get("/metrics", headers={"authorization": "Bearer a token"})
    assert response.status_code == 200 and "chatui_turns" in response.content.decode()
    assert not world.canary.found(whole(response))
    for person in world.people.values():
        assert person is None or person.get_username() not in response.content.decode().split("#")[0]


def test_an_exception_with_hidden_text_reaches_no_log_and_no_error_mail(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: pytest_django.Settings
) -> None:
    settings.ADMINS = [("Operator", "operator@example.org")]
    quoted = world.canary.plant("message of an exception")

    def quote(*args: object, **kwargs: object) -> None:
        secret = quoted + " in a variable"
        try:
            raise KeyError(secret)
        except KeyError as error:
            raise ValueError(secret) from error

    client = client_for(world.people["owner"])
    console = io.StringIO()
    (handler,) = (handler for handler in logging.getLogger().handlers if isinstance(handler.formatter, type(formatter())))
    assert isinstance(handler, logging.StreamHandler), "the one handler of the settings"
    monkeypatch.setattr(handler, "stream", console)
    for module, name in ((transcripts, "frame_of"), (html, "render_blocks"), (conversations, "shown_conversation")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, quote)
            response = client.get(f"/c/{world.planted.conversation.pk}/")
            assert response.status_code == 500 and not world.canary.found(whole(response))
    logged = console.getvalue()
    assert "builtins.ValueError" in logged and "in quote" in logged, "the premise: the kind and the place are logged"
    assert not world.canary.found(logged)
    assert len(mail.outbox) == 3 and "in quote" in str(mail.outbox[0].body)
    assert not world.canary.found(*(str(message.message()) for message in mail.outbox))
