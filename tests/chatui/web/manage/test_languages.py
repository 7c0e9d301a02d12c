"""Administration in each language: no text of ours stays English, on any of its pages."""

import re
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from chatui.audit_log import words
from chatui.audit_log.record import Visitor, record
from chatui.codes import Cause
from chatui.model_servers import connected
from chatui.models.model_servers import StoredBackend
from chatui.models.programs import ApiKey
from chatui.models.usage import ModelPrice, UsageLimit
from chatui.models.user import User
from chatui.site.languages import LANGUAGES, SOURCE
from tests.chatui.conftest import signed_in
from tests.chatui.web.manage.test_manage import failed_turn
from tests.support.limits import limit

PARTS = limit("chatui.web.manage", "PARTS")

pytestmark = pytest.mark.django_db

NAMES = {
    *("chatui", "ada", "CSV", "JSON", "OpenChatML", "Harmony", "SQLite", "gpt-oss"),
    *("auto", "chat", "responses", "harmony", "harmony-llamacpp", "harmony-sglang", "harmony-vllm", "demo"),
}
"""Names, which are the same in each language, with those of wire formats."""
SAME = {
    "de": {
        *("Administrator", "Auto", "Code", "Details", "Format", "Installation", "Name", "Person", "Position"),
        *("Server", "Superuser", "System", "Version"),
    },
    "ko": set[str](),
    "zh-hans": set[str](),
}
"""What a translation says in the same letters."""
_NAMED_IN = ("code", "bdi", "kbd", "script", "style", "time")
"""What is in these elements is a name, a setting, a number or a program."""


class Texts(HTMLParser):
    """The text nodes of a page, without those that name something, and the texts that only screen readers say."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        is_name = tag in _NAMED_IN or dict(attrs).get("lang") or dict(attrs).get("name") == "language"
        if (is_name and tag != "html") or (self._inside and tag == self._inside[-1]):
            self._inside.append(tag)
        if not self._inside:
            self.found += [value for name, value in attrs if value and name in ("aria-label", "placeholder", "title", "alt")]

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside and data.strip():
            self.found.append(" ".join(data.split()))


def words_of(text: str) -> set[str]:
    """Its words of English letters, without numbers, units and what has a digit in it, such as the number of a failure."""
    whole = (each.strip(".,:;()…·") for each in text.split() if not re.search(r"\d", each))
    return {each for each in whole if len(each) > 2 and re.fullmatch(r"[A-Za-z'-]+", each)}


def texts(client: Client, path: str, code: str) -> set[str]:
    client.cookies["chatui_language"] = code
    response = client.get(path, headers={"accept-language": code})
    assert response.status_code == 200, path
    page = Texts()
    page.feed(response.content.decode())
    return set(page.found)


@pytest.fixture
def everything(ada: User) -> list[str]:
    """Something on each page, named so that no word of it is English; the addresses of all pages."""
    group = Group.objects.create(name="7261")
    row = StoredBackend.objects.create(name="s-1", url="http://127.0.0.1:9", unconfirmed_by="4711", kind="chat")
    StoredBackend.objects.create(name="s-2", url="http://127.0.0.1:9", is_enabled=False)
    failed = failed_turn(ada, "E-X-BACKEND")
    for action in words.ACTIONS:
        record(action, Visitor(ada, "127.0.0.1", "page"), "4711", detail="confirmed; wire format auto; and 2 more")
    limit = UsageLimit.objects.create(group=group, day_tokens=7)
    price = ModelPrice.objects.create(model="m-1", since="2026-01-01", input_price=1, output_price=1)
    assert Cause.FAILED and not ApiKey.objects.exists()
    lists = [reverse(address) for _name, address in PARTS.values()]
    return [
        *lists,
        reverse("manage"),
        reverse("manage_server", args=[row.name]),
        reverse("manage_server_settings", args=[row.name]),
        reverse("manage_server", args=["s-2"]),
        reverse("manage_failure", args=[failed.pk]),
        reverse("manage_groups"),
        reverse("manage_group", args=[group.pk]),
        reverse("manage_keys"),
        reverse("manage_invite"),
        reverse("manage_person", args=[ada.pk]),
        reverse("manage_limit", args=[limit.pk]),
        reverse("manage_price", args=[price.pk]),
        *(f"{reverse('audit')}?{query}" for query in ("below=60", "below=20", "action=sign in")),
        *(f"{reverse('manage_people')}?show={show}" for show in ("closed", "invited", "debug")),
    ]


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != SOURCE])
def test_no_text_of_administration_stays_english(code: str, everything: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected, "specs", lambda: ())
    client = signed_in(User.objects.create_superuser("4711", password="correct horse battery"))
    stays: dict[str, str] = {}
    for path in everything:
        english, theirs = texts(client, path, SOURCE), texts(client, path, code)
        stays |= dict.fromkeys((each for each in english & theirs if words_of(each) - NAMES - SAME[code]), path)
    assert stays == {}, "\n".join(f"{each!r} on {path}" for each, path in stays.items())
