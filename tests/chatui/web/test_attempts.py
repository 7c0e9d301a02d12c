"""Attempts to see hidden channels: distinguishing requests of a user from those caused by another site or by the browser itself."""

import pytest
from django.test import Client

from chatui.audit_log.record import RequestCause
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import attempts
from tests.chatui.conftest import OPENING, signed_in
from tests.chatui.store.long_conversations import long_conversation

pytestmark = pytest.mark.django_db

NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
IMAGE = {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
# The headers of Chromium, Firefox and Safari.
HEADERS: list[tuple[dict[str, str], RequestCause]] = [
    ({}, RequestCause.PERSON),
    ({"Sec-Fetch-Site": "none", **NAVIGATION}, RequestCause.PERSON),
    ({"Sec-Fetch-Site": "same-origin", **NAVIGATION}, RequestCause.PERSON),
    ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, RequestCause.PERSON),
    ({"Sec-Fetch-Site": "anything new", **NAVIGATION}, RequestCause.PERSON),
    ({"Sec-Fetch-Site": "cross-site", **NAVIGATION}, RequestCause.LINK),
    ({"Sec-Fetch-Site": "same-site", **NAVIGATION}, RequestCause.LINK),
    ({"Sec-Fetch-Site": "cross-site", **IMAGE}, RequestCause.EMBEDDED),
    ({"Sec-Fetch-Site": "same-site", **IMAGE}, RequestCause.EMBEDDED),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, RequestCause.EMBEDDED),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, RequestCause.EMBEDDED),
    ({"Sec-Purpose": "prefetch", "Sec-Fetch-Site": "none", **NAVIGATION}, RequestCause.PREFETCH),
    ({"Sec-Purpose": "prefetch;prerender", "Sec-Fetch-Site": "same-origin", **NAVIGATION}, RequestCause.PREFETCH),
    ({"Sec-Purpose": "prefetch", "Sec-Fetch-Site": "cross-site", **NAVIGATION}, RequestCause.PREFETCH),
    ({"Purpose": "prefetch"}, RequestCause.PREFETCH),
]


def audit_lines() -> list[tuple[str, str, str, str, str]]:
    return list(AuditEvent.objects.order_by("number").values_list("code", "action", "way", "actor_name", "owner_name"))


@pytest.mark.parametrize(("headers", "cause"), HEADERS)
def test_fetch_metadata_tells_who_caused_a_request(
    headers: dict[str, str], cause: RequestCause, bela: User, conversation: Conversation
) -> None:
    assert signed_in(bela).get(f"/c/{conversation.pk}/debug/", headers=headers).status_code == 403
    assert audit_lines() == [("E-PERM-VISIBILITY", "debug page", cause.value or "page", "bela", "ada")]


@pytest.mark.parametrize(("headers", "cause"), {cause: (headers, cause) for headers, cause in HEADERS}.values())
def test_only_the_persons_own_requests_raise_a_warning_but_all_are_refused_and_logged(
    headers: dict[str, str], cause: RequestCause, bela: User, conversation: Conversation
) -> None:
    client = signed_in(bela)
    for _ in range(6):
        assert client.get(f"/c/{conversation.pk}/debug/", headers=headers).status_code == 403
    assert audit_lines() == [("E-PERM-VISIBILITY", "debug page", cause.value or "page", "bela", "ada")]
    assert [warned.attempts for warned in attempts.unacknowledged()] == ([6] if cause is RequestCause.PERSON else [])


@pytest.mark.parametrize("place", ["open", "close"])
def test_a_form_without_a_token_is_an_attempt_only_at_hidden_channel_addresses(
    place: str, bela: User, grace: User, conversation: Conversation
) -> None:
    def post(person: User | None, path: str) -> int:
        client = Client(enforce_csrf_checks=True)
        if person:
            client.force_login(person)
        return client.post(f"/c/{conversation.pk}/{path}", OPENING).status_code

    assert post(bela, f"debug/{place}/") == post(None, f"debug/{place}/") == post(grace, f"debug/{place}/") == 403
    action = f"{place} debug view"
    assert audit_lines() == [("E-PERM-VISIBILITY", action, "page", name, "ada") for name in ("bela", "")], (
        "who may see them only had an old form"
    )
    assert post(bela, "rename/") == 403 and post(bela, "debug/") == 403
    assert audit_lines()[2:] == [("E-PERM-VISIBILITY", "debug page", "page", "bela", "ada")]


def test_another_http_method_is_an_attempt_too(bela: User, grace: User, conversation: Conversation) -> None:
    for person in (bela, grace):
        client = signed_in(person)
        assert client.get(f"/c/{conversation.pk}/debug/open/").status_code == 405
        assert client.put(f"/c/{conversation.pk}/debug/raw/").status_code == 405
        assert client.head(f"/c/{conversation.pk}/download/whole/").status_code == 405
    actions = ["open debug view", "debug raw text", "whole download"]
    assert audit_lines() == [("E-PERM-VISIBILITY", action, "page", "bela", "ada") for action in actions]


@pytest.mark.parametrize("place", ["messages/{}/text/", "at/{}/"])
def test_a_hidden_frame_id_is_an_attempt_and_looks_like_an_unknown_id(place: str, ada: User, bela: User, grace: User) -> None:
    row = long_conversation(ada, 4)
    visible, *_, hidden = row.messages.order_by("position")
    row.messages.filter(pk=hidden.pk).update(is_visible=False)
    assert signed_in(ada).get(f"/c/{row.pk}/{place.format(visible.pk)}").status_code in (200, 302)
    assert signed_in(bela).get(f"/c/{row.pk}/{place.format(visible.pk)}").status_code == 404
    assert audit_lines() == [], "the premise: not what is visible"
    own = Conversation.objects.create(owner=bela)
    for person, conversation in ((ada, row), (bela, row), (grace, row)):
        assert signed_in(person).get(f"/c/{conversation.pk}/{place.format(hidden.pk)}").status_code == 404
    assert signed_in(bela).get(f"/c/{own.pk}/{place.format(hidden.pk)}").status_code == 404
    action = "message text" if "text" in place else "link to message"
    assert audit_lines() == [("E-PERM-VISIBILITY", action, "page", name, "ada") for name in ("ada", "bela")], "grace may see it, elsewhere"
    assert attempts.attempts_of(bela) == 2


@pytest.mark.parametrize("place", ["messages/{}/text/", "messages/{}/rating/", "share/"])
def test_a_hidden_frame_id_in_a_form_without_a_token_is_an_attempt(place: str, ada: User) -> None:
    row = long_conversation(ada, 4)
    visible, *_, hidden = row.messages.order_by("position")
    row.messages.filter(pk=hidden.pk).update(is_visible=False)
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    for message, lines in ((visible, 0), (hidden, 1)):
        assert client.post(f"/c/{row.pk}/{place.format(message.pk)}", {"leaf": str(message.pk)}).status_code == 403
        assert len(audit_lines()) == lines
    assert audit_lines() == [("E-PERM-VISIBILITY", "form without token", "page", "ada", "ada")]


def test_the_branch_of_a_hidden_frame_is_opened_by_its_owner_alone_and_for_others_its_id_is_an_attempt(ada: User, bela: User) -> None:
    row = long_conversation(ada, 4)
    *_, hidden = row.messages.order_by("position")
    row.messages.filter(pk=hidden.pk).update(is_visible=False)
    checked = Client(enforce_csrf_checks=True)
    for person, status, lines in ((ada, 302, 0), (bela, 404, 1)):
        assert signed_in(person).post(f"/c/{row.pk}/branch/", {"message": str(hidden.pk)}).status_code == status
        assert len(audit_lines()) == lines
        checked.force_login(person)
        assert checked.post(f"/c/{row.pk}/branch/", {"message": str(hidden.pk)}).status_code == 403
    assert audit_lines() == [("E-PERM-VISIBILITY", action, "page", "bela", "ada") for action in ("open branch", "form without token")]
