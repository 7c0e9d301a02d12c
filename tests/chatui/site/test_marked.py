"""Every sentence that people see is marked for translation: in the templates, and on pages in an accented pseudo-language."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from chatui.codes import ProductCode
from chatui.display import debug
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.site import languages
from renderer import errors, gate
from renderer.frames import Channel, Header, Intent, Role
from tests.chatui.site import pseudo
from tests.chatui.site.visible import SPOKEN, words_of
from tests.support.cases import for_each
from tests.support.places import ROOT
from tests.tools.messages import domains, found

# Names and signs of units, which are the same in every language.
NAMES = {
    "chatui",
    "(gpt-oss)",
    "4F2A-91BC",
    "JSON",
    "CSV",
    "Markdown",
    "ms",
}
_WORD = re.compile(r"[A-Za-z]{2,}")
_MARKED = re.compile(r"\{%\s*blocktranslate.*?endblocktranslate\s*%\}|\{#.*?#\}", re.DOTALL)
_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_SPOKEN = re.compile(rf'(?<![\w-])(?:{"|".join(SPOKEN)})="([^"]*)"')
PATHS = (
    "/",
    "/bin/",
    "/archived/",
    "/shares/",
    "/import/",
    "/folders/new/",
    "/password/",
    "/audit/",
    "/debug/requests/",
    "/no-such-page/",
    "/search/?q=zzz",
)
STRANGERS = ("/sign-in/", "/no-such-page/", "/offline/")


def unmarked(template: str) -> Iterator[str]:
    """The pieces of text of a template that are not marked for translation."""
    # Nothing of a tag of Django's may look like the end of an HTML tag, or like text.
    bare = _TAG.sub("\x00", _MARKED.sub("\x00", template))
    yield from (value for value in _SPOKEN.findall(bare) if _WORD.search(value) and value not in NAMES)
    for text in re.sub(r"<[^>]*>", "\x01", bare).split("\x01"):
        for piece in text.split("\x00"):
            if _WORD.search(piece) and piece.strip(" ·\n") not in NAMES and "page-body" not in piece and "-body" not in piece:
                yield piece.strip()


@for_each(sorted((ROOT / "templates").rglob("*.html")))
def test_every_text_of_a_template_is_marked(path: Path) -> None:
    assert list(unmarked(path.read_text(encoding="utf-8"))) == []


@pytest.mark.slow
def test_the_sentences_of_the_renderer_and_of_the_codes_are_all_in_the_catalogues() -> None:
    known = {item.id for item in domains.DOMAINS["django"]()}
    headers = (
        Header(role=role, channel=channel, intent=intent, recipient=recipient)
        for role in (*Role, "other")
        for channel in (None, *Channel, "other")
        for intent in (None, *Intent, "other")
        for recipient in (None, "functions.add")
    )
    reasons = {why for header in headers if (why := gate.why_hidden(header))}
    assert len(reasons) > 10 and reasons < set(found.reasons_of_gate())
    assert {*(code.sentence for code in errors.Code), *found.reasons_of_gate()} <= known
    assert {code.sentence for code in ProductCode} <= known
    with translation.override("en"):
        assert str(debug.KIND_NAMES["call"]) == "call"


@pytest.fixture(scope="module")
def accented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalogues of two invented languages: building them takes seconds."""
    place = tmp_path_factory.mktemp("accented")
    pseudo.write(place)
    return place


@pytest.fixture
def accents(accented: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both, in addition to the others."""
    for code in (pseudo.LEFT_TO_RIGHT, pseudo.RIGHT_TO_LEFT):
        monkeypatch.setitem(languages.LANGUAGES, code, code)
    settings.LANGUAGES = list(languages.LANGUAGES.items())
    settings.LOCALE_PATHS = [accented]


def _speaks(code: str, person: User | None = None) -> Client:
    client = Client(headers={"Accept-Language": "en"})
    if person is not None:
        person.language = code
        person.save()
        client.force_login(person)
    client.cookies[str(_cookie())] = code
    return client


def _cookie() -> Any:
    from django.conf import settings

    return settings.LANGUAGE_COOKIE_NAME


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("accents", "_english_afterwards")
def test_every_page_is_fully_translated() -> None:
    person = User.objects.create_user("olga", password="a long enough password", is_superuser=True, is_staff=True)
    row = Conversation.objects.create(owner=person, title="A title")
    folder = Folder.objects.create(owner=person, name="A title")
    client, stranger = _speaks(pseudo.LEFT_TO_RIGHT, person), _speaks(pseudo.LEFT_TO_RIGHT)
    of_folder = [f"/folders/{folder.pk}/", f"/folders/{folder.pk}/delete/", f"/folders/new/?conversation={row.pk}", f"/c/{row.pk}/move/"]
    paths = [*PATHS, f"/c/{row.pk}/", f"/c/{row.pk}/debug/", *of_folder]
    for who, path in [*((client, path) for path in paths), *((stranger, path) for path in STRANGERS)]:
        page = who.get(path).content.decode()
        assert '<html lang="en-XA" dir="ltr"' in page or "<html" not in page
        plain = [words for words in words_of(page) if _WORD.search(words) and "[" not in words and "]" not in words]
        assert [words for words in plain if words not in NAMES | {"olga", "A title", "404 · chatui", "A title · chatui"}] == [], path


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("accents", "_english_afterwards")
def test_a_right_to_left_language_changes_the_direction_of_the_page() -> None:
    User.objects.create_user("olga", password="a long enough password")
    page = _speaks(pseudo.RIGHT_TO_LEFT).get("/sign-in/").content.decode()
    assert '<html lang="ar-XB" dir="rtl"' in page
