"""The language of a page for each viewer: by account, cookie, browser and installation; and the form to choose one."""

from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.test import Client

from chatui.env import Environment
from chatui.models.user import User
from chatui.site.languages import LANGUAGES, preferred_language, tag
from tests.support.environment import change

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_english_afterwards")]

COOKIE = django_settings.LANGUAGE_COOKIE_NAME
SIGN_IN = {"en": "Sign in", "de": "Anmelden", "zh-hans": "登录", "ko": "로그인"}


@pytest.fixture
def olga() -> User:
    return User.objects.create_user("olga", password="a long enough password")


def language_of(client: Client, path: str = "/pages/help/", requested: str = "") -> str:
    """The language of the page, as it says itself."""
    page = client.get(path, headers={"Accept-Language": requested} if requested else {})
    lang = page.content.decode().split('<html lang="')[1].split('"')[0]
    assert page.headers["Content-Language"] == lang
    return lang


def client_of(person: User | None = None, cookie: str = "") -> Client:
    client = Client()
    if person is not None:
        client.force_login(person)
    if cookie:
        client.cookies[COOKIE] = cookie
    return client


def test_the_languages_of_the_settings_are_those_of_the_pages() -> None:
    assert Environment.model_fields["language"].annotation.__args__ == tuple(LANGUAGES)  # type: ignore[union-attr]


def test_the_language_is_that_of_the_account_then_cookie_then_browser_then_installation(
    olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"language": "ko"})
    assert language_of(client_of()) == "ko", "nothing has been chosen"
    assert language_of(client_of(), requested="fr, de;q=0.8") == "de"
    assert language_of(client_of(cookie="zh-hans"), requested="de") == "zh-Hans"
    assert language_of(client_of(olga, cookie="zh-hans"), requested="de") == "zh-Hans", "an account that says nothing"
    olga.language = "en"
    olga.save()
    assert language_of(client_of(olga, cookie="zh-hans"), requested="de") == "en"


@pytest.mark.parametrize(("code", "words"), SIGN_IN.items())
def test_a_page_is_in_the_language_that_the_browser_asks_for(code: str, words: str, olga: User) -> None:
    page = client_of().get("/sign-in/", headers={"Accept-Language": code})
    assert f"<h1>{words}</h1>" in page.content.decode() and page.headers["Content-Language"] == tag(code)


def test_two_people_read_the_same_page_each_in_their_own_language(olga: User) -> None:
    one, other = client_of(cookie="de"), client_of(cookie="ko")
    for _ in range(2):
        assert SIGN_IN["de"] in one.get("/sign-in/").content.decode()
        assert SIGN_IN["ko"] in other.get("/sign-in/").content.decode()


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("de-AT,de;q=0.9", "de"),
        ("fr-FR, ko;q=0.5, de;q=0.4", "ko"),
        ("zh-CN", "zh-hans"),
        ("zh-Hans-SG", "zh-hans"),
        ("zh-TW, de;q=0.1", "de"),
        ("*, de", ""),
        ("", ""),
        ("de;q=0", ""),
        ("\x00\xff;;;q=q,,,=", ""),
        (",".join(["xx-yy;q=0.9"] * 5_000) + ",de", ""),
        ("../../etc/passwd", ""),
    ],
)
def test_accept_language_headers_are_parsed_and_invalid_ones_ignored(header: str, code: str) -> None:
    assert preferred_language(header) == code


def test_an_invalid_cookie_is_ignored() -> None:
    for nonsense in ("xx", "../de", "DE", "de ", "zh", "'"):
        assert language_of(client_of(cookie=nonsense), requested="ko") == "ko"


def test_caches_are_told_what_a_page_depends_on() -> None:
    vary = {part.strip() for part in client_of().get("/pages/help/").headers["Vary"].split(",")}
    assert {"Accept-Language", "Cookie"} <= vary
    assert "Content-Language" not in client_of().get("/healthz").headers


def test_a_choice_is_kept_in_the_account_and_in_a_safe_cookie(olga: User) -> None:
    client = client_of(olga)
    answer = client.post("/language/", {"language": "de", "next": "/bin/?list=1"})
    assert answer.status_code == 302 and answer.headers["Location"] == "/bin/?list=1"
    cookie = answer.cookies[COOKIE]
    assert (cookie.value, cookie["path"], cookie["samesite"], bool(cookie["httponly"]), bool(cookie["secure"])) == (
        "de",
        "/",
        "Lax",
        True,
        django_settings.SESSION_COOKIE_SECURE,
    )
    olga.refresh_from_db()
    assert olga.language == "de" and language_of(client_of(olga), requested="ko") == "de", "another browser of the same person"
    assert 'value="de" lang="de"\nselected' in client.get("/").content.decode()


def test_as_in_the_browser_resets_the_choice(olga: User) -> None:
    client = client_of(olga)
    client.post("/language/", {"language": "ko"})
    answer = client.post("/language/", {"language": ""})
    olga.refresh_from_db()
    assert olga.language == "" and answer.cookies[COOKIE]["max-age"] == 0
    assert language_of(client, requested="de") == "de"


def test_only_signed_in_people_need_a_csrf_token_to_choose(olga: User) -> None:
    stranger, signed_in = Client(enforce_csrf_checks=True), Client(enforce_csrf_checks=True)
    signed_in.force_login(olga)
    assert stranger.post("/language/", {"language": "de"}).status_code == 302 and language_of(stranger) == "de"
    assert signed_in.post("/language/", {"language": "de"}).status_code == 403
    olga.refresh_from_db()
    assert olga.language == ""


@pytest.mark.parametrize("code", ["xx", "de-DE", "../de", "DE", "en\x00", "e" * 5000])
def test_an_unavailable_language_is_refused(code: str, olga: User) -> None:
    answer = client_of(olga).post("/language/", {"language": code})
    olga.refresh_from_db()
    assert answer.status_code == 400 and COOKIE not in answer.cookies and olga.language == ""
    assert client_of(olga).post("/language/", {}).status_code == 400
    assert client_of(olga).get("/language/").status_code == 405


@pytest.mark.parametrize(
    "place", ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example", "javascript:alert(1)", "bin", ""]
)
def test_the_choice_redirects_only_within_the_product(place: str) -> None:
    answer = client_of().post("/language/", {"language": "de", "next": place})
    assert answer.status_code == 302 and answer.headers["Location"] == "/"


def test_the_form_is_on_public_pages_with_native_names(olga: User) -> None:
    for path in ("/sign-in/", "/pages/help/", "/pages/terms/", "/s/no-such-link/"):
        page = client_of().get(path).content.decode()
        assert 'action="/language/"' in page and all(f'lang="{code}"' in page and name in page for code, name in LANGUAGES.items()), path
    assert 'action="/language/"' in client_of(olga).get("/").content.decode()


def test_pages_of_the_operator_may_have_a_file_for_each_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "help.md").write_text("The help for everybody")
    (tmp_path / "help.de.md").write_text("Die Hilfe")
    change(monkeypatch, {"pages_dir": tmp_path})
    for code, words in (("de", "Die Hilfe"), ("ko", "The help for everybody"), ("en", "The help for everybody")):
        assert words in client_of(cookie=code).get("/pages/help/").content.decode()


def test_errors_are_in_the_readers_language() -> None:
    page = client_of(cookie="de").get("/no-such-page/")
    assert "Das gibt es nicht, oder Sie haben keinen Zugriff darauf." in page.content.decode()
    answer = client_of(cookie="ko").get("/no-such-page/", headers={"Accept": "application/json"})
    assert answer.json()["message"] == "존재하지 않거나 접근 권한이 없습니다."
