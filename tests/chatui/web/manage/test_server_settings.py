"""Model servers that staff keep: who may change them, what the form refuses, the test before they are offered, records, and keys."""

import html
import re
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from chatui.backends.keys import KeyUnusableError
from chatui.limits import Throttle
from chatui.model_servers import configured, connected, stored
from chatui.models.audit import AuditEvent
from chatui.models.model_servers import Examination, SeparationProof, StoredBackend
from chatui.models.user import User
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.operations.doctor.peers import MODEL, THOUGHT, Answer, answering, chat, chat_answers
from tests.support import examinations, stub
from tests.support.examinations import WORDS
from tests.support.limits import set_limits
from tests.support.proofs import is_proved, prove
from tests.support.several import Configure
from tests.support.several import configure as configure
from tests.support.system_checks import said

pytestmark = pytest.mark.django_db

LIST = "/manage/servers/"
KEY = "sk-this-is-the-key"
FIELDS = {
    "save": "1",
    "untested": "on",
    "name": "small",
    "label": "Small one",
    "is_enabled": "on",
    "position": "0",
    "kind": "chat",
    "url": "https://api.example.org/v1",
    "key_name": "",
    "model_names": "a\n b \n",
    "effort": "low",
    "max_answer_tokens": "0",
    "context_tokens": "0",
    "first_token_seconds": "300",
    "idle_seconds": "60",
    "overall_seconds": "1800",
    "summaries": "built-in",
    "summarizer": "",
}


@pytest.fixture
def omar(db: None) -> User:
    """Staff who look after model servers."""
    permissions = [f"{verb}_storedbackend" for verb in ("add", "change", "delete", "view")]
    return make_person("omar", *permissions, staff=True)


@pytest.fixture
def admin_pages(omar: User, configure: Configure) -> Client:
    return signed_in(omar)


def add(client: Client, **changes: Any) -> Any:
    """Save a new model server, on purpose without a test."""
    return client.post(LIST, FIELDS | changes)


def change(client: Client, server: str = "small", /, **changes: Any) -> Any:
    return client.post(f"{LIST}{server}/settings/", FIELDS | changes)


def act(client: Client, what: str, name: str = "small", **fields: str) -> int:
    row = StoredBackend.objects.filter(name=name).first()
    seen = {"seen": row.changed_at.isoformat()} if row else {}
    status: int = client.post(f"{LIST}{name}/{what}/", seen | fields).status_code
    return status


def recorded() -> list[tuple[str, str, str]]:
    return list(
        AuditEvent.objects.filter(action__startswith="model server").order_by("number").values_list("action", "owner_name", "detail")
    )


def errors(response: Any) -> str:
    assert response.status_code == 200, "the form is shown again"
    return repr(response.context["form"].errors)


def offered() -> list[str]:
    return [spec.name for spec in configured.rows().specs]


@pytest.fixture
def sera(db: None, configure: Configure) -> Client:
    """May see hidden channels as well, so that what she saves is confirmed."""
    permissions = [f"{verb}_storedbackend" for verb in ("add", "change", "delete", "view")]
    return signed_in(make_person("sera", *permissions, "view_hidden_channels", staff=True))


def test_a_row_is_recorded_and_used_once_it_is_confirmed(
    admin_pages: Client, omar: User, django_capture_on_commit_callbacks: Any, sera: Client
) -> None:
    group = Group.objects.create(name="readers")
    assert connected.is_demo()
    with django_capture_on_commit_callbacks(execute=True):
        assert add(admin_pages, groups=[str(group.pk)]).status_code == 302
        assert {event.actor for event in AuditEvent.objects.all()} == {omar}
    assert connected.is_demo(), "an unconfirmed model server is offered to nobody"
    with django_capture_on_commit_callbacks(execute=True):
        act(sera, "confirm")
    (spec,) = connected.specs()
    assert (spec.name, spec.shown, spec.models, spec.effort, spec.groups) == ("small", "Small one", ("a", "b"), "low", ("readers",))
    created = (
        "waits for confirmation; address https://api.example.org/v1; groups readers; "
        "display name Small one; models a b; reasoning effort low"
    )
    confirmed = "after a change by omar: https://api.example.org/v1"
    assert recorded() == [("model server created", "small", created), ("model server confirmed", "small", confirmed)]


def test_a_new_row_is_recorded_in_one_line_that_starts_with_where_text_is_sent(configure: Configure, sera: Client) -> None:
    StoredBackend.objects.create(name="other", url="http://127.0.0.1:9")
    changes = {"url": f"https://api.example.org/{'x' * 250}", "label": "y" * 80, "summaries": "model", "summarizer": "other"}
    response = add(sera, **changes, position="7", first_token_seconds="11", model_names="a\nb\nc")
    assert response.status_code == 302, errors(response)
    ((action, name, detail),) = recorded()
    assert (action, name) == ("model server created", "small") and len(detail) <= 200
    assert detail.startswith(f"confirmed; address https://api.example.org/{'x' * 56}…; summaries model; summarizer other; ")
    assert detail.endswith(" more")


def test_changes_and_deletions_are_recorded(admin_pages: Client, django_capture_on_commit_callbacks: Any) -> None:
    add(admin_pages)
    before = len(recorded())
    assert change(admin_pages, url="https://other.example.org").status_code == 302
    assert recorded()[before:] == [("model server changed", "small", "address is now https://other.example.org")]
    with django_capture_on_commit_callbacks(execute=True):
        assert act(admin_pages, "remove") == 302
    assert recorded()[-1] == ("model server deleted", "small", "https://other.example.org")
    assert connected.is_demo()


@pytest.mark.parametrize("named", ["a", ""])
def test_with_a_server_what_its_models_proved_is_removed(named: str, admin_pages: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of models that its settings do not name."""
    monkeypatch.setattr(stored, "models_of", lambda spec: spec.models or ("a", "b"))
    assert add(admin_pages, model_names=named, other_settings='more_urls = ["https://two.example.org"]').status_code == 302
    assert add(admin_pages, name="other", url="https://other.example.org").status_code == 302
    prove("small", "https://api.example.org/v1", "", "a")
    prove("small", "https://two.example.org", "", "a")
    prove("other", "https://other.example.org", "", "a")
    assert SeparationProof.objects.count() == 12
    assert act(admin_pages, "remove") == 302
    assert SeparationProof.objects.count() == 4, "those of another server stay"


@pytest.mark.parametrize(("changed", "left"), [
    ({"url": "https://new.example.org/v1"}, ["two"]), ({"other_settings": ""}, ["one"]), ({"kind": "responses"}, []),
    ({"label": "Small"}, ["one", "two"]), ({"model_names": "b"}, ["one", "two"]),
])  # fmt: skip
def test_with_an_address_or_a_setting_what_was_proved_there_ends(
    changed: dict[str, str], left: list[str], admin_pages: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But what was proved in a place that stays, stays."""
    monkeypatch.setattr(stored, "models_of", lambda spec: spec.models or ("a", "b"))
    urls = {"one": "https://api.example.org/v1", "two": "https://two.example.org"}
    entered = {"model_names": "a", "other_settings": f'more_urls = ["{urls["two"]}"]'}
    assert add(admin_pages, **entered).status_code == 302
    rows = {name: prove("small", url, "a") for name, url in urls.items()}
    assert all(rows.values()), "the premise"
    assert change(admin_pages, **{**entered, **changed}).status_code == 302
    assert set(SeparationProof.objects.values_list("digest", flat=True)) == {digest for name in left for digest in rows[name]}


def test_staff_without_the_permission_cannot_change_anything(sam: User, configure: Configure) -> None:
    StoredBackend.objects.create(name="small", url="http://a", unconfirmed_by="omar")
    client = signed_in(sam)
    assert {client.get(LIST).status_code, add(client).status_code, client.get(f"{LIST}small/settings/").status_code} == {404}
    viewer = signed_in(make_person("vic", "view_storedbackend", staff=True))
    assert viewer.get(LIST).status_code == 200 and viewer.get(f"{LIST}small/").status_code == 200
    assert {add(viewer).status_code, change(viewer).status_code} == {404}
    assert {act(viewer, what) for what in ("offer", "pause", "confirm", "remove", "nothing")} == {404}
    assert (StoredBackend.objects.get().url, recorded()) == ("http://a", [])


def test_a_server_of_the_operator_is_not_changed_here(admin_pages: Client, configure: Configure) -> None:
    configure(backend_url="http://127.0.0.1:9")
    StoredBackend.objects.create(name="main", url="http://a")
    assert change(admin_pages, "main").status_code == 404 and act(admin_pages, "remove", "main") == 404


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "nowhere"}, "Must begin with http:// or https://"),
        ({"url": "https://me:pw@host"}, "user name or password"),
        ({"url": ""}, "Is missing"),
        ({"name": "a/b"}, "Must be 1 to 60 letters"),
        ({"name": "main"}, "configured outside these pages"),
        ({"idle_seconds": "0"}, "Input should be greater than 0"),
        ({"idle_seconds": "nan"}, "idle_seconds"),
        ({"model_names": "a\na"}, "Names a model twice"),
        ({"kind": "telepathy"}, "kind"),
        ({"key_name": "sk-7261"}, "Must be capital letters"),
        ({"key_name": "NONE"}, "there is no key NONE"),
        ({"summaries": "model"}, "Is missing: summaries"),
        ({"summaries": "model", "summarizer": "other"}, "There is no such model server"),
    ],
)
def test_the_form_reports_mistakes(changes: dict[str, str], words: str, admin_pages: Client, configure: Configure) -> None:
    configure(backend_url="http://127.0.0.1:9")
    assert words in errors(add(admin_pages, **changes))
    assert not StoredBackend.objects.exists() and recorded() == []


OTHER = """
query = { api-version = "2024-10-21" }
key_header = "api-key"
more_urls = ["https://two.example.org/v1"]
sampling = { temperature = 0.7 }
model_sampling = { b = { top_p = 0.9 } }
ask_for_reasoning = false
"""


def test_a_row_supports_the_settings_of_the_back_ends_file(configure: Configure, sera: Client) -> None:
    response = add(sera, other_settings=OTHER)
    assert response.status_code == 302, errors(response)
    spec = connected.spec_of(StoredBackend.objects.get().name)
    assert (spec.query, spec.key_header, spec.more_urls) == ({"api-version": "2024-10-21"}, "api-key", ("https://two.example.org/v1",))
    assert spec.sampling_of("b") == {"temperature": 0.7, "top_p": 0.9} and not spec.ask_for_reasoning
    ((_, _, detail),) = recorded()
    assert "; other settings query = " in detail, "the address that it sends data to comes first"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sampling", "Must be lines such as sampling"),
        ("sampling = { heat = 1 }", "Sampling has no field 'heat'"),
        ("sampling = { temperature = 9 }", "Sampling must have temperature from 0 to 2"),
        ('query = { key = "sk-7261" }', "Query must hold no key"),
        ('server_tools = [{ type = "web_search" }]', "Server_tools needs kind"),
        ('server_tools = [{ type = "mcp", authorization = "sk-7261" }]', "Server_tools must hold no key"),
        ('server_tools = [{ type = "mcp", more = [{ headers = { X-Api-Key = "sk-7261" } }] }]', "Server_tools must hold no key"),
        (f"sampling = {'[' * 7000}", "too many brackets"),
        ("samplin = {}", "did you mean 'sampling'?"),
        ('proxy = "http://127.0.0.1:3128"', "only the operator may set it"),
        ('ca_file = "/etc/passwd"', "only the operator may set it"),
        ('certificate_key_file = "/etc/passwd"', "only the operator may set it"),
        ('key_file = "/etc/passwd"', "only the operator may set it"),
        ('key_env = "PATH"', "only the operator may set it"),
        ('url = "http://elsewhere.test"', "it has its own field"),
        ('name = "other"', "it has its own field"),
        ("more_urls = ['http://me:pw@host']", "user name or password"),
        ("x" * 8001, "at most 8000 characters"),
    ],
)
def test_mistakes_in_other_settings_are_shown_at_the_field(text: str, words: str, admin_pages: Client, configure: Configure) -> None:
    shown = errors(add(admin_pages, other_settings=text))
    assert words in shown and "sk-7261" not in shown
    assert not StoredBackend.objects.exists() and recorded() == []


def test_adding_an_address_to_a_trusted_server_counts_as_moving_it(admin_pages: Client, configure: Configure, sera: Client) -> None:
    assert add(sera, summaries="server", kind="responses").status_code == 302
    moved = FIELDS | {"summaries": "server", "kind": "responses", "other_settings": 'more_urls = ["https://thief.example.org"]'}
    assert "Only people who may see hidden channels" in errors(change(admin_pages, **moved))


def test_a_name_must_be_unique(admin_pages: Client) -> None:
    add(admin_pages)
    assert "already a model server with this name" in errors(add(admin_pages))


def test_a_key_cannot_be_used_with_an_edited_address(admin_pages: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", "https://api.example.org sk-7261")
    assert add(admin_pages, key_name="ACME").status_code == 302, "the premise: where it belongs it may go"
    response = change(admin_pages, key_name="ACME", url="https://evil.example")
    assert "bound to another origin" in errors(response)
    assert StoredBackend.objects.get().url == FIELDS["url"]


def test_only_staff_who_may_see_hidden_channels_can_trust_a_servers_summaries(
    admin_pages: Client, configure: Configure, sera: Client
) -> None:
    assert "may see hidden channels" in errors(add(admin_pages, summaries="server"))
    assert add(sera, summaries="server").status_code == 302
    saved = change(admin_pages, summaries="server", label="New")
    assert saved.status_code == 302, "an existing trust may stay"


def test_what_sends_reasoning_nowhere_needs_no_such_permission(admin_pages: Client, configure: Configure) -> None:
    assert add(admin_pages, summaries="built-in").status_code == 302
    assert change(admin_pages, summaries="none").status_code == 302
    assert change(admin_pages, summaries="built-in").status_code == 302
    assert StoredBackend.objects.get().summaries == "built-in"


def test_trust_does_not_follow_a_changed_address(admin_pages: Client, configure: Configure, sera: Client) -> None:
    add(sera, summaries="server")
    response = change(admin_pages, summaries="server", url="https://raw.example.org")
    assert "may see hidden channels" in errors(response)


def test_nobody_can_redirect_reasoning_to_their_own_server(admin_pages: Client, configure: Configure, sera: Client) -> None:
    """A summarizer is sent the whole chain of thought."""
    add(admin_pages, name="writer", label="")
    act(sera, "confirm", "writer")
    assert "may see hidden channels" in errors(add(admin_pages, summaries="model", summarizer="writer"))
    assert add(sera, summaries="model", summarizer="writer").status_code == 302, "the twin"
    stays = FIELDS | {"name": "writer", "label": "A new label"}
    assert change(admin_pages, "writer", **stays).status_code == 302, "settings that do not affect reasoning may be changed"
    moved = FIELDS | {"name": "writer", "url": "https://evil.example"}
    assert "may see hidden channels" in errors(change(admin_pages, "writer", **moved))
    other = FIELDS | {"summaries": "model", "summarizer": "small"}
    assert "may see hidden channels" in errors(change(admin_pages, "small", **other))
    assert change(sera, "writer", **moved).status_code == 302


def test_nobody_can_take_the_name_of_a_missing_summarizer(admin_pages: Client, configure: Configure) -> None:
    configure('[[backend]]\nname="a"\nurl="http://a"\nsummaries="model"\nsummarizer="writer"\n')
    assert "may see hidden channels" in errors(add(admin_pages, name="writer"))
    assert add(admin_pages, name="reader").status_code == 302


# Confirmation


def test_what_somebody_without_the_permission_changed_waits_for_confirmation(admin_pages: Client, sera: Client) -> None:
    add(admin_pages)
    assert offered() == [] and StoredBackend.objects.get().unconfirmed_by == "omar"
    assert change(sera).status_code == 302 and offered() == ["small"], "saving confirms"
    assert change(admin_pages).status_code == 302 and offered() == ["small"], "nothing was changed"
    change(admin_pages, url="http://127.0.0.1:10")
    assert offered() == [] and "omar changed it." in " ".join(admin_pages.get(LIST).content.decode().split())
    assert act(admin_pages, "confirm") == 404 and offered() == [], "somebody who changed it does not confirm it"
    page = sera.get(f"{LIST}small/").content.decode()
    assert "address http" in page, "what is confirmed can be read"
    for what in ("confirm", "offer"):
        assert act(sera, what, seen="2026-01-01T00:00:00+00:00") == 409 and offered() == [], "it is no longer what was read"
    assert act(sera, "confirm") == 302 and offered() == ["small"]
    actions = [action.removeprefix("model server ") for action, _, _ in recorded()]
    assert actions == ["created", "confirmed", "changed", "not confirmed", "confirmed"]


@pytest.mark.parametrize("sent", [{"unconfirmed_by": ""}, {"_confirm": "1"}])
def test_no_extra_form_field_confirms_a_server(sent: dict[str, str], admin_pages: Client) -> None:
    add(admin_pages, **sent)
    assert StoredBackend.objects.get().unconfirmed_by == "omar"


def test_the_operators_own_rows_count_as_confirmed_and_a_check_reports_the_others(admin_pages: Client) -> None:
    StoredBackend.objects.create(name="shell", url="http://127.0.0.1:9")
    add(admin_pages)
    assert offered() == ["shell"]
    (warning,) = said("W017")
    assert "'small'" in warning.msg and "'omar'" in warning.msg


def test_what_is_done_on_a_german_page_is_recorded_in_english(sera: Client) -> None:
    add(sera)
    sera.cookies[settings.LANGUAGE_COOKIE_NAME] = "de"
    assert "Modellserver" in sera.get(LIST).content.decode(), "the premise"
    assert act(sera, "pause") == 302 and recorded()[-1] == ("model server changed", "small", "enabled is now False")


def test_pausing_keeps_the_settings_and_offering_again_takes_a_test_or_a_decision(sera: Client) -> None:
    add(sera, label="Small one")
    assert act(sera, "pause") == 302 and offered() == [] and StoredBackend.objects.get().label == "Small one"
    assert "Not tested" in sera.get(f"{LIST}small/").content.decode()
    assert act(sera, "offer") == 409 and offered() == [], "nobody tested it"
    assert act(sera, "offer", untested="on") == 302 and offered() == ["small"]
    assert [detail for _, _, detail in recorded()[1:]] == ["enabled is now False", "enabled is now True"]


def test_a_passed_test_is_stored_until_what_it_tested_changes(sera: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> str:
        return " ".join(body_of(sera.get(f"{LIST}one/")).split())

    with answering(chat_answers()) as peer:
        entered = {"url": peer.url, "is_enabled": "on", "name": "one", "label": "One", "key": KEY}
        form = sera.post(LIST, entered | {"test": "1"}).context["form"]
        held = {name: form[name].value() for name in ("held", "proof")}
        assert sera.post(LIST, entered | held | {"save": "1", "key": ""}).status_code == 302
        tested = StoredBackend.objects.get()
        assert tested.tested_at is not None and "Tested <time" in shown() and "Offered to people" in shown()
        # The proof of a form is of no use any more, as after a restart with nobody at the form.
        set_limits(monkeypatch, "chatui.operations.doctor", PROOF_SECONDS=-1)
        assert act(sera, "pause", "one") == 302 and ">Paused<" in shown() and "Tested <time" in shown()
        assert act(sera, "offer", "one") == 302 and offered() == ["one"]
        as_stored = {"url": peer.url, "name": "one", "held": "stored", "kind": "auto", "untested": "", "model_names": ""}
        assert change(sera, "one", **as_stored, label="Two").status_code == 302
        assert StoredBackend.objects.get().tested_at == tested.tested_at, "the label matters to no test"
        for changed in ({"model_names": "b"}, {"kind": "responses"}, {"held": ""}, {"key": "another"}, {"url": f"{peer.url}/v1"}):
            before = FIELDS | as_stored | {"is_enabled": ""}
            assert change(sera, "one", **before | changed).status_code == 302
            assert StoredBackend.objects.get().tested_at is None and "Not tested" in shown() and "Paused" not in shown(), changed
            assert act(sera, "offer", "one") == 409, changed
            again = sera.post(f"{LIST}one/settings/", before | {"test": "1", "held": "", "key": KEY, "save": ""})
            assert "The test has passed." in body_of(again), "the premise"
            set_limits(monkeypatch, "chatui.operations.doctor", PROOF_SECONDS=3600)
            proof = again.context["form"]["proof"].value()
            assert change(sera, "one", **before | {"held": "", "key": KEY, "proof": proof}).status_code == 302
            set_limits(monkeypatch, "chatui.operations.doctor", PROOF_SECONDS=-1)
            assert StoredBackend.objects.get().tested_at is not None


def test_a_test_of_the_stored_settings_is_noted_with_them_whether_it_passes_or_not(sera: Client) -> None:
    answers = chat_answers()
    with answering(answers) as peer:
        entered = {"url": peer.url, "name": "one"}
        assert sera.post(LIST, entered | {"save": "1"}).status_code == 302 and StoredBackend.objects.get().tested_at is None
        sera.post(f"{LIST}one/settings/", entered | {"test": "1"})
        assert act(sera, "offer", "one") == 302, "it was tested, and nothing was changed"
        sera.post(f"{LIST}one/settings/", entered | {"test": "1", "kind": "responses"})
        assert StoredBackend.objects.get().tested_at is not None, "a test of other settings says nothing of these"
        answers["chat sum"] = stub.responds("401 Unauthorized", b"{}")
    with answering(dict.fromkeys(answers, stub.responds("401 Unauthorized", b"{}"))) as peer:
        StoredBackend.objects.update(url=peer.url)
        spec = stored.spec_of(StoredBackend.objects.get())
        assert spec is not None
        StoredBackend.objects.update(tested_digest=stored.settings_digest(spec))
        sera.post(f"{LIST}one/settings/", entered | {"test": "1", "url": peer.url})
        assert StoredBackend.objects.get().tested_at is None


MIXED = {"data": [{"id": "heron", "type": "llm"}, {"id": "lynx"}, {"id": "vectors", "type": "embeddings"}]}


def ticks(client: Client) -> dict[str, str]:
    """Each model of the page, and what stands at it."""
    rows = re.findall(
        r'value="([^"]+)"([^>]*)> *<span><bdi>[^<]+</bdi>(.*?)</span></label>', " ".join(body_of(client.get(f"{LIST}one/")).split())
    )
    notes = ("checked", "disabled", "writes no answers", "not listed")
    return {name: ", ".join(note for note in notes if note in about + words) for name, about, words in rows}


def test_the_models_in_the_menu_are_ticked_on_the_page_of_their_server(sera: Client, sam: User) -> None:
    with answering(chat_answers(), MIXED) as peer:
        assert add(sera, name="one", kind="auto", url=peer.url, model_names="").status_code == 302
        sera.post(f"{LIST}one/settings/", {"url": peer.url, "name": "one", "test": "1"})
        assert StoredBackend.objects.get().tested_at is not None, "the premise"
        as_listed = {"heron": "checked", "lynx": "checked", "vectors": "writes no answers"}
        assert ticks(sera) == as_listed

        def choose(*names: str, client: Client = sera) -> Any:
            seen = StoredBackend.objects.get().changed_at.isoformat()
            return client.post(f"{LIST}one/models/", {"model": names, "seen": seen})

        assert choose("heron").status_code == 302 and configured.rows().specs[0].models == ("heron",)
        assert ticks(sera) == as_listed | {"lynx": ""}
        assert stored.passed_at(StoredBackend.objects.get()) is not None, "the test asked the same model"
        assert recorded()[-1] == ("model server changed", "one", "models is now heron")
        assert choose("lynx", "vectors").status_code == 302
        assert configured.rows().specs[0].models == ("lynx", "vectors"), "staff decide, whatever the server says"
        assert stored.passed_at(StoredBackend.objects.get()) is None, "another model is the default now"
        assert choose().status_code == 409 and configured.rows().specs[0].models == ("lynx", "vectors")
        assert choose("a\nb").status_code == 409
        assert choose("heron", "lynx").status_code == 302 and StoredBackend.objects.get().model_names == "", "as the server offers them"
        StoredBackend.objects.update(model_names="lynx\ngone")
        assert choose("heron", "lynx", "gone").status_code == 302
        assert StoredBackend.objects.get().model_names == "lynx\ngone\nheron", "the default stays"
        StoredBackend.objects.update(model_names="gone\nlynx")
        assert ticks(sera) == {"heron": "", "lynx": "checked", "vectors": "writes no answers", "gone": "checked, not listed"}
        reader = signed_in(make_person("rita", "view_storedbackend", staff=True))
        assert set(ticks(reader).values()) == {
            "checked, disabled, not listed",
            "checked, disabled",
            "disabled",
            "disabled, writes no answers",
        }
        assert choose("heron", client=reader).status_code == 404
        writer = signed_in(make_person("omar", "view_storedbackend", "change_storedbackend", staff=True))
        assert choose("heron", client=writer).status_code == 302 and offered() == [], "it waits for confirmation, as any change"
        StoredBackend.objects.update(tested_at=None, is_enabled=False)
        assert ticks(sera) == {}, "nothing of a server that was neither tested nor offered"


def test_the_page_says_what_was_done_and_believes_no_link(sera: Client, admin_pages: Client) -> None:
    def said(client: Client, path: str, **fields: Any) -> str:
        page = body_of(client.post(path, fields, follow=True))
        return page.partition('class="manage-done" role="status">')[2].partition("<")[0]

    group = Group.objects.create(name="readers")
    seen = lambda: StoredBackend.objects.get().changed_at.isoformat()  # noqa: E731 - of the row as it is now
    assert said(sera, LIST, **FIELDS, groups=[str(group.pk)]) == "small is now offered to the members of its groups."
    settings, acts = f"{LIST}small/settings/", f"{LIST}small/"
    assert said(sera, settings, **FIELDS) == "The settings of small are saved."
    assert said(sera, f"{acts}pause/", seen=seen()) == "small is paused: nobody can choose it."
    assert said(sera, settings, **FIELDS | {"is_enabled": "", "label": "One"}) == "small is saved. It is not offered to people."
    assert said(sera, f"{acts}offer/", seen=seen(), untested="on") == "small is now offered to everybody."
    waits = "small is saved. It is offered to nobody until somebody who may see hidden channels confirms it."
    assert said(admin_pages, settings, **FIELDS | {"url": "http://127.0.0.1:9"}) == waits
    assert said(sera, f"{acts}confirm/", seen=seen()) == "small is now offered to everybody."
    assert said(sera, f"{acts}remove/") == "small is removed, with its settings and its key."
    for forged in ("changed", "server-offered", "WyJzZXJ2ZXItb2ZmZXJlZCIsICJ4Il0:1:x"):
        assert "manage-done" not in body_of(sera.get(LIST, {"done": forged}))


# The test before


def test_a_server_that_passes_the_test_is_saved_and_offered_with_its_key(sera: Client) -> None:
    with answering(chat_answers()) as peer:
        shown = sera.post(LIST, {"test": "1", "url": peer.url, "key": KEY, "is_enabled": "on"})
        page, form = shown.content.decode(), shown.context["form"]
        assert "The test has passed." in page and "vLLM" in page and MODEL in page and "comes apart from the answer" in page
        assert "Nothing is saved yet: press Save." in page
        assert form["name"].value() == form["proposed"].value() == MODEL and not StoredBackend.objects.exists(), "a test saves nothing"
        assert {request.headers.get("authorization") for request in peer.requests} == {f"Bearer {KEY}"}
        assert THOUGHT not in page and KEY not in page
        kept = {field.html_name: field.value() for field in form.hidden_fields()} | {"name": form["name"].value()}
        saved = {"save": "1", "url": peer.url, "is_enabled": "on", **kept}
        assert sera.post(LIST, saved).status_code == 302
        assert offered() == [MODEL] and connected.key_of(configured.rows().specs[0]) == KEY
        assert is_proved(MODEL, peer.url, MODEL, {"model": "stub"}), "the first answer need not be held"
        assert not is_proved(MODEL, peer.url, MODEL, {"model": "another"})
    assert [action for action, _, _ in recorded()] == ["model server tested", "model server created"]
    assert "key stored for http://127.0.0.1:" in recorded()[1][2]


@pytest.mark.parametrize(
    ("deltas", "other", "words"),
    [
        ([{"content": "4"}], "", "not proved to come apart"),
        ([{"content": "4"}, {"reasoning": THOUGHT}], "", "not proved to come apart"),
        ([{"reasoning": THOUGHT}, {"content": "4"}], "ask_for_reasoning = false", "not proved to come apart"),
        ([{"content": "4"}], 'separates = "always"', "comes apart from the answer, as the settings say"),
        ([{"content": "4"}], 'separates = "never reasons"', "none, as the settings say"),
    ],
)
def test_a_test_says_how_answers_will_be_read_and_what_helps(deltas: list[dict[str, str]], other: str, words: str, sera: Client) -> None:
    with answering(chat_answers(sum=chat(*deltas, tokens=9))) as peer:
        fields = {"test": "1", "url": peer.url, "kind": "chat", "other_settings": other}
        page = html.unescape(body_of(sera.post(LIST, fields)))
    assert "The test has passed." in page and words in page
    assert ("Start vLLM with --reasoning-parser" in page) is (words == "not proved to come apart")
    assert "--reasoning-format" not in page, "that is a remedy for another product"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        (" localhost/v1 ", "http://localhost/v1"),
        ("box:8080/v1/", "http://box:8080/v1/"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("llm.example.org", "https://llm.example.org"),
        ("llm.example.org:8443/v1/chat/completions", "https://llm.example.org:8443/v1"),
        ("http://127.0.0.1:8080/v1/responses/", "http://127.0.0.1:8080/v1"),
        ("https://llm.example.org/models", "https://llm.example.org"),
        ("https://models.example.org", "https://models.example.org"),
        ("nowhere", "nowhere"),
        ("ftp://llm.example.org", "ftp://llm.example.org"),
        ("me:pw@host", "me:pw@host"),
        ("http://", "http://"),
    ],
)
def test_an_address_as_people_type_and_copy_it_is_put_right_and_shown_so(typed: str, meant: str, sera: Client) -> None:
    form = sera.post(LIST, {"url": typed, "save": "1", "position": "no number"}).context["form"]
    assert form["url"].value() == meant


def test_a_proposed_name_which_people_see_is_never_the_address(sera: Client) -> None:
    shown = sera.post(LIST, {"test": "1", "url": "http://127.0.0.1:9", "is_enabled": "on"})
    assert shown.context["form"]["name"].value() == "", "a failed test proposes nothing"
    assert recorded()[-1] == ("model server tested", "", "http://127.0.0.1:9"), "nothing is called “server”"
    assert stored.proposed_name("", "openai/gpt-oss-20b") == "openai-gpt-oss-20b"


def test_a_proposed_name_is_not_kept_for_the_next_server_but_an_entered_one_is(sera: Client) -> None:
    with answering(chat_answers()) as first, answering(chat_answers(), {"data": [{"id": "heron"}]}) as second:
        form = sera.post(LIST, {"url": first.url, "test": "1"}).context["form"]
        assert form["name"].value() == MODEL, "the model, not the software"
        proposed = {name: form[name].value() for name in ("name", "proposed")}
        assert sera.post(LIST, {"url": second.url, "test": "1"} | proposed).context["form"]["name"].value() == "heron"
        own = sera.post(LIST, {"url": second.url, "test": "1", "name": "own", "proposed": MODEL})
        assert own.context["form"]["name"].value() == "own"


_UNAUTHORIZED = stub.responds("401 Unauthorized", b"{}")
FAILING: dict[str, tuple[dict[str, Answer], object, str]] = {
    "refused key": ({"chat sum": _UNAUTHORIZED}, None, "This server wants a key. Enter it below."),
    "no models": ({"chat": stub.responds("400 Bad Request", b'{"error": "you must provide a model"}')}, {"data": []}, "lists no model"),
    "reasoning in the answer": (chat_answers(sum=chat({"content": f"{WORDS.thought} is what I think. 4"})), None, ""),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_server_that_fails_the_test_is_offered_only_on_purpose(case: str, sera: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, models, words = FAILING[case]
    examinations.ask_with_words(monkeypatch)
    with answering(answers, models) as peer:
        entered = {"url": peer.url, "is_enabled": "on", "name": "one"}
        shown = sera.post(LIST, entered | {"test": "1"})
        assert "The test has not passed." in shown.content.decode() and words in shown.content.decode()
        assert "Nothing is saved yet" not in shown.content.decode()
        assert "No test of these settings has passed" in errors(sera.post(LIST, entered | {"save": "1", "proof": "forged"}))
        assert not StoredBackend.objects.exists()
        assert sera.post(LIST, {"url": peer.url, "name": "later", "save": "1"}).status_code == 302, "not offered"
        assert sera.post(LIST, entered | {"save": "1", "untested": "on"}).status_code == 302
    assert offered() == ["one"]


def test_a_passed_test_counts_only_for_what_was_tested(sera: Client) -> None:
    with answering(chat_answers()) as peer:
        entered = {"url": peer.url, "is_enabled": "on", "name": "one"}
        proof = sera.post(LIST, entered | {"test": "1"}).context["form"]["proof"].value()
        assert proof
        for changed in ({"url": "http://127.0.0.1:9"}, {"key": "another"}, {"model_names": "b"}, {"kind": "responses"}):
            assert "No test of these settings has passed" in errors(sera.post(LIST, entered | {"save": "1", "proof": proof} | changed))
        assert sera.post(LIST, entered | {"save": "1", "proof": proof, "label": "One"}).status_code == 302


def test_the_test_shows_nothing_of_a_service_that_is_no_model_server(sera: Client) -> None:
    """Whoever may enter an address must not read other services through it."""
    secret = "heron-of-another-service"
    bodies = (
        stub.responds("200 OK", f'{{"secret": "{secret}"}}'.encode()),
        stub.responds("404 Not Found", f'{{"error": {{"message": "model {secret} not found", "type": "{secret}"}}}}'.encode()),
        stub.responds("500 Internal Server Error", secret.encode()),
        stub.responds(f"400 {secret}", f'{{"detail": "{secret}"}}'.encode()),
    )
    for body in bodies:
        with answering({"chat": body}, {"data": [{"id": secret, "owned_by": secret}], "object": secret}) as peer:
            shown = sera.post(LIST, {"url": peer.url, "test": "1"})
            assert peer.requests and "The test has not passed." in shown.content.decode()
            assert secret not in shown.content.decode()


def test_only_staff_who_may_connect_servers_test_one_and_not_too_often(sera: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = signed_in(make_person("vic", "view_storedbackend", staff=True))
    assert viewer.post(LIST, {"url": "http://127.0.0.1:9", "test": "1"}).status_code == 404
    assert Throttle("examinations", attempts=30, seconds=600).take(29, str(User.objects.get(username="sera").pk)) == 0
    assert sera.post(LIST, {"url": "http://127.0.0.1:9", "test": "1"}).status_code == 200
    assert sera.post(LIST, {"url": "http://127.0.0.1:9", "test": "1"}).status_code == 429
    assert [action for action, _, _ in recorded()] == ["model server tested"]


# Keys


def test_a_stored_key_is_never_sent_to_another_address(sera: Client) -> None:
    add(sera, key=KEY)
    assert connected.key_of(configured.rows().specs[0]) == KEY, "the premise"
    moves = ("http://api.example.org/v1", "https://api.example.org:8443/v1", "https://api.example.org.evil.example/v1")
    with answering(chat_answers()) as peer:
        for url in (peer.url, *moves):
            moved = change(sera, url=url, held="stored")
            assert "is for another address, and is not used" in errors(moved) and moved.context["form"]["held"].value() == ""
        assert peer.requests == []
        tested = change(sera, url=peer.url, held="stored", test="1")
        assert "is for another address, and is not used" in body_of(tested) and not tested.context["form"].errors
        assert peer.requests and not any("authorization" in request.headers for request in peer.requests), "it is asked without one"
    for url in moves:
        StoredBackend.objects.update(url=url)  # past the form, as in a shell
        with pytest.raises(KeyUnusableError):
            connected.key_of(configured.rows().specs[0])
        StoredBackend.objects.update(url=FIELDS["url"])
    same = "https://api.example.org/other/v1"
    assert change(sera, url=same, held="stored").status_code == 302, "the same scheme, host and port"
    assert connected.key_of(configured.rows().specs[0]) == KEY
    assert change(sera, url="https://evil.example", held="").status_code == 302, "it was said, and the field stayed empty"
    assert connected.key_of(configured.rows().specs[0]) is None
    assert [detail for _, _, detail in recorded()[-2:]] == ["address is now https://evil.example", "key is now empty"]


def test_a_key_that_is_held_for_a_test_serves_that_person_and_address_only(sera: Client) -> None:
    def tried(client: Client, **fields: str) -> Any:
        return client.post(LIST, FIELDS | {"name": "b", "is_enabled": ""} | fields)

    shown = tried(sera, key=KEY, name="main-", kind="telepathy")
    held = shown.context["form"]["held"].value()
    assert held and KEY not in shown.content.decode(), "a mistake elsewhere does not lose the key"
    assert "A key is held for https://api.example.org:443." in body_of(shown) and 'name="key"' not in body_of(shown)
    other = signed_in(make_person("zoe", "view_storedbackend", "add_storedbackend", "view_hidden_channels", staff=True))
    assert "not used for this one" in errors(tried(other, held=held))
    assert "not used for this one" in errors(tried(sera, held=held, url="https://evil.example"))
    assert tried(sera, held=held).status_code == 302 and StoredBackend.objects.get().sealed_key not in ("", held)


def test_a_key_is_used_only_while_the_form_says_that_it_is_held(sera: Client) -> None:
    """What is typed is sent, an empty field is no key, and a forgotten one is gone, with a stored key as well."""
    with answering(chat_answers()) as peer:

        def sent(address: str, **fields: str) -> tuple[set[str | None], Any]:
            peer.requests.clear()
            shown = sera.post(address, {"url": peer.url, "name": "one", "test": "1"} | fields)
            return {request.headers.get("authorization") for request in peer.requests}, shown.context["form"]

        keys, form = sent(LIST, key=KEY)
        held = form["held"].value()
        assert keys == {f"Bearer {KEY}"} and held
        assert sent(LIST, held=held)[0] == {f"Bearer {KEY}"}
        assert sent(LIST, held="")[0] == {None}, "an empty field"
        forgotten = sera.post(LIST, {"url": peer.url, "name": "one", "label": "Uno", "held": held, "forget": "1"})
        form = forgotten.context["form"]
        assert (form["held"].value(), form["label"].value(), form.errors) == ("", "Uno", {}) and 'name="key"' in body_of(forgotten)
        assert sera.post(LIST, {"url": peer.url, "name": "one", "held": held, "save": "1"}).status_code == 302
        settings = f"{LIST}one/settings/"
        assert "A key is held for" in body_of(sera.get(settings)) and 'name="key"' not in body_of(sera.get(settings))
        assert sent(settings, held="stored")[0] == {f"Bearer {KEY}"}
        assert sent(settings, held="")[0] == {None}
        assert sera.post(settings, {"url": peer.url, "name": "one", "held": "", "save": "1"}).status_code == 302
        assert StoredBackend.objects.get().sealed_key == "" and recorded()[-1][2] == "key is now empty"


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_refused_key_is_said_where_its_field_is(is_stored: bool, sera: Client) -> None:
    refusing = dict.fromkeys(("chat", "responses", "chat sum"), stub.responds("401 Unauthorized", b"{}"))
    with answering(refusing) as peer:
        entered = {"url": peer.url, "name": "one"}
        if is_stored:
            assert sera.post(LIST, entered | {"key": KEY, "save": "1"}).status_code == 302
        address, key = (f"{LIST}one/settings/", {"held": "stored"}) if is_stored else (LIST, {"key": KEY})
        shown = sera.post(address, entered | {"test": "1"} | key)
        assert "This server refuses this key. Enter the right one below." in body_of(shown)
        assert "CHATUI_" not in body_of(shown).partition('<form method="post" class="manage-form"')[0]
        assert shown.context["form"]["held"].value() == ("stored" if is_stored else ""), "one that is not stored is asked for again"


def test_after_a_change_of_the_secret_key_the_page_asks_for_the_key_again(sera: Client, configure: Configure) -> None:
    configure(secret_key="one")
    add(sera, key=KEY)
    configure(secret_key="another")
    (spec,) = configured.rows().specs
    with pytest.raises(KeyUnusableError, match="Enter the key again"):
        connected.key_of(spec)
    assert "CHATUI_SECRET_KEY has changed. Enter it again." in errors(change(sera, label="New", held="stored"))
    assert change(sera, label="New", key=KEY).status_code == 302 and connected.key_of(configured.rows().specs[0]) == KEY
    configure(secret_key="one", sealing_key="third")
    assert any("'small'" in each.msg and "Enter the key again" in each.msg for each in said())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"key": "two words"}, "This key cannot be used"),
        ({"key": "sk-7261\x7f"}, "This key cannot be used"),
        ({"key": "x" * 16_385}, "at most 16384 characters"),
        ({"key": KEY, "key_name": "ACME"}, "Cannot be given with a stored key"),
        ({"key": KEY, "other_settings": 'more_urls = ["https://two.example.org"]'}, "bound to one origin"),
        ({"key": KEY, "kind": "demo", "url": ""}, "url"),
    ],
)
def test_mistakes_about_keys_are_reported(fields: dict[str, str], words: str, sera: Client) -> None:
    shown = add(sera, **fields)
    if words != "url":
        assert words in errors(shown)
    assert KEY not in shown.content.decode() and "sk-7261" not in shown.content.decode()
    assert not any(row.sealed_key for row in StoredBackend.objects.all())


def test_the_page_of_an_examination_says_once_what_to_do_about_a_fault_of_two_formats(sera: Client) -> None:
    sera.post(LIST, FIELDS)
    fault, now = examinations.fault("no-stream"), timezone.now()
    report = examinations.stored(formats={kind: [(fault, "fault", f"Seen of {kind}.")] for kind in ("chat", "responses")})
    Examination.objects.create(server="small", begun_at=now, lease_until=now, finished_at=now, report=report)
    page = html.unescape(sera.get(f"{LIST}small/").content.decode())
    assert page.count(fault.sentence) == 2 and page.count("Seen of") == 2 and page.count(fault.advice) == 1


def test_a_key_is_nowhere_but_in_the_request_to_its_server(
    sera: Client, caplog: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = signed_in(User.objects.create_superuser("root", password="correct horse battery"))
    caplog.set_level("DEBUG")
    out: list[str] = []
    reports = examinations.note_all(monkeypatch)
    with answering(dict.fromkeys(("chat", "responses"), stub.responds("500 Internal Server Error", KEY.encode()))) as peer:
        entered = FIELDS | {"url": peer.url, "key": KEY}
        out += [sera.post(LIST, entered | button).content.decode() for button in ({"test": "1"}, {})]
        assert reports and any(KEY in str(request.headers) for request in peer.requests), "the premise"
        (spec,) = configured.rows().specs
        out += [repr(spec), spec.model_dump_json(), str(spec.model_dump()), *(each.everything for each in reports)]
        now, kept = timezone.now(), reports[-1].stored
        assert kept["general"] or any(one["findings"] for one in kept["formats"]), "the premise"
        Examination.objects.create(server="small", begun_at=now, lease_until=now, finished_at=now, report=kept)
        out += [sera.post(f"{LIST}small/settings/", entered | {"key": "a b", "url": "http://127.0.0.1:9"}).content.decode()]
    pages: tuple[str, ...] = (
        LIST,
        f"{LIST}small/",
        f"{LIST}small/settings/",
        "/manage/",
        "/manage/settings/",
        "/manage/settings/?q=key",
        "/manage/system/",
    )
    pages += ("/manage/failures/", "/audit/", "/audit/export/csv/", "/audit/export/jsonl/", "/metrics", "/keys/", "/download/", "/")
    for path in pages:
        out.append(body_of(root.get(path)))
    out += [repr(row) for row in AuditEvent.objects.values_list()] + [repr(row) for row in Examination.objects.values_list()]
    out += [repr(row) for row in StoredBackend.objects.values_list()] + [str(each) for each in said()]
    out.append(caplog.text)
    sealed = StoredBackend.objects.get().sealed_key
    assert sealed and [text for text in out if KEY in text] == []
    assert [text for text in out[:-1] if sealed in text] == [repr(row) for row in StoredBackend.objects.values_list()], "nor is it sealed"


def body_of(response: Any) -> str:
    content: bytes = b"".join(response.streaming_content) if response.streaming and not response.is_async else b""
    return (content or getattr(response, "content", b"")).decode("latin-1")
