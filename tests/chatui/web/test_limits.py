"""Rate limits per user for expensive requests: a refused request does nothing, and others are not affected."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.user import User
from chatui.store import transcripts
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in

pytestmark = pytest.mark.django_db

REFUSED = 429


def statuses(client: Client, times: int, method: str, path: str, **data: str) -> list[int]:
    def one() -> int:
        response: Any = client.get(path) if method == "GET" else client.post(path, data)
        if response.streaming:
            b"".join(response)
        return int(response.status_code)

    return [one() for _ in range(times)]


@pytest.fixture
def question(conversation: Conversation, ada: User) -> Message:
    message = transcripts.append(conversation, None, Frame(Header("user"), "Is this shared?"), Author.PERSON)
    transcripts.activate(conversation, ada, message)
    return message


def test_exports_of_everything_are_rate_limited(question: Message, ada: User, bela: User) -> None:
    assert statuses(signed_in(ada), 8, "GET", "/download/") == [200] * 6 + [REFUSED] * 2
    assert statuses(signed_in(bela), 1, "GET", "/download/") == [200]


def test_uploads_are_rate_limited(ada: User, bela: User) -> None:
    client = signed_in(ada)
    assert statuses(client, 42, "POST", "/import/", file="") == [400] * 40 + [REFUSED] * 2, "those that are refused count as well"
    assert client.get("/import/").status_code == 200
    assert statuses(signed_in(bela), 1, "POST", "/import/", file="") == [400]
