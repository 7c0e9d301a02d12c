"""The pages: what an owner sees and can do, and what everybody else gets instead."""

import re
import struct
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from chatui.accounts import sign_in
from chatui.codes import code_of
from chatui.model_servers import connected
from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.invitations import Invitation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import FirstAccountCode, User
from chatui.permissions import administration
from renderer.frames import Frame, Header, Terminator
from tests.chatui.conftest import OPENING, PASSWORD, make_person, signed_in
from tests.chatui.store.long_conversations import long_conversation
from tests.support.environment import change
from tests.support.html_text import collapsed
from tests.support.messages import add_message, open_branch
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE
from tests.support.several import Configure
from tests.support.several import configure as configure
from tests.support.staff_pages import failure_number

pytestmark = pytest.mark.django_db


def keep(conversation: Conversation, parent: Message | None, header: Header, body: str, turn: Turn | None = None) -> Message:
    author = Author.PERSON if header.role == "user" else Author.MODEL
    message = add_message(conversation, parent, Frame(header, body, Terminator.END), author, turn_id=turn.pk if turn else None)
    open_branch(conversation, conversation.owner, message)
    return message


def turn_for(question: Message, state: str = "completed", code: str = "") -> Turn:
    now = timezone.now()
    return Turn.objects.create(
        conversation=question.conversation,
        question=question,
        asked_by=question.conversation.owner,
        client_id=uuid4(),
        state=state,
        error_code=code,
        lease_until=now + timedelta(minutes=1),
        effort="medium",
        model="gpt-oss-20b",
        finished_at=None if state == "running" else now,
    )


@pytest.fixture
def talk(conversation: Conversation) -> tuple[Message, Turn]:
    """A question with analysis, a preamble and an answer."""
    question = keep(conversation, None, Header("user"), "What is **2 + 2**?\n<b>now</b>")
    turn = turn_for(question)
    thought = keep(conversation, question, ANALYSIS, "HIDDEN-THOUGHT", turn)
    plan = keep(conversation, thought, PREAMBLE, "I will *add* them.", turn)
    keep(conversation, plan, FINAL, "It is `4`.\n\n<script>alert(1)</script>", turn)
    return question, turn


def test_the_page_shows_question_preamble_and_answer_and_nothing_hidden(ada: User, conversation: Conversation, talk: object) -> None:
    page = signed_in(ada).get(f"/c/{conversation.pk}/").content.decode()
    assert "What is **2 + 2**?\n&lt;b&gt;now&lt;/b&gt;" in page, "a question is shown as it was typed"
    assert "I will <em>add</em> them." in page and "It is <code>4</code>." in page
    assert "HIDDEN" not in page and "<script>alert" not in page


def test_the_fragment_of_an_exchange_shows_the_same(ada: User, conversation: Conversation, talk: tuple[Message, Turn]) -> None:
    fragment = signed_in(ada).get(f"/c/{conversation.pk}/turns/{talk[1].pk}/").content.decode()
    assert "It is <code>4</code>." in fragment and "HIDDEN" not in fragment


def test_copy_returns_the_markdown_of_visible_messages_only(ada: User, conversation: Conversation, talk: object) -> None:
    client = signed_in(ada)
    final, hidden = Message.objects.get(channel="final"), Message.objects.get(channel="analysis")
    response = client.get(f"/c/{conversation.pk}/messages/{final.pk}/text/")
    assert response.content.decode() == "It is `4`.\n\n<script>alert(1)</script>"
    assert response["Content-Type"].startswith("text/plain") and response["X-Content-Type-Options"] == "nosniff"
    assert client.get(f"/c/{conversation.pk}/messages/{hidden.pk}/text/").status_code == 404


def test_rename_delete_and_undo(ada: User, conversation: Conversation) -> None:
    client = signed_in(ada)
    json = {"Accept": "application/json"}
    assert client.post(f"/c/{conversation.pk}/rename/", {"title": "  A  new\nname "}, headers=json).json()["title"] == "A new name"
    assert client.post(f"/c/{conversation.pk}/rename/", {"title": "\u3164 \u200b\u2800"}, headers=json).json()["title"] == "A new name"
    deleted = client.post(f"/c/{conversation.pk}/delete/", headers=json).json()
    assert client.get(f"/c/{conversation.pk}/").status_code == 404
    assert "A new name" in client.get(deleted["url"]).content.decode(), "the page offers to undo it"
    client.post(deleted["restore"], headers=json)
    assert client.get(f"/c/{conversation.pk}/").status_code == 200


def test_branches_can_be_switched_and_none_is_lost(ada: User, conversation: Conversation, talk: tuple[Message, Turn]) -> None:
    first = talk[0]
    edited = keep(conversation, None, Header("user"), "What is 3 + 3?")
    keep(conversation, edited, FINAL, "It is 6.", turn_for(edited))
    client = signed_in(ada)
    page = client.get(f"/c/{conversation.pk}/").content.decode()
    assert "It is 6." in page and "It is <code>4</code>" not in page
    client.post(f"/c/{conversation.pk}/branch/", {"message": str(first.pk)})
    page = client.get(f"/c/{conversation.pk}/").content.decode()
    assert "It is <code>4</code>" in page and "It is 6." not in page
    assert ActiveLeaf.objects.count() == 1


@pytest.mark.parametrize(
    ("state", "code"),
    [("failed", "E-X-BACKEND"), ("incomplete", "E-X-LENGTH"), ("interrupted", "E-STREAM-TRUNCATED")],
)
def test_a_failed_turn_says_so_on_its_page(state: str, code: str, ada: User, conversation: Conversation) -> None:
    turn = turn_for(keep(conversation, None, Header("user"), "Hello?"), state, code)
    Turn.objects.filter(pk=turn.pk).update(error_detail="UPSTREAM-WORDS")
    page = signed_in(ada).get(f"/c/{conversation.pk}/").content.decode()
    assert escape(code_of(code).sentence) in page and not any(words in page for words in (code, "UPSTREAM"))
    assert (failure_number(turn.pk) in page) is (state != "incomplete") and "Retry" in page


def test_a_turn_of_a_dead_process_is_closed_when_its_page_is_opened(ada: User, conversation: Conversation) -> None:
    turn = turn_for(keep(conversation, None, Header("user"), "Hello?"), "running")
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert failure_number(turn.pk) in signed_in(ada).get(f"/c/{conversation.pk}/").content.decode()


def test_a_page_of_many_messages_needs_a_fixed_number_of_queries(
    ada: User, conversation: Conversation, django_assert_max_num_queries: object
) -> None:
    parent: Message | None = None
    for each in range(30):
        question = keep(conversation, parent, Header("user"), f"Question {each}")
        parent = keep(conversation, question, FINAL, f"Answer {each}", turn_for(question))
    client = signed_in(ada)
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        assert "Answer 29" in client.get(f"/c/{conversation.pk}/").content.decode()


NEW = {"username": "ada", "password1": PASSWORD, "password2": PASSWORD}


def test_the_first_account_needs_the_code_and_gets_every_permission() -> None:
    code = sign_in.new_code()
    assert code is not None
    client = Client()
    assert client.get("/")["Location"] == "/setup/"
    assert client.get("/sign-in/")["Location"] == "/setup/"
    assert client.post("/setup/", NEW | {"code": code.lower()})["Location"] == "/"
    person = User.objects.get()
    assert person.is_staff and not person.is_superuser
    assert person.has_perms(["chatui.view_hidden_channels", "chatui.view_any_conversation", "chatui.add_user", "chatui.view_auditevent"])
    assert not FirstAccountCode.objects.exists()
    assert client.get("/").status_code == 200
    for part in administration.AdminPart:
        assert part in administration.parts_of(person), "the first administrator sees all of the installation"


def summary(response: Any) -> str:
    """The error summary of a form."""
    return collapsed(response.content.decode().partition('class="form-problem"')[2].partition("</div>")[0])


def test_a_form_has_an_error_summary_with_links(ada: User) -> None:
    fields = {"old_password": PASSWORD, "new_password1": "short", "new_password2": "short"}
    client = signed_in(ada)
    assert summary(client.get("/password/")) == ""
    errors = summary(client.post("/password/", fields))
    assert '<a href="#id_new_password1">' in errors and "This password has 5 characters" in errors
    errors = summary(client.post("/password/", fields | {"old_password": ""}))
    assert '<a href="#id_old_password">Old password</a>: This field is required.' in errors
    ids = re.findall(r' id="(\w+)"', client.post("/password/", fields).content.decode())
    assert ids.count("id_new_password1") == 1, "the place that the link leads to"


def test_there_is_no_setup_once_an_account_exists(ada: User) -> None:
    assert sign_in.new_code() is None
    assert Client().get("/setup/")["Location"] == "/"
    assert Client().post("/setup/", NEW | {"code": "x"})["Location"] == "/"
    assert sign_in.create("mallory", PASSWORD) is None


def test_staff_create_accounts_that_nobody_can_sign_in_to_yet(grace: User) -> None:
    grace.user_permissions.add(*_permissions("add_user", "change_user", "view_user"))
    response = signed_in(grace).post("/manage/people/new/", {"username": "carol", "email": "carol@example.org", "password1": PASSWORD})
    carol = User.objects.get(username="carol")
    assert "The account of carol is created." in signed_in(grace).get(response["Location"]).content.decode()
    assert carol.email == "carol@example.org" and not carol.has_usable_password()


def _permissions(*names: str) -> list[Permission]:
    return list(Permission.objects.filter(codename__in=names))


def test_the_operators_pages_are_shown_if_they_exist(ada: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "help.md").write_text("# Our help\n\n<script>alert(1)</script>\n\n!!! note\n    Mind the gap.\n")
    (tmp_path / "announcement.md").write_text("Maintenance *tonight*.")
    change(monkeypatch, {"pages_dir": tmp_path})
    page = signed_in(ada).get("/pages/help/").content.decode()
    assert "Our help" in page and "Mind the gap." in page and "<em>tonight</em>" in page and "<script>alert" not in page
    (tmp_path / "announcement.md").unlink()
    assert "tonight" not in signed_in(ada).get("/pages/help/").content.decode()
    for name in ("terms", "welcome", "announcement", "nothing"):
        assert signed_in(ada).get(f"/pages/{name}/").status_code == 404


def test_an_empty_conversation_offers_the_operators_examples_escaped(ada: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert signed_in(ada).get("/").content.decode().count('data-action="example"') == 3, "the shipped ones"
    (tmp_path / "examples.md").write_text("# Ours\n\n- What is <b>new</b>?\n- " + "x" * 500 + "\n\nNo item.\n")
    change(monkeypatch, {"pages_dir": tmp_path})
    page = signed_in(ada).get("/").content.decode()
    assert page.count('data-action="example"') == 2 and "What is &lt;b&gt;new&lt;/b&gt;?" in page
    assert "x" * 201 not in page and "No item." not in page
    (tmp_path / "examples.md").unlink()
    assert 'data-action="example"' not in signed_in(ada).get("/").content.decode()


def test_staff_see_the_original_header_of_a_repaired_frame(grace: User, conversation: Conversation) -> None:
    keep(conversation, None, Header("assistant", channel="fin al", name="CURIOUS-NAME"), "odd")
    client = signed_in(grace)
    client.post(f"/c/{conversation.pk}/debug/open/", OPENING)
    page = client.get(f"/c/{conversation.pk}/debug/").content.decode()
    assert "CURIOUS-NAME" in page and "fin al" in page
    assert "CURIOUS-NAME" not in signed_in(conversation.owner).get(f"/c/{conversation.pk}/").content.decode()


@pytest.mark.parametrize(
    ("name", "data", "icon"),
    [
        ("mark.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", ("any", "image/svg+xml")),
        ("mark.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 640), ("640x640", "image/png")),
    ],
)
def test_the_manifest_has_the_operators_name_icon_and_colour(
    name: str, data: bytes, icon: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ada: User
) -> None:
    (tmp_path / name).write_bytes(data)
    change(monkeypatch, {"name": "Harbour", "mark": tmp_path / name, "accent": "#aa0044"})
    manifest = Client().get("/manifest.webmanifest").json()
    assert (manifest["name"], manifest["short_name"], manifest["theme_color"]) == ("Harbour", "Harbour", "#aa0044")
    assert manifest["share_target"]["action"] == "/", "what a phone shares fills the message box"
    [found] = manifest["icons"]
    assert (found["sizes"], found["type"]) == icon
    assert Client().get(found["src"]).content == data
    page = Client().get("/sign-in/").content.decode()
    assert ("apple-touch-icon" in page) == (icon[1] == "image/png"), "iOS draws no SVG"


def test_the_worker_and_the_offline_page_are_the_same_for_everybody(ada: User, conversation: Conversation) -> None:
    User.objects.update(theme="dark", time_zone="Asia/Seoul")
    client = Client()
    client.force_login(ada)
    page = client.get(f"/c/{conversation.pk}/")
    assert page.status_code == 200 and b"Asia/Seoul" in page.content, "the premise: there is something to name"
    for path in ("/sw.js", "/offline/", "/manifest.webmanifest"):
        response = client.get(path)
        assert response.content == Client().get(path).content, path
        assert not response.cookies and b"ada" not in response.content and b"csrf" not in response.content


def test_the_offline_page_is_in_the_browsers_language() -> None:
    for asks, heading in (("de-DE", "Keine Verbindung"), ("ko", "연결 없음"), ("zh-CN", "没有连接"), ("fr", "No connection")):
        page = Client(headers={"accept-language": asks}).get("/offline/").content.decode()
        assert f"<h1>{heading}</h1>" in page, asks


def test_a_disabled_worker_deletes_its_cache_and_no_page_registers_one(monkeypatch: pytest.MonkeyPatch, ada: User) -> None:
    client = Client()
    client.force_login(ada)
    assert "data-worker" in client.get("/").content.decode()
    change(monkeypatch, {"service_worker": False})
    script = Client().get("/sw.js").content.decode()
    assert "unregister" in script and "caches.delete" in script and "fetch" not in script
    assert "data-worker" not in client.get("/").content.decode()


def test_signing_out_clears_the_cache_and_redirects_to_the_sign_in_page(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    assert "data-signed-out" not in Client().get(settings.LOGIN_URL).content.decode()
    response = client.post("/sign-out/")
    assert response["Clear-Site-Data"] == '"cache"'
    assert f'data-signed-out="{ada.pk}"' in client.get(response["Location"]).content.decode()


@pytest.mark.parametrize("path", ["/shortcuts/", "/tools/"])
def test_a_part_of_a_page_that_is_opened_by_itself_leads_to_the_first_page(path: str, ada: User) -> None:
    client = signed_in(ada)
    opened = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}
    assert client.get(path, headers={"Sec-Fetch-Dest": "empty"}).status_code == 200 == client.get(path).status_code, "scripts get it"
    answer = client.get(path, headers=opened)
    assert (answer.status_code, answer["Location"]) == (302, "/")


@pytest.mark.parametrize("path", ["/", "/download/"])
def test_a_page_and_a_file_are_opened_as_they_are(path: str, ada: User) -> None:
    assert signed_in(ada).get(path, headers={"Sec-Fetch-Dest": "document"}).status_code == 200


# The model menu has a search field only if there are many models; otherwise nothing of it is loaded.


FILE = '[[backend]]\nname="a"\nkind="chat"\nurl="http://127.0.0.1:9"\nmodels=[{}]\n'


@pytest.mark.parametrize(("count", "has_search"), [(20, False), (21, True)])
def test_the_search_appears_only_with_many_models_and_all_are_listed(configure: Configure, ada: User, count: int, has_search: bool) -> None:
    configure(FILE.format(",".join(f'"org/model-{number}"' for number in range(count))))
    page = signed_in(ada).get("/").content.decode()
    assert page.count('<option value="a/org/model-') == count
    assert ("model-search.js" in page, "model-search.css" in page, 'placeholder="Search models"' in page) == (has_search,) * 3


# The message catalogue that a page loads for its scripts.


@pytest.mark.parametrize(("asks", "named"), [("de-DE,de;q=0.9", "de"), ("zh-CN", "zh-hans"), ("en", ""), ("x/../y", "")])
def test_a_page_loads_its_languages_catalogue_before_its_scripts(asks: str, named: str, ada: User) -> None:
    client = Client(headers={"accept-language": asks})
    client.force_login(ada)
    page = client.get("/").content.decode()
    catalogues = [name for name in ("de", "ko", "zh-hans") if f"js/language/catalogues/{name}" in page]
    assert catalogues == ([named] if named else [])
    if named:
        assert page.index("language/catalogues/") < page.index("js/chat"), "the page's own script says sentences as soon as it runs"


# The first page leads whoever installed the product to a model server and to other people, and nobody else.


CONNECT, INVITE = "Connect a model server", "Only you have an account here so far."
SERVER = '[[backend]]\nname="a"\nkind="chat"\nurl="http://127.0.0.1:9"\n'


def first_page(person: User) -> tuple[bool, bool]:
    page = signed_in(person).get("/").content.decode()
    return CONNECT in page, INVITE in page


def test_an_administrator_is_led_to_a_server_then_to_people(configure: Configure) -> None:
    olga = make_person("olga", "view_storedbackend", "add_storedbackend", "view_user", "add_user", staff=True)
    assert first_page(olga) == (True, False)
    configure(SERVER)
    assert first_page(olga) == (False, True)
    make_person("bela")
    assert first_page(olga) == (False, False)


def test_an_invitation_is_enough_to_be_no_longer_alone(configure: Configure) -> None:
    configure(SERVER)
    olga = make_person("olga", "view_user", "add_user", staff=True)
    assert first_page(olga) == (False, True)
    signed_in(olga).post("/manage/people/invite/", {"people": "bela@example.org", "days": "7"})
    assert Invitation.objects.exists() and first_page(olga) == (False, False)


ALL = ("view_storedbackend", "add_storedbackend", "view_user", "add_user")


@pytest.mark.parametrize(("permissions", "is_staff"), [((), False), (ALL, False), ((), True)])
def test_nobody_else_is_led_anywhere(permissions: tuple[str, ...], is_staff: bool, configure: Configure) -> None:
    person = make_person("ada", *permissions, staff=is_staff)
    assert first_page(person) == (False, False)
    configure(SERVER)
    assert first_page(person) == (False, False)


def test_where_links_are_made_it_is_said_that_others_cannot_open_the_site(root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "ALLOWED_HOSTS", ["*"])
    monkeypatch.setattr(connected, "is_demo", lambda: False)
    row, client, words = long_conversation(root, 2), signed_in(root), "only this computer can open the site"
    for path in ("/", "/manage/people/invite/", f"/c/{row.pk}/share/", "/shares/"):
        for host, is_here in (("localhost:8000", True), ("127.0.0.1", True), ("chat.example.org", False), ("192.168.1.5:8000", False)):
            assert (words in collapsed(client.get(path, HTTP_HOST=host).content.decode())) == is_here, (path, host)
