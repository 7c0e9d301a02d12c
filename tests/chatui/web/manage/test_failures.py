"""Failed answers in Administration: by cause, one by its number or from its notice, with what helps and nothing that anybody wrote."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone
from django.utils.html import escape

from chatui.backends.spec import BackendSpec
from chatui.codes import Cause, ProductCode
from chatui.model_servers import connected
from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.web.manage.test_manage import failed_turn, text_of
from tests.support.staff_pages import failure_number

pytestmark = pytest.mark.django_db

LIST = "/manage/failures/"
HIDDEN = ("SECRET", "Private", "10.0.0.1")


@pytest.fixture
def omar(db: None) -> User:
    """Staff who may see model servers, and nothing of people."""
    return make_person("omar", "view_storedbackend", staff=True)


def of(owner: User, code: str, stored: str, choice: str = "vllm/tiny", state: str = "failed") -> Turn:
    turn = failed_turn(owner, code, choice)
    Turn.objects.filter(pk=turn.pk).update(error_cause=stored, state=state, backend="http://10.0.0.1", request=b"SECRET")
    return turn


def test_failures_are_counted_by_cause_and_server_and_each_says_what_helps(ada: User, omar: User, grace: User) -> None:
    for evidence in ("HTTP 401", "HTTP 403, forbidden", "HTTP 401"):
        turn = of(ada, "E-X-BACKEND-SETUP", Cause.KEY_REFUSED.log_text(evidence))
    of(ada, "E-X-BACKEND-SETUP", Cause.KEY_REFUSED.log_text("HTTP 401"), "other")
    of(ada, "E-OF-ANOTHER-RELEASE", "", "")
    page = text_of(signed_in(omar), LIST)
    assert page.count(f"<strong>3 ×</strong> {escape(Cause.KEY_REFUSED.sentence)}") == 1 and escape(Cause.KEY_REFUSED.advice) in page
    assert page.count("<strong>1 ×</strong>") == 2
    assert not any(hidden in page for hidden in (*HIDDEN, ">ada<", str(turn.conversation_id)))
    narrowed = text_of(signed_in(omar), LIST, cause="key-refused", server="other")
    assert "HTTP 401" in narrowed and "HTTP 403" not in narrowed
    assert "HTTP 403" in text_of(signed_in(omar), LIST, code="E-X-BACKEND-SETUP"), "a code says the same"
    Turn.objects.update(started_at=timezone.now() - timedelta(hours=30))
    assert "No failed answers in this period" in text_of(signed_in(omar), LIST)
    assert "<strong>3 ×</strong>" in text_of(signed_in(omar), LIST, hours=168)


def test_the_card_of_a_model_server_says_its_failures_in_sentences_and_has_formats_behind_details(
    ada: User, root: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = BackendSpec(name="vllm", url="http://127.0.0.1:9/v1", kind="chat")
    monkeypatch.setattr(connected, "specs", lambda: (spec,))
    for evidence in ("HTTP 403", "HTTP 401"):
        of(ada, "E-X-BACKEND-SETUP", Cause.KEY_REFUSED.log_text(evidence), "vllm")
    of(ada, "E-X-TIMEOUT", "", "vllm")
    card = text_of(signed_in(root), "/manage/servers/").partition('id="server-1"')[2].partition("</section>")[0]
    shown, _, details = card.partition("<summary>Details")
    assert f"<strong>2 ×</strong> {escape(Cause.KEY_REFUSED.sentence)}" in shown and "E-X-" not in card and card.count("127.0.0.1:9") == 1
    assert "<code>chat</code>" in details and "<code>127.0.0.1:9</code>" in details
    (address,) = {line.partition('"')[0] for line in shown.split('href="')[1:] if "cause=key-refused" in line}
    page = text_of(signed_in(root), address.replace("&amp;", "&"))
    assert page.count("Debug view of") in (0, 2) and "HTTP 403" in page and "HTTP 401" in page


def test_answers_that_were_cut_and_busy_servers_are_listed_apart(ada: User, omar: User) -> None:
    of(ada, "E-X-LENGTH", "", state="incomplete")
    of(ada, "E-X-BACKEND-BUSY", Cause.BUSY.log_text("HTTP 429"))
    of(ada, "E-X-WITHHELD", "", state="completed")
    page = text_of(signed_in(omar), LIST)
    failed, _, others = page.partition("Not failed: cut at a limit, or the server was busy")
    assert "No failed answers in this period" in failed and others.count("<strong>1 ×</strong>") == 2
    assert "withheld" not in page, "an answer that was written to its end is no matter for this page"

    Turn.objects.update(choice="demo")
    assert "No failed answers in the last 24 hours." in text_of(signed_in(omar), "/manage/servers/")
    of(ada, "E-X-TIMEOUT", "", choice="demo")
    assert escape(Cause.read("", ProductCode.TIMEOUT)[0].sentence) in text_of(signed_in(omar), "/manage/servers/")


def test_an_answer_is_found_by_the_number_that_the_person_was_shown(ada: User, omar: User) -> None:
    turn, staff = of(ada, "E-X-BACKEND-SETUP", Cause.KEY_REFUSED.log_text("HTTP 401, invalid_api_key")), signed_in(omar)
    shown = failure_number(turn.pk)
    for typed in (shown, shown.lower(), shown.replace("-", " ")):
        assert staff.get(LIST, {"number": typed})["Location"] == f"{LIST}{turn.pk}/"
    for wrong in ("0000-0000", "x", shown[:4], "\0%_", "9" * 99):
        assert "No failed answer has this number." in text_of(staff, LIST, number=wrong)


def test_the_notice_in_the_chat_leads_those_who_may_to_the_cause(ada: User, omar: User) -> None:
    turn = of(ada, "E-X-BACKEND-SETUP", Cause.KEY_REFUSED.log_text("HTTP 401, invalid_api_key"))
    conversation, path = turn.conversation_id, f"{LIST}{turn.pk}/"
    ActiveLeaf.objects.create(conversation_id=conversation, person=ada, message=turn.question)
    page = signed_in(ada).get(f"/c/{conversation}/").content.decode()
    assert failure_number(turn.pk) in page and "Tell an administrator." in page
    assert not any(words in page for words in (path, escape(Cause.KEY_REFUSED.sentence), "HTTP 401", "E-X-BACKEND-SETUP", "SECRET"))
    Conversation.objects.filter(pk=conversation).update(owner=omar)
    ActiveLeaf.objects.update(person=omar)
    page = signed_in(omar).get(f"/c/{conversation}/").content.decode()
    assert path in page and escape(Cause.KEY_REFUSED.sentence) in page
    assert "Tell an administrator." not in page and "SECRET" not in page
    page = text_of(signed_in(omar), path)
    told = (failure_number(turn.pk), escape(Cause.KEY_REFUSED.sentence), escape(Cause.KEY_REFUSED.advice), "HTTP 401, invalid_api_key")
    assert all(words in page for words in told) and not any(words in page for words in HIDDEN)


def test_the_page_of_an_answer_names_the_person_only_to_those_who_may_open_its_debug_view(ada: User, omar: User) -> None:
    turn = of(ada, "E-X-TIMEOUT", Cause.SILENT.log_text(""))
    root = signed_in(User.objects.create_superuser("root"))
    view = f"/c/{turn.conversation_id}/debug/"
    for path in (LIST, f"{LIST}{turn.pk}/"):
        assert not any(words in text_of(signed_in(omar), path) for words in (">ada<", view))
        assert all(words in text_of(root, path) for words in (">ada<", view))
    for state in ("deleted_at", "temporary_until"):
        Conversation.objects.update(**{"deleted_at": None, "temporary_until": None, state: timezone.now()})
        assert not any(words in text_of(root, path) for path in (LIST, f"{LIST}{turn.pk}/") for words in (">ada<", view)), state


def test_only_staff_who_may_see_model_servers_read_causes_and_only_of_failures(ada: User, omar: User, grace: User, sam: User) -> None:
    turn = of(ada, "E-X-TIMEOUT", Cause.SILENT.log_text(""))
    for person in (ada, grace, sam):
        assert [signed_in(person).get(path).status_code for path in (LIST, f"{LIST}{turn.pk}/")] == [404, 404]
    staff = signed_in(omar)
    assert staff.get(f"{LIST}{uuid4()}/").status_code == 404
    for change in ({"state": "completed"}, {"state": "running"}, {"state": "failed", "error_code": ""}):
        Turn.objects.update(**change)
        assert staff.get(f"{LIST}{turn.pk}/").status_code == 404, change
