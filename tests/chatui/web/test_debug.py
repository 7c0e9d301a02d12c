"""The debug view's pages for staff: opening, audit log lines, expiry, and approval by a second person."""

from datetime import timedelta
from uuid import uuid4

import pytest
import pytest_django
from django.test import Client
from django.utils import timezone

from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import requests
from renderer.frames import Frame, Header
from renderer.ocml import document
from tests.chatui.conftest import OPENING, signed_in
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db

THOUGHT = "**HIDDEN** <script>alert(1)</script> [x](javascript:alert(1))"
ESCAPED = "**HIDDEN** &lt;script&gt;alert(1)&lt;/script&gt; [x](javascript:alert(1))"


@pytest.fixture
def turn(conversation: Conversation) -> Turn:
    """One question, one thought, one answer."""
    question = add_message(conversation, None, Frame(Header("user"), "What?"), Author.PERSON)
    row = Turn.objects.create(
        conversation=conversation,
        question=question,
        asked_by=conversation.owner,
        client_id=uuid4(),
        state="completed",
        lease_until=timezone.now(),
        effort="medium",
        error_detail="the server said <b>HIDDEN</b>",
        request=requests.pack("/v1/chat/completions", b'{"messages": "<i>HIDDEN</i>"}'),
    )
    thought = add_message(conversation, question, Frame(Header("assistant", channel="analysis"), THOUGHT), Author.MODEL, turn_id=row.pk)
    final = add_message(conversation, thought, Frame(Header("assistant", channel="final"), "That."), Author.MODEL, turn_id=row.pk)
    open_branch(conversation, conversation.owner, final)
    return row


def pages(turn: Turn) -> dict[str, str]:
    """Every page and part of the debug view, by the action in its audit log line."""
    at, hidden = f"/c/{turn.conversation_id}/debug/", Message.objects.get(channel="analysis")
    return {
        "debug page": at,
        "debug comparison": f"{at}compare/",
        "debug raw text": f"{at}raw/",
        "debug raw frame": f"{at}frames/{hidden.pk}/",
        "debug prompt": f"{at}turns/{turn.pk}/prompt/",
        "prompt download": f"{at}turns/{turn.pk}/prompt/file/",
        "debug tokens": f"{at}turns/{turn.pk}/tokens/?of=output",
    }


def opened(person: User, turn: Turn) -> Client:
    client = signed_in(person)
    assert client.post(f"/c/{turn.conversation_id}/debug/open/", OPENING).status_code == 302
    return client


def test_each_page_escapes_hidden_text_and_is_counted_in_the_view(grace: User, turn: Turn) -> None:
    client = opened(grace, turn)
    for number, (action, path) in enumerate(pages(turn).items(), 1):
        response = client.get(path)
        assert response.status_code == 200, path
        is_text = response["Content-Type"].startswith("text/plain")
        assert is_text or (b"<script>alert" not in response.content and b"<i>HIDDEN" not in response.content), path
        assert b"HIDDEN" in response.content or action == "debug tokens"
        look = CountedLine.objects.get()
        assert look.counts[action] == 1 and len(look.counts) == number
    lines = AuditEvent.objects.order_by("number").values_list("action", "actor_name", "owner_name", "conversation_id")
    assert list(lines) == [(action, "grace", "ada", turn.conversation_id) for action in ("open debug view", "prompt download")]
    assert ESCAPED in client.get(pages(turn)["debug page"]).content.decode()


def test_after_expiry_each_page_leads_to_the_form_and_shows_nothing(grace: User, turn: Turn) -> None:
    client = opened(grace, turn)
    DebugRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    before = AuditEvent.objects.count()
    for action, path in pages(turn).items():
        response = client.get(path, follow=True)
        assert response.status_code == (403 if action == "debug raw frame" else 200)
        assert b"HIDDEN" not in response.content and b"Ada&#x27;s conversation" not in response.content, path
    assert AuditEvent.objects.count() == before


def test_each_page_of_an_open_view_is_loaded_anew_soon_after_its_end_without_any_script(grace: User, turn: Turn) -> None:
    client = opened(grace, turn)
    DebugRequest.objects.update(expires_at=timezone.now() + timedelta(seconds=60))
    texts = {action: client.get(path) for action, path in pages(turn).items()}
    shown = {action for action, response in texts.items() if response.headers["Content-Type"].startswith("text/html")}
    assert texts.keys() - shown == {"debug raw frame", "prompt download"}
    assert all(59 <= int(texts[action].headers["Refresh"]) <= 65 for action in shown)


def test_the_typed_reason_stays_in_the_form_escaped(grace: User, turn: Turn) -> None:
    page = signed_in(grace).post(f"/c/{turn.conversation_id}/debug/open/", {"reason": '"><b>', "minutes": "15"})
    assert 'value="&quot;&gt;&lt;b&gt;"' in page.content.decode()


def test_the_bar_shows_the_remaining_seconds_and_a_close_button(grace: User, turn: Turn) -> None:
    client = opened(grace, turn)
    page = client.get(f"/c/{turn.conversation_id}/debug/").content.decode()
    seconds = int(page.split('data-seconds="')[1].split('"')[0])
    assert 890 <= seconds <= 900 and "Close now" in page and OPENING["reason"] in page
    client.post(f"/c/{turn.conversation_id}/debug/close/")
    assert "HIDDEN" not in client.get(f"/c/{turn.conversation_id}/debug/").content.decode()


def test_a_second_person_approves_on_the_page_of_requests(grace: User, vera: User, turn: Turn, settings: pytest_django.Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"debug_approval": True})
    asking, deciding = opened(grace, turn), signed_in(vera)
    page = asking.get(f"/c/{turn.conversation_id}/debug/").content.decode()
    assert "Waiting for a second person" in page and "HIDDEN" not in page
    own = asking.get("/debug/requests/").content.decode()
    assert "somebody else has to decide" in own and "/approve/" not in own
    listed = deciding.get("/debug/requests/").content.decode()
    assert "grace" in listed and OPENING["reason"] in listed and "Ada&#x27;s conversation" not in listed and "HIDDEN" not in listed
    approve = f"/c/{turn.conversation_id}/debug/requests/{DebugRequest.objects.get().pk}/approve/"
    assert approve in listed
    assert asking.post(approve).status_code == 403, "not oneself"
    assert "HIDDEN" not in asking.get(f"/c/{turn.conversation_id}/debug/").content.decode()
    assert deciding.post(approve).status_code == 302
    assert "HIDDEN" in asking.get(f"/c/{turn.conversation_id}/debug/").content.decode()
    assert deciding.post(approve).status_code == 404, "played again"
    assert "No requests are waiting" in deciding.get("/debug/requests/").content.decode()
    events = AuditEvent.objects.order_by("number").values_list("action", "code", "actor_name")
    assert list(events) == [
        ("ask for debug view", "", "grace"),
        ("approve debug view", "E-PERM-VISIBILITY", "grace"),
        ("approve debug view", "", "vera"),
        ("debug page", "", "grace"),
    ]


def test_a_declined_request_leads_back_to_the_form(grace: User, vera: User, turn: Turn, settings: pytest_django.Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"debug_approval": True})
    client = opened(grace, turn)
    signed_in(vera).post(f"/c/{turn.conversation_id}/debug/requests/{DebugRequest.objects.get().pk}/decline/")
    page = client.get(f"/c/{turn.conversation_id}/debug/").content.decode()
    assert "Before you open this view" in page and "HIDDEN" not in page


def test_the_number_of_queries_does_not_grow_with_the_conversation(
    grace: User, turn: Turn, django_assert_max_num_queries: pytest_django.DjangoAssertNumQueries
) -> None:
    client, last = opened(grace, turn), Message.objects.latest("position")
    for number in range(40):
        question = add_message(turn.conversation, last, Frame(Header("user"), f"And {number}?"), Author.PERSON)
        continued = Turn.objects.create(
            conversation=turn.conversation,
            question=question,
            asked_by=turn.asked_by,
            client_id=uuid4(),
            state="completed",
            lease_until=timezone.now(),
            continued_message=last,
        )
        final = Frame(Header("assistant", channel="final"), "So.")
        last = add_message(turn.conversation, question, final, Author.MODEL, turn_id=continued.pk)
    open_branch(turn.conversation, turn.conversation.owner, last)
    with django_assert_max_num_queries(45):
        assert b"And 39?" in client.get(f"/c/{turn.conversation_id}/debug/").content


def test_reasoning_markers_are_headings_and_the_text_stays_escaped(turn: Turn, grace: User) -> None:
    thought = Message.objects.get(channel="analysis")
    Message.objects.filter(pk=thought.pk).update(
        text=document.dump_frame(Frame(Header("assistant", channel="analysis"), f"Well.<|start_reflect|>{THOUGHT}"))
    )
    client = opened(grace, turn)
    page = client.get(f"/c/{turn.conversation_id}/debug/").content.decode()
    assert '<h3 class="frame-section">Self-critique <code>&lt;|start_reflect|&gt;</code></h3>' in page
    assert f"\n{ESCAPED}</pre>" in page and "<script>alert" not in page
    assert "frame-section" not in client.get(f"/c/{turn.conversation_id}/debug/compare/").content.decode()
