"""Somebody else's debug view: by the address that they send, or a search that is recorded; always with a reason, and never a title."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chatui.display import debug_search
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.conftest import OPENING, signed_in
from tests.chatui.web.manage.test_manage import failed_turn, text_of
from tests.support.staff_pages import failure_number

pytestmark = pytest.mark.django_db

SEARCH = "/manage/conversations/"


@pytest.fixture
def talk(ada: User) -> Conversation:
    return Conversation.objects.create(owner=ada, title="Private title")


def test_the_address_of_a_conversation_leads_those_who_may_to_its_debug_view(talk: Conversation, ada: User, grace: User) -> None:
    staff = signed_in(grace)
    for path in ("", "?all=1", f"?at={uuid4()}"):
        answer = staff.get(f"/c/{talk.pk}/{path}", follow=True)
        page = answer.content.decode()
        assert answer.redirect_chain == [(f"/c/{talk.pk}/debug/", 302)] and "Before you open this view" in page, path
        assert "A conversation of ada" in page and "Private title" not in page and "debug-body" not in page
    assert signed_in(ada).get(f"/c/{talk.pk}/").status_code == 200, "the owner reads it as always"
    own = Conversation.objects.create(owner=grace)
    assert staff.get(f"/c/{own.pk}/").status_code == 200, "and so do staff their own"
    assert staff.post(f"/c/{talk.pk}/debug/open/", OPENING | {"reason": "x"}).status_code == 400, "no view without a reason"
    Conversation.objects.update(deleted_at=timezone.now())
    assert [staff.get(f"/c/{key}/").status_code for key in (talk.pk, own.pk, uuid4())] == [404, 404, 404]


def test_a_search_finds_by_person_time_id_address_and_failure_number(ada: User, bela: User, grace: User) -> None:
    staff, (old, new) = signed_in(grace), [failed_turn(ada) for _ in range(2)]
    other = failed_turn(bela).conversation_id
    Conversation.objects.filter(pk=old.conversation_id).update(active_at=timezone.now() - timedelta(days=9))
    listed = text_of(staff, SEARCH, q="AD")
    assert all(f"/c/{turn.conversation_id}/debug/" in listed for turn in (old, new)) and str(other) not in listed
    assert "Private" not in listed and "1 answer" in listed
    alone = {
        (("q", str(other)),): other,
        (("q", f"https://chat.example.org/c/{other}/?at={uuid4()}#m-{uuid4()}"),): other,
        (("q", failure_number(old.pk)),): old.conversation_id,
        (("q", f" {failure_number(new.pk).lower()} "),): new.conversation_id,
        (("q", "bela"),): other,
        (("q", "ada"), ("until", f"{timezone.now() - timedelta(days=8):%Y-%m-%d}")): old.conversation_id,
        (("q", "ada"), ("since", f"{timezone.now() - timedelta(days=8):%Y-%m-%d}")): new.conversation_id,
    }
    for fields, key in alone.items():
        assert staff.get(SEARCH, dict(fields))["Location"] == f"/c/{key}/debug/", fields
    for nothing in ("nobody", str(uuid4()), "0000-0000", "%_'\"", "Private"):
        assert "No conversation was found." in text_of(staff, SEARCH, q=nothing), nothing
    assert staff.get(SEARCH, {"since": "never"}).status_code == 400


def test_every_search_is_in_the_audit_log_and_the_empty_page_is_none(talk: Conversation, grace: User, ada: User) -> None:
    staff = signed_in(grace)
    before = AuditEvent.objects.count()
    assert "Search" in text_of(staff, SEARCH)
    assert AuditEvent.objects.count() == before
    staff.get(SEARCH, {"q": f"/c/{talk.pk}/", "since": "2026-11-01"})
    text_of(staff, SEARCH, q="nobody")
    lines = AuditEvent.objects.order_by("number").values_list("action", "actor_name", "way", "conversation_id", "owner_name", "detail")
    assert list(lines)[before:] == [
        ("search conversations", "grace", "admin", talk.pk, "ada", f"since 2026-11-01, /c/{talk.pk}/"),
        ("search conversations", "grace", "admin", None, "", "nobody"),
    ]


def test_a_temporary_conversation_is_in_no_list_and_one_in_the_bin_is_nowhere(talk: Conversation, grace: User, ada: User) -> None:
    staff = signed_in(grace)
    for number_ in range(2):
        Conversation.objects.create(owner=ada, title=f"Another {number_}")
    assert str(talk.pk) in text_of(staff, SEARCH, q="ada"), "the premise"
    Conversation.objects.filter(pk=talk.pk).update(temporary_until=timezone.now() + timedelta(hours=1))
    assert str(talk.pk) not in text_of(staff, SEARCH, q="ada")
    assert staff.get(SEARCH, {"q": str(talk.pk)})["Location"] == f"/c/{talk.pk}/debug/", "as by its address"
    Conversation.objects.filter(pk=talk.pk).update(temporary_until=None, deleted_at=timezone.now())
    assert str(talk.pk) not in text_of(staff, SEARCH, q="ada")
    assert "No conversation was found." in text_of(staff, SEARCH, q=str(talk.pk))


def test_a_list_is_limited_and_takes_as_many_statements_for_many_as_for_few(
    ada: User, grace: User, django_assert_max_num_queries: object
) -> None:
    rows = [Conversation(owner=ada) for _ in range(debug_search.MOST + 5)]
    Conversation.objects.bulk_create(rows)
    with django_assert_max_num_queries(30):  # type: ignore[operator]
        page = text_of(signed_in(grace), SEARCH, q="ada")
    assert page.count("/debug/&quot;") + page.count('/debug/"') == debug_search.MOST and "choose days to see others" in page
