"""A person's own share links: which are listed and revoked on which page, what the page says about readers, and where buttons lead."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest
import pytest_django
from django.test import Client
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Author
from chatui.models.shares import ShareLink
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import transcripts
from chatui.transfer import shares
from chatui.transfer.shares import Link, ShareOptions
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def links(ada: User, conversation: Conversation) -> list[Link]:
    """Two links to one conversation of Ada's and one to another, in the order in which they were created."""
    other = Conversation.objects.create(owner=ada, title="Another")
    return [link_to(conversation), link_to(conversation), link_to(other)]


def link_to(row: Conversation) -> Link:
    question = row.messages.first() or transcripts.append(row, None, Frame(Header("user"), "Hello"), Author.PERSON)
    transcripts.activate(row, row.owner, question)
    made = shares.create(Visitor(row.owner, "192.0.2.7", "page"), row.pk, question.pk, 7, ShareOptions())
    ShareLink.objects.filter(pk=made.id).update(created_at=timezone.now() - timedelta(hours=5 - ShareLink.objects.count()))
    return made


def listed(person: User, path: str) -> list[str]:
    """The tokens of the links that a page lists, from above."""
    page = signed_in(person).get(path)
    assert page.status_code == 200
    return [link.token for link, _ in page.context["links"]]


def test_a_conversations_page_lists_its_own_links_and_the_other_page_lists_all(
    links: list[Link], ada: User, bela: User, conversation: Conversation
) -> None:
    first, second, elsewhere = (link.token for link in links)
    assert listed(ada, f"/c/{conversation.pk}/share/") == [second, first], "the newest first"
    assert listed(ada, "/shares/") == [elsewhere, second, first]
    assert listed(bela, "/shares/") == []
    assert [link.token for link in shares.links(ada, conversation.pk)] == [second, first]
    with pytest.raises(access.NotFoundError):
        shares.links(bela, conversation.pk)


def test_the_links_that_were_revoked_are_counted_and_recorded(links: list[Link], ada: User, conversation: Conversation) -> None:
    visitor = Visitor(ada, "192.0.2.7", "page")
    revoke = AuditEvent.objects.filter(action="revoke share link")
    assert shares.revoke(visitor, conversation_id=conversation.pk) == 2 == revoke.count()
    assert [link.id for link in shares.links(ada)] == [links[2].id]
    assert shares.revoke(visitor, conversation_id=conversation.pk) == 0 and revoke.count() == 2, "nothing is revoked twice"
    assert shares.revoke(visitor) == 1 and revoke.count() == 3 and shares.links(ada) == []
    for link in (links[0].id, uuid4()):
        with pytest.raises(access.NotFoundError):
            shares.revoke(visitor, link_id=link)  # type: ignore[arg-type]
    with pytest.raises(access.NotFoundError):
        shares.revoke(Visitor(None, "192.0.2.7", "page"))


@pytest.mark.parametrize(
    ("days", "options", "detail"),
    [
        (1, ShareOptions(), "for 1 days"),
        (30, ShareOptions(name=True), "for 30 days"),
        (shares.FOR_EVER, ShareOptions(), "without end"),
        (7, ShareOptions(documents=True), "for 7 days, with documents"),
    ],
)
def test_the_record_of_a_new_link_says_for_how_long_and_whether_it_has_documents(
    days: int,
    options: ShareOptions,
    detail: str,
    links: list[Link],
    ada: User,
    conversation: Conversation,
    settings: pytest_django.Settings,
) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"share_max_days": -1})
    leaf = ShareLink.objects.filter(conversation=conversation)[0].leaf_id
    made = shares.create(Visitor(ada, "192.0.2.7", "page"), conversation.pk, leaf, days, options)
    assert AuditEvent.objects.order_by("-number")[0].detail == detail
    assert made.ends_at is None if days == shares.FOR_EVER else made.ends_at is not None
    assert abs((made.ends_at or made.made_at) - made.made_at - timedelta(days=days)) < timedelta(minutes=1)
    row = ShareLink.objects.get(pk=made.id)
    assert (row.has_documents, row.shown_name, len(row.token)) == (options.documents, "ada" if options.name else "", 22)
    assert (made.token, made.title, made.conversation_id) == (row.token, "Ada's conversation", str(conversation.pk))


def test_the_new_link_is_marked_on_the_page_after_it_was_created(links: list[Link], ada: User, conversation: Conversation) -> None:
    client, leaf = signed_in(ada), str(ShareLink.objects.filter(conversation=conversation)[0].leaf_id)
    page = client.post(f"/c/{conversation.pk}/share/", {"leaf": leaf, "days": "7"}, follow=True)
    (marked,) = re.findall(r'share-link-new".*?value="http://testserver/s/([^/"]+)/"', page.content.decode(), re.DOTALL)
    assert marked == ShareLink.objects.latest("created_at").token
    assert "share-link-new" not in client.get(f"/c/{conversation.pk}/share/").content.decode()


def test_after_revoking_people_return_to_the_page_that_the_button_was_on(links: list[Link], ada: User, conversation: Conversation) -> None:
    client, own_page = signed_in(ada), f"/c/{conversation.pk}/share/"
    for number, (where, page) in enumerate(((str(conversation.pk), own_page), ("", "/shares/"), ("x", "/shares/"))):
        assert client.post(f"/shares/{links[number].id}/revoke/", {"conversation": where})["Location"] == page
    assert client.post(f"{own_page}revoke/")["Location"] == own_page
    assert client.post("/shares/revoke/")["Location"] == "/shares/"


def test_following_an_address_or_being_signed_out_revokes_nothing(links: list[Link], ada: User, conversation: Conversation) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    for path in (f"/shares/{links[0].id}/revoke/", f"/c/{conversation.pk}/share/revoke/", "/shares/revoke/"):
        assert signed_in(ada).get(path).status_code == 405
        assert strict.post(path).status_code == 403, "without a token"
        assert Client().post(path)["Location"].startswith("/sign-in/")
    for path in ("/shares/", f"/c/{conversation.pk}/share/"):
        assert Client().get(path)["Location"].startswith("/sign-in/")
    leaf = str(ShareLink.objects.filter(conversation=conversation)[0].leaf_id)
    assert Client().post(f"/c/{conversation.pk}/share/", {"leaf": leaf, "days": "7"})["Location"].startswith("/sign-in/")
    assert len(shares.links(ada)) == ShareLink.objects.count() == 3


def test_revoking_the_links_of_a_conversation_on_the_page_is_recorded_as_done_there(ada: User, conversation: Conversation) -> None:
    link_to(conversation)
    signed_in(ada).post(f"/c/{conversation.pk}/share/revoke/")
    assert list(AuditEvent.objects.filter(action__contains="revoke").values_list("way", flat=True)) == ["page"]
