"""Back ends on the admin pages: who may change them, what the form refuses, what is recorded, and that no key is shown."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client

from chatui.model_servers import configured, connected
from chatui.models.audit import AuditEvent
from chatui.models.model_servers import StoredBackend
from chatui.models.user import User
from tests.chatui.conftest import make_person, signed_in
from tests.support.several import Configure
from tests.support.several import configure as configure

pytestmark = pytest.mark.django_db

LIST = "/admin/chatui/storedbackend/"
FIELDS = {
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
    """Staff who look after back ends."""
    permissions = [f"{verb}_storedbackend" for verb in ("add", "change", "delete", "view")]
    return make_person("omar", *permissions, staff=True)


@pytest.fixture
def admin_pages(omar: User, configure: Configure) -> Client:
    return signed_in(omar)


def add(client: Client, **changes: Any) -> Any:
    return client.post(f"{LIST}add/", FIELDS | changes)


def recorded() -> list[tuple[str, str, str]]:
    return list(AuditEvent.objects.filter(action__startswith="back end").order_by("number").values_list("action", "owner_name", "detail"))


def errors(response: Any) -> str:
    assert response.status_code == 200, "the form is shown again"
    return repr(response.context["adminform"].errors)


def confirm(name: str) -> None:
    """By somebody who may see hidden channels."""
    permitted = User.objects.filter(username="sera").first() or make_person(
        "sera", "view_storedbackend", "view_hidden_channels", staff=True
    )
    action = {"action": "confirm", "_selected_action": str(StoredBackend.objects.get(name=name).pk)}
    assert signed_in(permitted).post(LIST, action).status_code == 302


def test_a_row_is_recorded_and_used_once_it_is_confirmed(admin_pages: Client, omar: User, django_capture_on_commit_callbacks: Any) -> None:
    group = Group.objects.create(name="readers")
    assert connected.is_demo()
    with django_capture_on_commit_callbacks(execute=True):
        assert add(admin_pages, groups=[str(group.pk)]).status_code == 302
        assert {event.actor for event in AuditEvent.objects.all()} == {omar}
    assert connected.is_demo(), "an unconfirmed back end is offered to nobody"
    with django_capture_on_commit_callbacks(execute=True):
        confirm("small")
    (spec,) = connected.specs()
    assert (spec.name, spec.shown, spec.models, spec.effort, spec.groups) == ("small", "Small one", ("a", "b"), "low", ("readers",))
    created = (
        "waits for confirmation; address https://api.example.org/v1; groups readers; "
        "display name Small one; models a b; reasoning effort low"
    )
    confirmed = "after a change by omar: https://api.example.org/v1"
    assert recorded() == [("back end created", "small", created), ("back end confirmed", "small", confirmed)]


def test_a_new_row_is_recorded_in_one_line_that_starts_with_where_text_is_sent(configure: Configure) -> None:
    permitted = make_person("sera", "add_storedbackend", "view_storedbackend", "view_hidden_channels", staff=True)
    StoredBackend.objects.create(name="other", url="http://127.0.0.1:9")
    changes = {"url": f"https://api.example.org/{'x' * 250}", "label": "y" * 80, "summaries": "model", "summarizer": "other"}
    response = add(signed_in(permitted), **changes, position="7", first_token_seconds="11", model_names="a\nb\nc")
    assert response.status_code == 302, errors(response)
    ((action, name, detail),) = recorded()
    assert (action, name) == ("back end created", "small") and len(detail) <= 200
    assert detail.startswith(f"confirmed; address https://api.example.org/{'x' * 56}…; summaries model; summarizer other; ")
    assert detail.endswith(" more")


def test_changes_and_deletions_are_recorded(admin_pages: Client, django_capture_on_commit_callbacks: Any) -> None:
    add(admin_pages)
    row = StoredBackend.objects.get()
    before = len(recorded())
    assert admin_pages.post(f"{LIST}{row.pk}/change/", FIELDS | {"url": "https://other.example.org"}).status_code == 302
    assert recorded()[before:] == [("back end changed", "small", "address is now https://other.example.org")]
    with django_capture_on_commit_callbacks(execute=True):
        admin_pages.post(LIST, {"action": "delete_selected", "_selected_action": str(row.pk), "post": "yes"})
    assert recorded()[-1] == ("back end deleted", "small", "https://other.example.org")
    assert connected.is_demo()


def test_staff_without_the_permission_cannot_change_anything(sam: User, configure: Configure) -> None:
    StoredBackend.objects.create(name="a", url="http://a")
    client = signed_in(sam)
    assert {client.get(LIST).status_code, add(client).status_code} == {403}
    viewer = signed_in(make_person("vic", "view_storedbackend", staff=True))
    assert viewer.get(LIST).status_code == 200 and add(viewer).status_code == 403
    row = StoredBackend.objects.get()
    assert viewer.post(f"{LIST}{row.pk}/change/", FIELDS).status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "nowhere"}, "Must begin with http:// or https://"),
        ({"url": "https://me:pw@host"}, "user name or password"),
        ({"url": ""}, "Is missing"),
        ({"name": "a/b"}, "Must be 1 to 60 letters"),
        ({"name": "main"}, "configured outside the admin pages"),
        ({"idle_seconds": "0"}, "Input should be greater than 0"),
        ({"idle_seconds": "nan"}, "idle_seconds"),
        ({"model_names": "a\na"}, "Names a model twice"),
        ({"kind": "telepathy"}, "kind"),
        ({"key_name": "sk-7261"}, "Must be capital letters"),
        ({"key_name": "NONE"}, "there is no key NONE"),
        ({"summaries": "model"}, "Is missing: summaries"),
        ({"summaries": "model", "summarizer": "other"}, "There is no such back end"),
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


def test_a_row_supports_the_settings_of_the_back_ends_file(configure: Configure) -> None:
    permitted = make_person("sera", "add_storedbackend", "view_storedbackend", "view_hidden_channels", staff=True)
    response = add(signed_in(permitted), other_settings=OTHER)
    assert response.status_code == 302, errors(response)
    row = StoredBackend.objects.get()
    spec = configured.of_row(row, ())
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


def test_adding_an_address_to_a_trusted_server_counts_as_moving_it(admin_pages: Client, configure: Configure) -> None:
    permitted = make_person("sera", "add_storedbackend", "view_storedbackend", "view_hidden_channels", staff=True)
    assert add(signed_in(permitted), summaries="server", kind="responses").status_code == 302
    row = StoredBackend.objects.get()
    moved = FIELDS | {"summaries": "server", "kind": "responses", "other_settings": 'more_urls = ["https://thief.example.org"]'}
    assert "Only people who may see hidden channels" in errors(admin_pages.post(f"{LIST}{row.pk}/change/", moved))


def test_a_name_must_be_unique(admin_pages: Client) -> None:
    add(admin_pages)
    assert "already exists" in errors(add(admin_pages))


def test_a_key_cannot_be_used_with_an_edited_address(admin_pages: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", "https://api.example.org sk-7261")
    assert add(admin_pages, key_name="ACME").status_code == 302, "the premise: where it belongs it may go"
    row = StoredBackend.objects.get()
    response = admin_pages.post(f"{LIST}{row.pk}/change/", FIELDS | {"key_name": "ACME", "url": "https://evil.example"})
    assert "bound to another origin" in errors(response)
    assert StoredBackend.objects.get().url == FIELDS["url"]


def test_no_admin_page_contains_a_key(admin_pages: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", "https://api.example.org sk-7261")
    add(admin_pages, key_name="ACME")
    row = StoredBackend.objects.get()
    pages = [LIST, f"{LIST}{row.pk}/change/", f"{LIST}{row.pk}/history/", f"{LIST}{row.pk}/delete/"]
    for response in [admin_pages.get(page) for page in pages] + [add(admin_pages, name="b", key_name="ACME", url="https://evil.example")]:
        assert response.status_code == 200 and b"sk-7261" not in response.content
    assert not any("sk-7261" in detail for _, _, detail in recorded())


def test_only_staff_who_may_see_hidden_channels_can_trust_a_servers_summaries(admin_pages: Client, configure: Configure) -> None:
    assert "may see hidden channels" in errors(add(admin_pages, summaries="server"))
    both = make_person("both", "add_storedbackend", "change_storedbackend", "view_hidden_channels", staff=True)
    assert add(signed_in(both), summaries="server").status_code == 302
    row = StoredBackend.objects.get()
    saved = admin_pages.post(f"{LIST}{row.pk}/change/", FIELDS | {"summaries": "server", "label": "New"})
    assert saved.status_code == 302, "an existing trust may stay"


def test_what_sends_reasoning_nowhere_needs_no_such_permission(admin_pages: Client, configure: Configure) -> None:
    assert add(admin_pages, summaries="built-in").status_code == 302
    row = StoredBackend.objects.get()
    assert admin_pages.post(f"{LIST}{row.pk}/change/", FIELDS | {"summaries": "none"}).status_code == 302
    assert admin_pages.post(f"{LIST}{row.pk}/change/", FIELDS | {"summaries": "built-in"}).status_code == 302
    assert StoredBackend.objects.get().summaries == "built-in"


def test_a_row_whose_summarizer_only_reviewed_the_servers_lines_stays_valid_after_the_upgrade() -> None:
    for name, summaries in (("a", "server"), ("b", "model")):
        StoredBackend.objects.create(name=name, url="http://a", summaries=summaries, summarizer="small")
    import_module("chatui.migrations.0056_summary_sources").forget_reviewers(apps, SimpleNamespace(connection=connection))
    assert dict(StoredBackend.objects.values_list("name", "summarizer")) == {"a": "", "b": "small"}
    assert [(spec.name, spec.summarizer) for spec in configured.rows().specs] == [("a", ""), ("b", "small")]


def test_trust_does_not_follow_a_changed_address(admin_pages: Client, configure: Configure) -> None:
    both = make_person("both", "add_storedbackend", "view_hidden_channels", staff=True)
    add(signed_in(both), summaries="server")
    row = StoredBackend.objects.get()
    response = admin_pages.post(f"{LIST}{row.pk}/change/", FIELDS | {"summaries": "server", "url": "https://raw.example.org"})
    assert "may see hidden channels" in errors(response)


def test_nobody_can_redirect_reasoning_to_their_own_server(admin_pages: Client, configure: Configure) -> None:
    """A summarizer is sent the whole chain of thought."""
    both = signed_in(make_person("both", "add_storedbackend", "change_storedbackend", "view_hidden_channels", staff=True))
    add(admin_pages, name="writer", label="")
    confirm("writer")
    assert "may see hidden channels" in errors(add(admin_pages, summaries="model", summarizer="writer"))
    assert add(both, summaries="model", summarizer="writer").status_code == 302, "the twin"
    writer, small = StoredBackend.objects.get(name="writer"), StoredBackend.objects.get(name="small")
    stays = FIELDS | {"name": "writer", "label": "A new label"}
    assert admin_pages.post(f"{LIST}{writer.pk}/change/", stays).status_code == 302, "settings that do not affect reasoning may be changed"
    moved = FIELDS | {"name": "writer", "url": "https://evil.example"}
    assert "may see hidden channels" in errors(admin_pages.post(f"{LIST}{writer.pk}/change/", moved))
    other = FIELDS | {"summaries": "model", "summarizer": "small"}
    assert "may see hidden channels" in errors(admin_pages.post(f"{LIST}{small.pk}/change/", other))
    assert both.post(f"{LIST}{writer.pk}/change/", moved).status_code == 302


def test_nobody_can_take_the_name_of_a_missing_summarizer(admin_pages: Client, configure: Configure) -> None:
    configure('[[backend]]\nname="a"\nurl="http://a"\nsummaries="model"\nsummarizer="writer"\n')
    assert "may see hidden channels" in errors(add(admin_pages, name="writer"))
    assert add(admin_pages, name="reader").status_code == 302
