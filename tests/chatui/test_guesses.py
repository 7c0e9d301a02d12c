"""Limits on guesses: neither many names from one network nor many networks help, and nobody is locked out by other people's guesses."""

import contextlib
import threading
import time

import pytest
import pytest_django
from django.test import Client

from chatui import guesses
from chatui.accounts import sign_in
from chatui.guesses import ACCOUNT, ADDRESS, KNOWN, GuessLimit, MustWaitError, Scope, address_group, network_of
from chatui.limits import Throttle
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from chatui.observability import error_reports, measures
from tests.chatui.conftest import PASSWORD, make_person, refuse_log, signed_in


class Clock:
    """A clock that a test advances. The cache of the tests uses it, too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now, self._passed = time.time(), time.monotonic()
        monkeypatch.setattr(time, "time", lambda: self._now)
        monkeypatch.setattr(time, "monotonic", lambda: self._passed)

    def forward(self, seconds: float) -> None:
        self.step(seconds)
        self._passed += seconds

    def step(self, seconds: float) -> None:
        """Somebody sets the clock of the machine, or it is that of another one."""
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
            guess = limit.admit_stranger(address, account, known=known)
        except MustWaitError:
            continue
        count += 1
        guess.failed()
    return count


def wait_of(limit: GuessLimit, address: str, account: str, *, place: str = "", exists: bool = True) -> MustWaitError | None:
    """What somebody with a wrong password is told, who comes with this place; None if it is that the password is wrong."""
    try:
        limit.admit_stranger(address, account, place=place, exists=exists).failed()
    except MustWaitError as wait:
        return wait
    return None


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
            limit.admit("ada")
        except MustWaitError as error:
            seconds.append(error.seconds)
            assert f"Wait {error.seconds} seconds" in error.sentence
            clock.forward(error.seconds)
    assert seconds == [5, 10, 20]
    for _ in range(8):
        try:
            limit.admit("ada")
        except MustWaitError as error:
            seconds.append(error.seconds)
            clock.forward(error.seconds)
    assert seconds == [5, 10, 20, 40, 60, 60, 60]


def test_knocking_while_one_has_to_wait_makes_the_wait_no_longer(clock: Clock) -> None:
    limit = GuessLimit("test")
    judged(limit, "192.0.2.7", "ada", tries=500)
    with pytest.raises(MustWaitError) as caught:
        limit.admit_stranger("192.0.2.7", "ada")
    assert caught.value.seconds == guesses.FIRST_SECONDS
    clock.forward(guesses.FIRST_SECONDS)
    assert not limit.admit_stranger("192.0.2.7", "ada").is_silent


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
        limit.admit_stranger("192.0.2.7", "mallory").succeeded()
    assert judged(limit, "192.0.2.7", "mallory", tries=3) == 3, "the premise: right ones do not count"
    total = 0
    for number in range(100):
        total += judged(limit, "192.0.2.7", f"person{number}", tries=1)
        with contextlib.suppress(MustWaitError):
            limit.admit_stranger("192.0.2.7", "an own account").succeeded()
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


def test_many_people_who_give_the_right_password_at_once_wait_for_nobody() -> None:
    limit = GuessLimit("test")
    guesses = [limit.admit_stranger("192.0.2.7", f"person{number}") for number in range(200)]
    for guess in guesses:
        guess.recheck()
        guess.succeeded()
    assert judged(limit, "192.0.2.7", "mallory", tries=1) == 1, "and none of them counts"


def test_of_many_wrong_guesses_at_once_those_in_the_queue_wait_once_there_were_enough() -> None:
    limit, checked = GuessLimit("test"), 0
    guesses = [limit.admit_stranger("192.0.2.7", f"person{number}") for number in range(200)]
    for guess in guesses:
        try:
            guess.recheck()
        except MustWaitError as wait:
            assert wait.seconds and wait.place
            guess.succeeded()
        else:
            checked += 1
            guess.failed()
    assert checked == ADDRESS.free + 1


def test_a_queue_of_checks_is_bounded_by_time_and_says_when_to_come_back() -> None:
    checks, started, end = guesses.Checks(2, seconds=0.2), threading.Barrier(3), threading.Event()

    def check() -> None:
        with checks.turn():
            started.wait(30)
            end.wait(30)

    threads = [threading.Thread(target=check) for _ in range(2)]
    for thread in threads:
        thread.start()
    started.wait(30)
    with pytest.raises(MustWaitError) as caught, checks.turn():
        pass
    assert caught.value.seconds == 1
    checks._usual = 10.0
    with pytest.raises(MustWaitError) as caught, checks.turn():
        pass
    assert caught.value.seconds == 10, "the two that run"
    end.set()
    for thread in threads:
        thread.join(30)
    checks._usual = 0.0
    with checks.turn():
        pass


def hammer(limit: GuessLimit, names: list[str], places: dict[str, str], *, exists: bool) -> int:
    """Guess once at each name, coming back with each place that one was told. Returns how many guesses were compared with a password."""
    compared = 0
    for name in names:
        try:
            guess = limit.admit_stranger("192.0.2.7", name, place=places.get(name, ""), exists=exists)
        except MustWaitError as wait:
            places[name] = wait.place
            continue
        compared += exists and not guess.is_decoy
        try:
            guess.failed()
        except MustWaitError as wait:
            places[name] = wait.place
    return compared


@pytest.mark.parametrize("attack", ["at names that do not exist", "with every place", "at the same account", "at some colleagues"])
def test_a_colleague_at_the_same_address_is_checked_when_told(attack: str, clock: Clock) -> None:
    """The attacker takes every allowance at the moment at which it opens."""
    limit, places, told = GuessLimit("test"), dict[str, str](), None
    exists = attack in ("at the same account", "at some colleagues")
    names = {"at the same account": ["cleo"], "at some colleagues": [f"colleague{number}" for number in range(6)]}.get(attack)
    for second in range(900):
        tried = names or [f"nobody{number}" for number in range(3)]
        hammer(limit, tried, {} if attack in ("at names that do not exist", "at the same account") else places, exists=exists)
        if second < 120:
            pass
        elif told is None:
            told = wait_of(limit, "192.0.2.7", "cleo")
            assert told, "the premise: the address has to wait"
            due = second + told.seconds
            assert told.seconds <= 1800
        elif second >= due:
            limit.admit_stranger("192.0.2.7", "cleo", place=told.place).succeeded()
            return
        clock.forward(1)
    raise AssertionError("she was never checked")


def test_sprayed_guesses_that_are_checked_do_not_grow(clock: Clock) -> None:
    """One at each of many names that exist, again and again, with and without the places that one was told."""
    checked = {}
    for comes_back in (False, True):
        limit, places, count = GuessLimit(f"test {comes_back}"), dict[str, str](), 0
        names = [f"person{number}" for number in range(120)]
        for _ in range(70):
            count += hammer(limit, names, places if comes_back else {}, exists=True)
            clock.forward(3600 / 70)
        checked[comes_back] = count
    assert ADDRESS.free < checked[False] < checked[True] <= 83, "what an address had an hour before there were places"


def test_an_account_is_guessed_at_no_faster_with_places_from_many_networks(clock: Clock) -> None:
    limit, compared = GuessLimit("test"), 0
    places = dict[int, str]()
    for _ in range(96):
        for number in range(60):
            try:
                guess = limit.admit_stranger(f"198.51.{number}.1", "ada", place=places.get(number, ""))
                compared += not guess.is_decoy
                guess.failed()
            except MustWaitError as wait:
                places[number] = wait.place
        clock.forward(900)
    assert 60 < compared < 170


def test_names_that_do_not_exist_are_answered_as_those_that_do(clock: Clock) -> None:
    told: dict[bool, list[tuple[int, int]]] = {}
    for exists in (True, False):
        limit, place, told[exists] = GuessLimit(f"test {exists}"), "", []
        judged(limit, "192.0.2.7", "mallory", tries=1)
        for number in range(ADDRESS.free):
            judged(limit, "192.0.2.7", f"nobody{number}", tries=1)
        for step in range(60):
            wait = wait_of(limit, "192.0.2.7", "ada", place=place, exists=exists)
            # Somebody else takes what opens, so that it is the place that is answered.
            judged(limit, "192.0.2.7", f"other{step}", tries=1)
            told[exists].append((step, wait.seconds if wait else 0))
            place = wait.place if wait else place
            clock.forward(wait.seconds if wait and step % 3 else 2)
    assert told[True] == told[False] and len({seconds for _, seconds in told[True]}) > 4


@pytest.mark.parametrize("whose", ["another account", "another address", "another kind", "too old", "forged", "nothing"])
def test_a_place_is_for_one_account_and_address_and_an_hour(whose: str, clock: Clock) -> None:
    limit = GuessLimit("test")
    judged(limit, "192.0.2.7", "ada", tries=20)
    judged(limit, "198.51.100.1", "bela", tries=20)
    judged(GuessLimit("other"), "192.0.2.7", "ada", tries=20)
    given = {
        "another account": wait_of(limit, "198.51.100.1", "bela"),
        "another address": wait_of(limit, "198.51.100.1", "ada"),
        "another kind": wait_of(GuessLimit("other"), "192.0.2.7", "ada"),
    }.get(whose) or wait_of(limit, "192.0.2.7", "ada")
    assert given is not None and given.place
    clock.forward(given.seconds + (guesses.PLACE_SECONDS if whose == "too old" else 0))
    judged(limit, "192.0.2.7", "ada", tries=20)
    place = {"forged": f"{given.place}x", "nothing": ""}.get(whose, given.place)
    with pytest.raises(MustWaitError):
        limit.admit_stranger("192.0.2.7", "ada", place=place)
    if whose == "nothing":
        assert limit.admit_stranger("192.0.2.7", "ada", place=given.place).is_silent, "the twin"


def test_an_address_that_has_to_wait_is_one_line_and_one_count(caplog: pytest.LogCaptureFixture) -> None:
    limit, blocked = GuessLimit("test"), measures.BLOCKED_ADDRESSES.labels("test")
    before = blocked._value.get()
    for number in range(100):
        judged(limit, "192.0.2.7", f"person{number}", tries=1)
    lines = [record.__dict__["address"] for record in caplog.records if record.message == "guesses from an address have to wait"]
    assert {"kind", "address"} <= set(error_reports.FIELDS), "they are in the line"
    assert lines == ["192.0.2.7/32"] and blocked._value.get() == before + 1


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
    shared = guesses._SharedCounts()
    shared._own.clear()
    monkeypatch.setattr(guesses, "_shared", shared)


@pytest.mark.django_db
def test_while_the_cache_is_away_people_sign_in_and_each_process_counts_guesses(
    ada: User, cache_is_away: None, caplog: pytest.LogCaptureFixture
) -> None:
    assert sign_in_as("ada") == "in"
    answers = [sign_in_as("ada", "wrong", address="198.51.100.1") for _ in range(2 * ACCOUNT.free)]
    assert answers.count("wrong") == ACCOUNT.free + 1 and answers[-1] == "waits"
    assert Client().get("/s/AAAAAAAAAAAAAAAAAAAAAA/").status_code == 404
    assert sum("the cache is unavailable" in line for line in caplog.messages) == 1
    assert measures.GUESSES_COUNTED_TOGETHER._value.get() == 0
    client = signed_in(ada)
    assert client.get("/").status_code == 200 and client.get("/search/?q=word").status_code == 200
    assert client.post("/sign-out/").status_code == 302 and client.get("/").status_code == 302


def test_when_the_cache_is_back_all_processes_count_together_again(cache_is_away: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "RETRY_SECONDS", 0.0)
    limit = GuessLimit("test")
    limit.admit_stranger("192.0.2.7", "ada").succeeded()
    shared = guesses._shared
    monkeypatch.undo()
    assert judged(limit, "192.0.2.7", "ada", tries=2 * ACCOUNT.free) == ACCOUNT.free + 1
    assert shared.get("anything") is None and not shared._is_away and measures.GUESSES_COUNTED_TOGETHER._value.get() == 1


# Through the pages.


def sign_in_as(name: str, password: str = PASSWORD, *, address: str = "192.0.2.7", client: Client | None = None) -> str:
    """``in``, ``wrong`` or ``waits``."""
    response = (client or Client()).post("/sign-in/", {"username": name, "password": password}, REMOTE_ADDR=address)
    if response.status_code == 302:
        return "in"
    assert (response.status_code == 429) is ("Too many attempts" in response.content.decode()) is ("Retry-After" in response)
    return "waits" if response.status_code == 429 else "wrong"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "SILENT_SECONDS", 0.0)


@pytest.mark.slow
@pytest.mark.django_db
def test_a_colleague_behind_the_same_address_is_not_locked_out(ada: User, bela: User, clock: Clock, fast: None) -> None:
    browser = Client()
    assert sign_in_as("bela", client=browser) == "in", "the premise: bela was here before"
    browser.post("/sign-out/")
    for number in range(ADDRESS.free + 5):
        sign_in_as(f"nobody{number}", "wrong")
        sign_in_as("bela", "wrong", address=f"198.51.{number}.1")
    assert sign_in_as("bela", address="203.0.113.9") == "waits", "the premise: from elsewhere, the name has to wait"
    assert sign_in_as("bela", address="203.0.113.9", client=browser) == "in", "in the browser that bela uses"
    make_person("carol")
    new = Client()
    assert sign_in_as("carol", client=new) == "waits", "the premise: the address has to wait"
    clock.forward(60)
    assert sign_in_as("nobody", "wrong") == "wrong" and sign_in_as("carol") == "waits", "the premise: somebody else was faster"
    assert sign_in_as("carol", "wrong", client=new) == "waits", "nobody is told that it is wrong"
    clock.forward(guesses.FIRST_SECONDS * 2)
    assert sign_in_as("nobody", "wrong") == "wrong" and sign_in_as("carol", client=new) == "in", "in the browser that was told to wait"
    assert not new.cookies[sign_in.PLACE_COOKIE].value


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
    assert right.status_code == 429 and right["Retry-After"] and "Wait" in right.content.decode()
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
    refuse_log(monkeypatch)
    client = Client(raise_request_exception=False)
    assert client.post("/sign-in/", {"username": "ada", "password": PASSWORD}).status_code == 500
    assert client.get("/").status_code == 302


@pytest.mark.django_db
def test_wrong_tokens_do_not_keep_the_monitoring_out(settings: pytest_django.Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"metrics_token": "right"})
    answers = [Client().get("/metrics", headers={"authorization": f"Bearer {number}"}).status_code for number in range(30)]
    assert answers[0] == 404 and answers[-1] == 429
    assert Client().get("/metrics", headers={"authorization": "Bearer right"}).status_code == 200


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_clock_that_is_set_neither_opens_a_limit_nor_keeps_anybody_out_for_hours(hours: int, clock: Clock) -> None:
    limit, throttle = GuessLimit(f"clock {hours}"), Throttle(f"clock{hours}", 2, 60)

    def guess(count: int = 1) -> int:
        return sum(judged(limit, "192.0.2.1", f"person {number}", tries=1) for number in range(count))

    assert guess(ADDRESS.free + 9) == ADDRESS.free + 1, "the premise: now it has to wait"
    assert [throttle.exceeded("ada") for _ in range(3)] == [0, 0, 60]
    left = limit.seconds_left("192.0.2.1")
    clock.step(hours * 3600)
    assert 0 < limit.seconds_left("192.0.2.1") <= ADDRESS.longest and guess(3) == 0
    assert 0 < throttle.exceeded("ada") <= 60
    clock.forward(max(left, 60))
    assert guess() == 1 and throttle.exceeded("ada") == 0
