"""Limits on guesses: neither many names from one network nor many networks help, and nobody is locked out by other people's guesses."""

import contextlib
import threading
import time

import pytest
import pytest_django
from django.test import Client

from chatui import limits
from chatui.accounts import sign_in
from chatui.limits import ACCOUNT, ADDRESS, KNOWN, GuessLimit, MustWaitError, Scope, address_group, network_of
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD, disk_is_full, make_person, signed_in


class Clock:
    """A clock that a test advances. The cache of the tests uses it, too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now = time.time()
        monkeypatch.setattr(time, "time", lambda: self._now)

    def forward(self, seconds: float) -> None:
        self._now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time stands still unless a test advances it: no wait ends, or gets shorter, because the machine is slow."""
    return Clock(monkeypatch)


def judged(limit: GuessLimit, address: str, account: str = "", known: str = "", *, tries: int) -> int:
    """How many of ``tries`` guesses in a row are checked."""
    count = 0
    for _ in range(tries):
        try:
            limit.admit(address, account=account, known=known)
            count += 1
        except MustWaitError:
            pass
    return count


def test_one_account_is_guessed_at_no_faster_from_many_networks(clock: Clock) -> None:
    limit = GuessLimit("test")
    got = sum(judged(limit, f"198.{number}.0.1", "ada", tries=3) for number in range(100))
    assert got == ACCOUNT.free + 1
    assert judged(limit, "203.0.113.1", "bela", tries=1) == 1, "another account is not affected"


def test_one_address_gets_no_further_by_changing_names(clock: Clock) -> None:
    limit = GuessLimit("test")
    assert sum(judged(limit, "192.0.2.7", f"person{number}", tries=1) for number in range(200)) == ADDRESS.free + 1
    assert judged(limit, "198.51.100.1", "person0", tries=1) == 1, "another network is not affected"


@pytest.mark.parametrize(
    ("address", "free"),
    [("2001:db8:1:2::{:x}", ADDRESS.free), ("2001:db8:1:{:x}::1", 60), ("192.0.2.{}", 60)],
)
def test_one_network_gets_no_further_by_changing_addresses(address: str, free: int, clock: Clock) -> None:
    limit = GuessLimit("test")
    assert sum(judged(limit, address.format(number), f"person{number}", tries=1) for number in range(1, 250)) == free + 1


def test_networks_are_those_that_one_party_has() -> None:
    assert address_group("192.0.2.7") == "192.0.2.7/32" == address_group("::ffff:192.0.2.7")
    assert address_group("2001:db8:1:2:3::4") == "2001:db8:1:2::/64"
    assert (network_of("192.0.2.7"), network_of("2001:db8:1:2::1")) == ("192.0.2.0/24", "2001:db8:1::/48")
    assert address_group("no address") == "no address"


def test_the_wait_doubles_up_to_the_longest_and_says_its_seconds(clock: Clock) -> None:
    limit = GuessLimit("test", account=Scope(free=2, longest=60, window=86_400))
    seconds: list[int] = []
    for _ in range(9):
        try:
            limit.admit("192.0.2.7", account="ada")
        except MustWaitError as error:
            seconds.append(error.seconds)
            assert f"Wait {error.seconds} seconds" in error.sentence
            clock.forward(error.seconds)
    assert seconds == [5, 10, 20]
    for _ in range(8):
        try:
            limit.admit("192.0.2.7", account="ada")
        except MustWaitError as error:
            seconds.append(error.seconds)
            clock.forward(error.seconds)
    assert seconds == [5, 10, 20, 40, 60, 60, 60]


def test_knocking_while_one_has_to_wait_makes_the_wait_no_longer(clock: Clock) -> None:
    limit = GuessLimit("test")
    judged(limit, "192.0.2.7", "ada", tries=500)
    with pytest.raises(MustWaitError) as caught:
        limit.admit("192.0.2.7", account="ada")
    assert caught.value.seconds == limits.FIRST_SECONDS
    clock.forward(limits.FIRST_SECONDS)
    limit.admit("192.0.2.7", account="ada")


@pytest.mark.slow
def test_a_day_of_guessing_at_one_account_is_some_sixty_guesses(clock: Clock) -> None:
    limit, count = GuessLimit("test"), 0
    for _ in range(86_400 // 20):
        count += judged(limit, "192.0.2.7", "ada", tries=2)
        clock.forward(20)
    assert 40 < count < 75


def test_a_right_guess_does_not_count_and_forgives_no_other(clock: Clock) -> None:
    limit = GuessLimit("test")
    for _ in range(100):
        limit.admit("192.0.2.7", account="mallory").succeeded()
    assert judged(limit, "192.0.2.7", "mallory", tries=3) == 3, "the premise: right ones do not count"
    total = 0
    for number in range(100):
        total += judged(limit, "192.0.2.7", f"person{number}", tries=1)
        with contextlib.suppress(MustWaitError):
            limit.admit("192.0.2.7", account="an own account").succeeded()
    assert total <= ADDRESS.free - 2, "a success in between would bypass the limit of a network"


def test_of_many_guesses_at_once_no_more_are_judged_than_of_many_in_a_row() -> None:
    limit, start, got = GuessLimit("test"), threading.Barrier(24), []

    def guess() -> None:
        start.wait(10)
        got.append(judged(limit, "192.0.2.7", "ada", tries=4))

    threads = [threading.Thread(target=guess) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(got) == 24 and sum(got) == ACCOUNT.free + 1


def test_a_known_place_has_an_allowance_of_its_own(clock: Clock) -> None:
    limit = GuessLimit("test")
    for number in range(100):
        judged(limit, "192.0.2.7", f"person{number}", tries=3)
    assert judged(limit, "192.0.2.7", "ada", tries=1) == 0, "the premise: this address has to wait"
    assert judged(limit, "192.0.2.7", "ada", "device:1", tries=50) == KNOWN.free + 1
    assert judged(limit, "192.0.2.7", "ada", "device:2", tries=1) == 1


@pytest.fixture
def cache_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: object, **kwargs: object) -> None:
        raise ConnectionError("Error 111 connecting")

    for name in ("get", "add", "incr", "decr", "set", "delete"):
        monkeypatch.setattr(f"django.core.cache.cache.{name}", away)
    shared = limits._SharedCounts()
    shared._own.clear()
    monkeypatch.setattr(limits, "_shared", shared)


@pytest.mark.django_db
def test_while_the_cache_is_away_people_sign_in_and_each_process_counts_guesses(
    ada: User, cache_is_away: None, caplog: pytest.LogCaptureFixture
) -> None:
    assert sign_in_as("ada") == "in"
    answers = [sign_in_as("ada", "wrong", address="198.51.100.1") for _ in range(2 * ACCOUNT.free)]
    assert answers.count("wrong") == ACCOUNT.free + 1 and answers[-1] == "waits"
    assert Client().get("/s/AAAAAAAAAAAAAAAAAAAAAA/").status_code == 404
    assert sum("the cache is unavailable" in line for line in caplog.messages) == 1
    client = signed_in(ada)
    assert client.get("/").status_code == 200 and client.get("/search/?q=word").status_code == 200
    assert client.post("/sign-out/").status_code == 302 and client.get("/").status_code == 302


def test_when_the_cache_is_back_all_processes_count_together_again(cache_is_away: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RETRY_SECONDS", 0.0)
    limit = GuessLimit("test")
    limit.admit("192.0.2.7", account="ada").succeeded()
    monkeypatch.undo()
    assert judged(limit, "192.0.2.7", "ada", tries=2 * ACCOUNT.free) == ACCOUNT.free + 1
    assert not limits._shared._is_away


# Through the pages.


def sign_in_as(name: str, password: str = PASSWORD, *, address: str = "192.0.2.7", client: Client | None = None) -> str:
    """``in``, ``wrong`` or ``waits``."""
    response = (client or Client()).post("/sign-in/", {"username": name, "password": password}, REMOTE_ADDR=address)
    if response.status_code == 302:
        return "in"
    return "waits" if "Too many attempts" in response.content.decode() else "wrong"


@pytest.mark.slow
@pytest.mark.django_db
def test_a_colleague_behind_the_same_address_is_not_locked_out(ada: User, bela: User) -> None:
    browser = Client()
    assert sign_in_as("bela", client=browser) == "in", "the premise: bela was here before"
    browser.post("/sign-out/")
    for number in range(ADDRESS.free + 5):
        sign_in_as(f"nobody{number}", "wrong")
        sign_in_as("bela", "wrong", address=f"198.51.{number}.1")
    make_person("carol")
    assert sign_in_as("carol") == "waits", "the premise: the address has to wait"
    assert sign_in_as("bela") == "in", "in another browser, from where bela has signed in before"
    assert sign_in_as("bela", address="203.0.113.9") == "waits", "the premise: from elsewhere, the name has to wait"
    assert sign_in_as("bela", address="203.0.113.9", client=browser) == "in", "in the browser that bela uses"


@pytest.mark.django_db
@pytest.mark.parametrize("cookie", ["", "x", "W10:a:b", "another person's"])
def test_a_device_that_is_not_known_has_no_allowance(cookie: str, ada: User, bela: User) -> None:
    for number in range(2 * ACCOUNT.free):
        sign_in_as("ada", "wrong", address=f"198.51.{number}.1")
    client = Client()
    client.cookies[sign_in.DEVICE_COOKIE] = sign_in.new_device(bela) if cookie == "another person's" else cookie
    assert sign_in_as("ada", address="203.0.113.9", client=client) == "waits"


@pytest.mark.django_db
def test_whoever_found_a_session_open_does_not_guess_the_old_password(ada: User) -> None:
    client = signed_in(ada)
    new = {"old_password": "wrong", "new_password1": "another good one", "new_password2": "another good one"}
    pages = [client.post("/password/", new).content.decode() for _ in range(12)]
    assert "Too many attempts" not in pages[ACCOUNT.free] and "Too many attempts" in pages[-1]
    right = client.post("/password/", new | {"old_password": PASSWORD})
    assert right.status_code == 200 and "Wait" in right.content.decode()
    assert sign_in_as("ada", address="203.0.113.9") == "in", "other ways in do not wait for it"


@pytest.mark.django_db
def test_sign_ins_refusals_and_sign_outs_are_lines_of_the_audit_log(ada: User) -> None:
    client = Client()
    for name, password in (("ada", "wrong"), ("my own password", "typed into the wrong field"), ("ada", PASSWORD)):
        sign_in_as(name, password, client=client)
    client.post("/sign-out/", REMOTE_ADDR="192.0.2.7")
    lines = [(line.action, line.actor_name, line.owner_name, line.detail, line.address) for line in AuditEvent.objects.order_by("number")]
    assert lines == [
        ("sign-in refused", "", "ada", "wrong password", "192.0.2.7"),
        ("sign-in refused", "", "", "no such account", "192.0.2.7"),
        ("sign in", "ada", "", "", "192.0.2.7"),
        ("sign out", "ada", "", "", "192.0.2.7"),
    ]


@pytest.mark.django_db
def test_repeated_refusals_are_counted_and_not_listed(ada: User) -> None:
    for _ in range(20):
        sign_in_as("ada", "wrong")
    details = list(AuditEvent.objects.order_by("number").values_list("detail", flat=True))
    assert (len(details), details[-1]) == (11, "had to wait, further ones are only counted")


@pytest.mark.slow
@pytest.mark.django_db
def test_somebody_who_signs_in_and_out_all_day_does_not_fill_the_log(ada: User) -> None:
    client = Client()
    for _ in range(30):
        assert sign_in_as("ada", client=client) == "in"
        client.post("/sign-out/")
    assert AuditEvent.objects.count() == 2 * 21


@pytest.mark.django_db
def test_a_sign_in_that_cannot_be_recorded_does_not_happen(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.audit_log.record._append", disk_is_full)
    client = Client(raise_request_exception=False)
    assert client.post("/sign-in/", {"username": "ada", "password": PASSWORD}).status_code == 500
    assert client.get("/").status_code == 302


@pytest.mark.django_db
def test_wrong_tokens_do_not_keep_the_monitoring_out(settings: pytest_django.Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"metrics_token": "right"})
    answers = [Client().get("/metrics", headers={"authorization": f"Bearer {number}"}).status_code for number in range(30)]
    assert answers[0] == 404 and answers[-1] == 429
    assert Client().get("/metrics", headers={"authorization": "Bearer right"}).status_code == 200
