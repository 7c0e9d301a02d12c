"""Serving files: for their owner, with a policy that runs nothing; for everybody else they do not exist."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.files import StoredFile
from chatui.models.user import User
from chatui.store import files as storage
from chatui.store.files import FileDestination, NewFile
from tests.chatui.conftest import OPENING, signed_in
from tests.chatui.store.files.pictures import claiming, png

pytestmark = pytest.mark.django_db

POLICY = {"default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "sandbox"}


def store_file(row: Conversation, name: str = "a.csv", data: bytes = b"a,b\n") -> StoredFile:
    return storage.save(FileDestination(row.owner_id, row.pk), NewFile.of(name, data))


def body_of(response: object) -> bytes:
    return b"".join(response.streaming_content)  # type: ignore[attr-defined]


def test_the_owner_gets_a_file_as_a_download(conversation: Conversation, ada: User) -> None:
    file = store_file(conversation, "Zahlen – März.csv")
    response = signed_in(ada).get(f"/files/{file.pk}/")
    assert response.status_code == 200 and body_of(response) == b"a,b\n"
    assert response["Content-Disposition"] == "attachment; filename*=utf-8''Zahlen%20%E2%80%93%20M%C3%A4rz.csv"
    assert response["Content-Type"] == "application/octet-stream" and response["Content-Length"] == "4"


def test_a_picture_of_a_safe_format_is_shown_inline(conversation: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/files/{store_file(conversation, 'plot.txt', png(3, 2)).pk}/")
    assert body_of(response) == png(3, 2) and response["Content-Type"] == "image/png"
    assert response["Content-Disposition"] == 'inline; filename="plot.txt"'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("x.html", b"<script>alert(1)</script>"),
        ("x.png", b"<script>alert(1)</script>"),
        ("x.pdf", b"%PDF-1.7"),
        ("huge.png", claiming(20_000, 20_000)),
    ],
)
def test_nothing_else_is_shown_inline_whatever_its_name(name: str, data: bytes, conversation: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/files/{store_file(conversation, name, data).pk}/")
    assert response["Content-Type"] == "application/octet-stream" and response["Content-Disposition"] == f'attachment; filename="{name}"'


@pytest.mark.parametrize(("data", "policy"), [(png(), POLICY | {"style-src 'unsafe-inline'"}), (b"<script>", POLICY)])
def test_no_browser_runs_or_caches_a_file(data: bytes, policy: set[str], conversation: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/files/{store_file(conversation, 'x', data).pk}/")
    assert {directive.strip() for directive in response["Content-Security-Policy"].split(";")} == policy
    assert response["X-Content-Type-Options"] == "nosniff" and response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert response["Cache-Control"] == "no-store" and response["X-Frame-Options"] == "DENY"


def test_foreign_deleted_and_guessed_files_are_equally_not_found(conversation: Conversation, ada: User, bela: User, grace: User) -> None:
    file = store_file(conversation)
    assert signed_in(ada).get(f"/files/{file.pk}/").status_code == 200, "the premise"
    others = [signed_in(person).get(f"/files/{file.pk}/") for person in (bela, grace)]
    guessed = signed_in(bela).get(f"/files/{uuid4()}/")
    conversation.deleted_at = timezone.now()
    conversation.save()
    answers = [*others, guessed, signed_in(ada).get(f"/files/{file.pk}/")]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert len({re.sub(rb"[0-9A-Za-z-]{12,}", b"", answer.content) for answer in [others[0], guessed]}) == 1, "not even the page differs"
    assert "script-src 'self'" in guessed["Content-Security-Policy"], "a page of ours"
    assert Client().get(f"/files/{file.pk}/").status_code == 302
    assert not AuditEvent.objects.filter(action__contains="file").exists()


def test_staff_open_a_file_under_the_rules_of_the_debug_view(conversation: Conversation, grace: User) -> None:
    file = store_file(conversation)
    path = f"/c/{conversation.pk}/debug/files/{file.pk}/"
    client = signed_in(grace)
    assert client.get(path).status_code == 403, "not before the debug view is open"
    client.post(f"/c/{conversation.pk}/debug/open/", OPENING)
    assert body_of(client.get(path)) == b"a,b\n"
    assert client.get(f"/c/{conversation.pk}/debug/files/{uuid4()}/").status_code == 404


def test_a_file_that_staff_download_has_its_own_audit_log_line(conversation: Conversation, grace: User) -> None:
    file, client = store_file(conversation), signed_in(grace)
    client.post(f"/c/{conversation.pk}/debug/open/", OPENING)
    client.get(f"/c/{conversation.pk}/debug/files/{file.pk}/")
    lines = list(AuditEvent.objects.order_by("number").values_list("action", "way", "actor_name", "owner_name"))
    assert lines == [("open debug view", "page", "grace", "ada"), ("file download", "download", "grace", "ada")]


def test_a_deactivated_account_gets_nothing(conversation: Conversation, ada: User) -> None:
    file, client = store_file(conversation), signed_in(ada)
    assert client.get(f"/files/{file.pk}/").status_code == 200, "the premise"
    ada.is_active = False
    ada.save()
    assert client.get(f"/files/{file.pk}/").status_code in (302, 404)
