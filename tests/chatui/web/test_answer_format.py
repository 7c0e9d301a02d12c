"""The page of an answer format: its owner sets and clears it, an invalid schema is explained, and the chat page shows that it is on."""

import html
import json
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from chatui import answer_formats
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.turns import running
from tests.support.browser_socket import BrowserSocket
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
NOTE = "Answers here are JSON that matches a schema."


@pytest.fixture
def talk(ada: User) -> Conversation:
    return Conversation.objects.create(owner=ada, title="Sums & more")


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def page_of(talk: Conversation) -> str:
    return reverse("answer_format", args=[talk.pk])


def send(browser: Client, talk: Conversation, **fields: str) -> HttpResponse:
    response = browser.post(page_of(talk), fields)
    talk.refresh_from_db()
    assert isinstance(response, HttpResponse)
    return response


def test_a_schema_is_set_changed_and_cleared(browser: Client, talk: Conversation) -> None:
    chat = reverse("conversation", args=[talk.pk])
    assert NOTE not in browser.get(chat).content.decode()
    response = send(browser, talk, schema=json.dumps(SCHEMA))
    assert (response.status_code, response["Location"]) == (302, chat)
    stored = answer_formats.from_stored(talk.answer_format)
    assert stored is not None
    assert (stored.schema, stored.is_strict) == (SCHEMA, True)
    assert NOTE in browser.get(chat).content.decode()
    assert "&quot;sum&quot;" in browser.get(page_of(talk)).content.decode()
    assert send(browser, talk, clear="1", schema="no matter what").status_code == 302
    assert talk.answer_format is None
    assert NOTE not in browser.get(chat).content.decode()


def test_the_example_schemas_are_valid(browser: Client, talk: Conversation) -> None:
    form = browser.get(page_of(talk), {"example": "1"}).context["form"]
    assert send(browser, talk, schema=form["schema"].value()).status_code == 302
    assert talk.answer_format is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\r\n  "type": object\r\n}', "Check line 2, character 11."),
        ("[]", "Check line 1, character 1."),
        ('{"type": "nothing"}', "This JSON schema cannot be used here. It can have up to 16,000 characters and 32 levels"),
        ('{"$ref": "https://example.org/"}', "This JSON schema cannot be used here."),
        (" ", "Please enter a schema."),
        ('{"enum": ["' + "x" * 70_000 + '"]}', "at most"),
    ],
)
def test_an_invalid_schema_changes_nothing_and_is_explained(browser: Client, talk: Conversation, text: str, expected: str) -> None:
    response = send(browser, talk, schema=text)
    assert response.status_code == 400
    assert expected in response.content.decode()
    assert talk.answer_format is None


# An answer format chosen before the first message: stored for the page of that message, and sent with it.


PAGE = "/format/"


def home_with(browser: Client, query: str = "") -> str:
    response = browser.post(PAGE + query, {"schema": json.dumps(SCHEMA, indent=1)})
    assert response.status_code == 302
    return str(response["Location"])


def test_the_schema_is_in_the_page_it_was_set_for_and_no_other(browser: Client) -> None:
    assert 'href="/format/"' in browser.get("/").content.decode()
    home = home_with(browser)
    page = html.unescape(browser.get(home).content.decode())
    assert NOTE in page and f'data-format="{json.dumps(SCHEMA, separators=(",", ":"))}"' in page
    [key] = parse_qs(urlsplit(home).query)["format"]
    assert '"sum"' in html.unescape(browser.get(f"{PAGE}?for={key}").content.decode()), "it can be changed"
    for other in ("/", "/?format=nothing", "/?temporary", f"/?temporary&format={key}"):
        assert NOTE not in browser.get(other).content.decode() and "data-format" not in browser.get(other).content.decode()
    assert "/format/" not in browser.get("/?temporary").content.decode()
    response = browser.post(f"{PAGE}?for={key}", {"clear": "1"})
    assert response["Location"] == "/"


def test_the_schema_stays_in_its_folder(browser: Client, ada: User) -> None:
    folder = Folder.objects.create(owner=ada, name="Sums")
    assert f"/format/?folder={folder.pk}" in browser.get(f"/?folder={folder.pk}").content.decode()
    home = home_with(browser, f"?folder={folder.pk}")
    assert parse_qs(urlsplit(home).query)["folder"] == [str(folder.pk)]
    page = browser.get(home).content.decode()
    assert NOTE in page and "Sums" in page


def test_a_session_keeps_the_last_few_schemas_privately(browser: Client, bela: User) -> None:
    homes = [home_with(browser) for _ in range(7)]
    assert [NOTE in browser.get(home).content.decode() for home in homes] == [False] * 2 + [True] * 5
    other = Client()
    other.force_login(bela)
    assert NOTE not in other.get(homes[-1]).content.decode()
    assert Client().get(PAGE).status_code == 302


async def test_the_first_message_sets_it_and_later_ones_do_not_change_it(ada: User, backend: ScriptedBackend) -> None:
    backend.script = answer('{"sum": 4}')
    async with BrowserSocket(ada) as socket:
        fields = {"text": "2 + 2?", "effort": "low", "client_id": str(uuid4())}
        await socket.send("send", conversation=None, answer_format=json.dumps(SCHEMA), **fields)
        accepted = (await socket.until("chatui:accepted"))[-1]
        await running.settle()
        row = await Conversation.objects.aget(pk=accepted["conversation"])
        stored = answer_formats.from_stored(row.answer_format)
        assert stored is not None and stored.schema == SCHEMA
        [request] = backend.requests
        assert request.answer_format is not None and request.answer_format.schema == SCHEMA
        again = fields | {"client_id": str(uuid4())}
        await socket.send("send", conversation=str(row.pk), answer_format='{"type": "object"}', **again)
        await socket.until("chatui:accepted")
        await running.settle()
        await row.arefresh_from_db()
        assert answer_formats.from_stored(row.answer_format) == stored


@pytest.mark.parametrize("text", ["{", '{"$ref": "https://example.org/"}'])
async def test_a_message_with_an_invalid_schema_starts_nothing(ada: User, backend: ScriptedBackend, text: str) -> None:
    async with BrowserSocket(ada) as socket:
        await socket.send("send", conversation=None, answer_format=text, text="?", effort="low", client_id=str(uuid4()))
        assert (await socket.next())["type"] == "chatui:refused"
    assert not await database_sync_to_async(Conversation.objects.exists)()
    assert reverse("new_answer_format") == PAGE
