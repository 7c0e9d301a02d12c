"""The admin page of failed answers: searchable by number, with a cause that quotes nothing, only for staff who see back ends."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.utils.html import escape

from chatui.codes import Cause
from chatui.display.failures import number
from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.message import Author
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import transcripts
from renderer.frames import Frame, Header
from tests.chatui.conftest import make_person, signed_in

pytestmark = pytest.mark.django_db

LIST = "/admin/chatui/failedanswer/"


@pytest.fixture
def failed(ada: User) -> Turn:
    talk = Conversation.objects.create(owner=ada, title="Private title")
    question = transcripts.append(talk, None, Frame(Header("user"), "Private question"), Author.PERSON)
    ActiveLeaf.objects.create(conversation=talk, person=ada, message=question)
    return Turn.objects.create(
        conversation=talk,
        question=question,
        asked_by=ada,
        client_id=uuid4(),
        state="failed",
        lease_until="2026-11-20T12:00:00Z",
        effort="low",
        choice="vllm/tiny",
        backend="a server at http://10.0.0.1",
        error_code="E-X-BACKEND-SETUP",
        error_detail="HTTP 401: SECRET",
        error_cause="key-refused: HTTP 401, invalid_api_key",
    )


def test_a_failure_is_found_by_the_number_that_the_person_was_shown(failed: Turn) -> None:
    omar = signed_in(make_person("omar", "view_storedbackend", staff=True))
    for typed in (number(failed.pk), number(failed.pk).lower(), number(failed.pk).replace("-", " ")):
        page = omar.get(LIST, {"q": typed}).content.decode()
        assert number(failed.pk) in page and f"vllm: {Cause.KEY_REFUSED.sentence} (HTTP 401, invalid_api_key)" in page
        assert not any(hidden in page for hidden in ("SECRET", "Private", "ada", "10.0.0.1"))
    assert number(failed.pk) not in omar.get(LIST, {"q": "0000-0000"}).content.decode()


def test_nobody_can_change_or_delete_a_failure(failed: Turn) -> None:
    omar = signed_in(make_person("omar", "view_storedbackend", "change_turn", "delete_turn", staff=True))
    assert omar.post(f"{LIST}{failed.pk}/delete/", {"post": "yes"}).status_code == 403
    assert omar.get(f"{LIST}add/").status_code == 403
    assert Turn.objects.filter(pk=failed.pk).exists()


@pytest.mark.parametrize("permissions", [(), ("view_hidden_channels",), ("view_user", "view_auditevent")])
def test_only_staff_who_may_see_back_ends_can_see_failures(failed: Turn, permissions: tuple[str, ...]) -> None:
    other = signed_in(make_person("otto", *permissions, staff=True))
    assert other.get(LIST).status_code == 403


def test_a_successful_answer_is_not_listed(failed: Turn) -> None:
    Turn.objects.filter(pk=failed.pk).update(error_code="", state="completed")
    omar = signed_in(make_person("omar", "view_storedbackend", staff=True))
    assert number(failed.pk) not in omar.get(LIST).content.decode()


def test_the_owner_reads_the_cause_only_with_the_permission_for_it(failed: Turn, ada: User) -> None:
    said, path = escape(Cause.KEY_REFUSED.sentence), f"/c/{failed.conversation_id}/"
    page = signed_in(ada).get(path).content.decode()
    assert number(failed.pk) in page and "Tell an administrator." in page
    assert not any(words in page for words in (said, "HTTP 401", "E-X-BACKEND-SETUP", "SECRET"))
    omar = make_person("omar", "view_storedbackend", staff=True)
    Conversation.objects.filter(pk=failed.conversation_id).update(owner=omar)
    ActiveLeaf.objects.update(person=omar)
    page = signed_in(omar).get(path).content.decode()
    assert all(words in page for words in (number(failed.pk), said, "HTTP 401", "E-X-BACKEND-SETUP"))
    assert "Tell an administrator." not in page and "SECRET" not in page


@pytest.mark.parametrize(
    "query", ["error_detail__startswith=HTTP", "asked_by=1", "question__text__contains=P", "conversation__title=x", "backend=a"]
)
def test_filters_cannot_query_hidden_columns(failed: Turn, query: str) -> None:
    omar = signed_in(make_person("omar", "view_storedbackend", staff=True))
    assert omar.get(f"{LIST}?{query}").status_code in (302, 400)
    assert number(failed.pk) in omar.get(f"{LIST}?error_code__exact=E-X-BACKEND-SETUP").content.decode()


def test_no_page_shows_the_servers_text_or_the_request(failed: Turn) -> None:
    Turn.objects.filter(pk=failed.pk).update(request=b"SECRET")
    omar = signed_in(make_person("omar", "view_storedbackend", staff=True))
    for path in ("", f"{failed.pk}/change/", f"{failed.pk}/history/"):
        page = omar.get(f"{LIST}{path}").content.decode()
        assert "SECRET" not in page and "Private" not in page
