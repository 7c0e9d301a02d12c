"""The page of an answer format: its owner sets and clears it, an invalid schema is explained, and the chat page shows that it is on."""

from __future__ import annotations

import json

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from chatui import json_schemas
from chatui.models.conversation import Conversation
from chatui.models.user import User

pytestmark = pytest.mark.django_db

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
    stored = json_schemas.from_stored(talk.answer_format)
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


def test_nobody_else_finds_the_page(bela: User, talk: Conversation) -> None:
    stranger = Client()
    stranger.force_login(bela)
    assert stranger.get(page_of(talk)).status_code == 404
    assert send(stranger, talk, schema=json.dumps(SCHEMA)).status_code == 404
    assert talk.answer_format is None
