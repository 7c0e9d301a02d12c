"""The second factor: a password alone does not sign in, each code works once, and groups can require it."""

import re
import time
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatui.accounts import one_time_codes, second_factor
from chatui.audit_log.record import SHELL
from chatui.models.audit import AuditEvent
from chatui.models.sign_in import RecoveryCode, SecondFactor
from chatui.models.user import User
from tests.chatui.accounts.conftest import NOW
from tests.chatui.accounts.people import is_in
from tests.chatui.conftest import PASSWORD, make_person, signed_in
from tests.support.cases import for_each
from tests.support.environment import change
from tests.support.staff_pages import page_of


def password(name: str = "ada", client: Client | None = None, after: str = "") -> Client:
    """A browser after the password."""
    client = client or Client()
    assert client.post("/sign-in/", {"username": name, "password": PASSWORD, "next": after}).status_code == 302
    return client


_APPS: dict[object, bytes] = {}
"""The secrets in people's authenticator apps, by the row of the factor: each is shown while it is set up, and never again."""


def secret_in_app(person: User) -> bytes:
    row = SecondFactor.objects.get(user=person)
    if row.confirmed_at is None:
        _APPS[row.pk] = second_factor.secret_of(person)
    return _APPS[row.pk]


def code_of(person: User, step: int = 0) -> str:
    return one_time_codes.code_at(secret_in_app(person), int(NOW) // one_time_codes.STEP_SECONDS + step)


def switched_on(client: Client, person: User) -> list[str]:
    page = client.get("/sign-in/second-factor/").content.decode()
    assert one_time_codes.encoded_secret(second_factor.secret_of(person)) in page
    assert b"<svg" in client.get("/sign-in/second-factor/picture.svg").content
    done = client.post("/sign-in/second-factor/", {"code": code_of(person, -1)}).content.decode()
    return re.findall(r"<code>([a-z0-9-]{17})</code>", done)


def test_with_a_second_factor_the_password_alone_is_not_enough(ada: User) -> None:
    codes = switched_on(password(), ada)
    assert len(codes) == 10 and RecoveryCode.objects.count() == 10
    client = password(after="/search/")
    assert not is_in(client) and client.get("/sign-in/code/").status_code == 200
    assert client.post("/sign-in/code/", {"code": "000000"}).status_code == 200 and not is_in(client)
    answer = client.post("/sign-in/code/", {"code": code_of(ada)})
    assert (answer.status_code, answer["Location"]) == (302, "/search/") and is_in(client)
    lines = list(AuditEvent.objects.order_by("number").values_list("action", "detail"))
    assert lines == [
        ("sign in", ""),
        ("second factor set up", ""),
        ("sign-in refused", "wrong code"),
        ("sign in", "by password and code"),
    ]


def test_a_code_works_once(ada: User) -> None:
    switched_on(password(), ada)
    used = code_of(ada)
    assert password().post("/sign-in/code/", {"code": used}).status_code == 302
    again = password()
    assert again.post("/sign-in/code/", {"code": used}).status_code == 200 and not is_in(again)
    assert again.post("/sign-in/code/", {"code": code_of(ada, 1)}).status_code == 302, "the twin: the next one"


def test_a_recovery_code_works_once(ada: User) -> None:
    code = switched_on(password(), ada)[0]
    assert password().post("/sign-in/code/", {"code": code.upper().replace("-", " ")}).status_code == 302
    again = password()
    assert again.post("/sign-in/code/", {"code": code}).status_code == 200 and not is_in(again)
    assert RecoveryCode.objects.count() == 9 and AuditEvent.objects.filter(action="recovery code used").count() == 1


def test_new_recovery_codes_replace_the_old_ones(ada: User) -> None:
    client = password()
    old = switched_on(client, ada)[0]
    new = re.findall(r"<code>([a-z0-9-]{17})</code>", client.post("/sign-in/second-factor/codes/").content.decode())
    assert len(new) == 10
    assert password().post("/sign-in/code/", {"code": old}).status_code == 200
    assert password().post("/sign-in/code/", {"code": new[3]}).status_code == 302


def test_nobody_can_flood_the_log_with_new_codes(ada: User) -> None:
    client = password()
    switched_on(client, ada)
    assert [client.post("/sign-in/second-factor/codes/").status_code for _ in range(31)] == [200] * 30 + [429]
    assert client.post("/sign-in/second-factor/remove/").status_code == 429
    assert AuditEvent.objects.filter(action="recovery codes made").count() == 30


def test_the_secret_is_not_shown_again(ada: User) -> None:
    client = password()
    switched_on(client, ada)
    assert client.get("/sign-in/second-factor/")["Location"] == "/sign-in/ways/"
    assert client.get("/sign-in/second-factor/picture.svg").status_code == 404


def test_an_unconfirmed_secret_has_no_effect(ada: User) -> None:
    password().get("/sign-in/second-factor/")
    assert SecondFactor.objects.count() == 1, "the premise"
    assert is_in(password())


def test_an_abandoned_secret_is_replaced_before_confirmation(ada: User) -> None:
    password().get("/sign-in/second-factor/")
    seen = code_of(ada, -1)
    client = password()
    client.get("/sign-in/second-factor/")
    assert b"is not correct" in client.post("/sign-in/second-factor/", {"code": seen}).content and not second_factor.is_on(ada)
    assert b"<code>" in client.post("/sign-in/second-factor/", {"code": code_of(ada, -1)}).content and second_factor.is_on(ada), "the twin"


def test_submitting_a_form_twice_is_not_an_error(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    slower = password()
    slower.get("/sign-in/second-factor/")
    code = code_of(ada, -1)
    real = second_factor.confirm

    def after_the_other(*given: Any) -> list[str]:
        monkeypatch.setattr(second_factor, "confirm", real)
        real(SHELL, ada, code)
        return real(*given)

    monkeypatch.setattr(second_factor, "confirm", after_the_other)
    answer = slower.post("/sign-in/second-factor/", {"code": code})
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/ways/")


def test_a_wrong_code_is_counted_and_logged(ada: User, caplog: pytest.LogCaptureFixture) -> None:
    switched_on(password(), ada)
    with caplog.at_level("INFO"):
        password().post("/sign-in/code/", {"code": "000000"})
    assert [vars(line)["outcome"] for line in caplog.records if line.getMessage() == "sign-in"] == ["signed in", "wrong code"]


def test_changes_require_a_recent_authentication(ada: User) -> None:
    switched_on(password(), ada)
    old = signed_in(ada)
    for path in ("/sign-in/second-factor/remove/", "/sign-in/second-factor/codes/"):
        assert old.post(path)["Location"] == "/sign-in/confirm/"
    assert second_factor.is_on(ada)
    for words in ({"password": PASSWORD}, {"password": PASSWORD, "code": "000000"}, {"password": "wrong", "code": code_of(ada)}):
        assert old.post("/sign-in/confirm/", words).status_code == 200, "the weaker way does not open what both protect"
        assert old.post("/sign-in/second-factor/remove/")["Location"] == "/sign-in/confirm/"
    assert second_factor.is_on(ada)
    assert old.post("/sign-in/confirm/", {"password": PASSWORD, "code": code_of(ada)}).status_code == 302
    old.post("/sign-in/second-factor/remove/")
    assert not second_factor.is_on(ada) and AuditEvent.objects.filter(action="second factor removed").count() == 1
    assert is_in(password())


@pytest.mark.parametrize("ending", ["another password", "closed", "time"])
def test_the_second_step_expires(ending: str, ada: User) -> None:
    switched_on(password(), ada)
    client = password()
    match ending:
        case "another password":
            ada.set_password("quite another password")
            ada.save()
        case "closed":
            User.objects.update(is_active=False)
        case "time":
            session = client.session
            session["second_step"] |= {"at": time.time() - 601}
            session.save()
    assert client.post("/sign-in/code/", {"code": code_of(ada)})["Location"] == "/sign-in/" and not is_in(client)


def test_guesses_at_codes_are_limited(ada: User) -> None:
    switched_on(password(), ada)
    stranger = password(client=Client(REMOTE_ADDR="203.0.113.9"))
    pages = [stranger.post("/sign-in/code/", {"code": f"{number:06}"}).content.decode() for number in range(8)]
    assert "Too many attempts" in pages[-1] and "Too many attempts" not in pages[0]
    assert "Too many attempts" in stranger.post("/sign-in/code/", {"code": code_of(ada)}).content.decode(), "not even the right one"
    assert not is_in(stranger)
    owner = password()
    assert owner.post("/sign-in/code/", {"code": code_of(ada)}).status_code == 302 and is_in(owner), "an address of every day does not wait"


def test_guesses_at_codes_from_a_known_browser_are_limited_as_well(ada: User) -> None:
    switched_on(password(), ada)
    client = password()
    pages = [client.post("/sign-in/code/", {"code": f"{number:06}"}).content.decode() for number in range(25)]
    assert "Too many attempts" in pages[-1]


def test_without_the_password_there_is_no_second_step(ada: User) -> None:
    assert Client().get("/sign-in/code/")["Location"] == "/sign-in/"
    assert Client().get("/sign-in/second-factor/picture.svg").status_code == 404


@pytest.fixture
def careful(ada: User, monkeypatch: pytest.MonkeyPatch) -> User:
    """A member of a group that demands it."""
    change(monkeypatch, {"second_factor_groups": ["careful"]})
    ada.groups.add(Group.objects.create(name="careful"))
    return ada


@pytest.mark.usefixtures("bela")
def test_a_group_can_require_it(careful: User) -> None:
    assert is_in(password("bela")), "the twin: not of others"
    client = password(after="/search/")
    assert not is_in(client)
    assert "One of your groups requires it." in client.get("/sign-in/code/").content.decode()
    assert client.get("/sign-in/second-factor/picture.svg").status_code == 200
    assert client.post("/sign-in/code/", {"code": "000000"}).status_code == 200 and not is_in(client)
    page = client.post("/sign-in/code/", {"code": code_of(careful)}).content.decode()
    assert "recovery codes" in page and 'href="/search/"' in page and is_in(client)
    assert client.post("/sign-in/second-factor/remove/").status_code == 404 and second_factor.is_on(careful)


def test_staff_remove_it_for_people_who_have_lost_theirs(ada: User) -> None:
    switched_on(password(), ada)
    chief = make_person("chief", "view_user", "change_user", staff=True)
    boss = make_person("boss", "view_user", "change_user", "view_auditevent", staff=True)
    switched_on(password("boss"), boss)
    looker = make_person("looker", "view_user", staff=True)
    signed_in(looker).post(page_of(ada, "factor"))
    assert second_factor.is_on(ada), "the twin: who may not change accounts"
    for person in (ada, boss):
        signed_in(chief).post(page_of(person, "factor"))
    assert not second_factor.is_on(ada) and second_factor.is_on(boss), "not of somebody with more permissions"
    assert AuditEvent.objects.get(action="second factor removed").actor == chief


def test_the_database_does_not_contain_the_secret(ada: User, settings: object) -> None:
    secret = second_factor.secret_of(ada)
    settings.SECRET_KEY = "another"  # type: ignore[attr-defined]
    assert second_factor.secret_of(ada) != secret


def test_removing_no_factor_is_not_recorded(ada: User) -> None:
    second_factor.remove(SHELL, ada)
    assert not AuditEvent.objects.exists()


@for_each([(59, "94287082"), (1111111109, "07081804"), (1234567890, "89005924"), (20000000000, "65353130")])
def test_vectors_of_the_rfc(seconds: int, expected: str) -> None:
    """RFC 6238, appendix B, of which six digits count here."""
    secret = b"12345678901234567890"
    assert one_time_codes.code_at(secret, seconds // 30) == expected[2:]
    assert one_time_codes.step_of(secret, expected[2:], seconds) == seconds // 30
    assert one_time_codes.step_of(secret, expected[2:], seconds + 61) is None
