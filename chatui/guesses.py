"""Limits how often anybody may guess at a password or another secret.

Guesses are limited per account, per address and per network, with growing delays after wrong guesses. A guess at an account is counted
before it is checked, so that simultaneous guesses have no advantage over sequential ones. For an address and a network count those that
turned out to be wrong, because a whole company may sign in from one; ``Checks`` limits how many are checked at once.

Whoever is told to wait gets a *place*: signed, for this account and this address. Who comes back with it in time is checked, whatever
others have tried meanwhile. So an attacker who takes every allowance as soon as there is one does not keep a colleague out.

While the cache is unavailable, each process counts its guesses for itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.core import signing
from django.core.cache import cache
from django.utils.translation import ngettext

from chatui.limits import CACHE_ERRORS, OwnCache, ThrottledError, counted, uncounted
from chatui.observability import measures
from chatui.proxies import address_of

log = logging.getLogger(__name__)

FIRST_SECONDS = 5
"""The first wait. Each further one is twice as long, up to the maximum of the scope."""
RETRY_SECONDS = 5.0
"""How long an unavailable cache is left alone: each attempt may take two seconds."""


class MustWaitError(ThrottledError):
    """No guess is accepted now. ``seconds``: the wait until the next one. ``place``: what to come back with, if it is for an account: then
    nobody else's guess can lengthen the wait."""

    def __init__(self, seconds: int = 0, place: str = "") -> None:
        super().__init__(seconds)
        self.place = place

    @property
    def sentence(self) -> str:
        words = ngettext(
            "Too many attempts. Wait %(count)d second, then try again.",
            "Too many attempts. Wait %(count)d seconds, then try again.",
            self.seconds,
        )
        return words % {"count": self.seconds}


@dataclass(frozen=True, slots=True)
class Scope:
    """A limit on guesses: ``free`` guesses within ``window`` seconds of the first; then one at a time, after waits that double up to
    ``longest`` seconds."""

    free: int
    longest: int
    window: int

    def wait(self, number: int) -> int:
        """The wait in seconds after guess ``number`` beyond ``free``, counted from 1."""
        return min(self.longest, FIRST_SECONDS << min(number - self.free - 1, 20))


ACCOUNT = Scope(free=5, longest=1800, window=86_400)
"""Guesses at one account from anywhere: about sixty a day."""
KNOWN = Scope(free=10, longest=900, window=86_400)
"""Guesses at one account from a device or an address that has signed in to it before. Strangers cannot use these up."""
ADDRESS = Scope(free=20, longest=120, window=3600)
"""Wrong guesses from one address at all accounts; in IPv6 from a /64 network, which is what one machine has."""
NETWORK = Scope(free=60, longest=120, window=3600)
"""Wrong guesses from the /24 network of an address, in IPv6 from the /48: the next larger unit that one party can rent."""
PLACE = Scope(free=2, longest=1800, window=86_400)
"""Guesses with a place: at one account from one address."""
PLACES_OF_ACCOUNT = Scope(free=40, longest=1800, window=86_400)
"""Guesses with a place at one account from anywhere: about a hundred a day."""
PLACES_OF_NETWORK = Scope(free=19, longest=600, window=3600)
"""Wrong guesses with a place from one network at accounts that exist: about thirty an hour, which ADDRESS and NETWORK have less than they
could, so that an address and a network get no more guesses than without places."""
PLACE_SECONDS = 3600
"""How long a place is kept once its wait is over."""


@dataclass(frozen=True, slots=True)
class GuessLimit:
    """The limit for one kind of secret, such as passwords. Each kind is counted separately, wherever it is asked for."""

    kind: str
    account: Scope = field(default=ACCOUNT, kw_only=True)
    known: Scope = field(default=KNOWN, kw_only=True)
    address: Scope = field(default=ADDRESS, kw_only=True)
    network: Scope = field(default=NETWORK, kw_only=True)

    def admit(self, account: str, *, known: str = "") -> Guess:
        """Count one guess at the secret of an account, which may then be checked, by somebody who has shown another one for it. ``known``
        is a device or address from which this account has signed in before: such guesses have a separate allowance, so that a stranger
        cannot use up that of the owner.

        Raises:
            MustWaitError: there were too many.
        """
        return Guess(_take_all([self._of_account(account, known)]))

    def admit_stranger(self, address: str, account: str, *, known: str = "", place: str = "", exists: bool = True) -> Guess:
        """Count one guess at the secret of an account, by anybody at this address. It counts for the address and its network once it
        turned out to be wrong (``Guess.failed``): many people who give the right one at the same time wait for nobody.

        ``known``: as for ``admit``; then neither address nor network count. ``place``: what an earlier MustWaitError gave. Whoever comes
        back with it when its wait is over has an allowance that no guess without a place can use up. Such a guess is *silent*: only a
        right one is answered, any other has to wait again, so that it does not tell whether the account ``exists``.

        Raises:
            MustWaitError: there were too many.
        """
        if known:
            counts, places = [self._of_account(account, known)], []
        else:
            counts, places = [self._of_account(account, "")], self._of_place(address)
        wait = max(count.seconds_left() for count in (*counts, *places))
        pair = [self.kind, account, address_group(address)]
        if not wait:
            try:
                return Guess(_take_all(counts), places, pair)
            except MustWaitError as error:
                wait = error.seconds
        ready_at = _ready_at(place, pair)
        if ready_at is None:
            raise MustWaitError(wait, _new_place(pair, wait))
        if (left := math.ceil(ready_at - time.time())) > 0:
            raise MustWaitError(left, place)
        try:
            taken = _take_all(self._silent(pair))
        except MustWaitError as error:
            longer = max(wait, error.seconds)
            raise MustWaitError(longer, _new_place(pair, longer)) from None
        # Names that do not exist use up nobody's places, however many are tried. Both are answered in the same way, at the same time.
        network = _GuessCount(PLACES_OF_NETWORK, f"{self.kind}:places of network:{network_of(address)}", kind=self.kind)
        is_decoy = not exists or network.seconds_left() > 0
        again = MustWaitError(wait, _new_place(pair, wait))
        return Guess(taken, [] if is_decoy else [network], pair, again, is_decoy)

    def miss(self, address: str) -> None:
        """Count a guess that is known to be wrong, at a secret of no account. A right one is never refused.

        Raises:
            MustWaitError: there were too many.
        """
        places = self._of_place(address)
        if wait := max(count.seconds_left() for count in places):
            raise MustWaitError(wait)
        for count in places:
            count.add_wrong()

    def seconds_left(self, address: str) -> int:
        """How long guesses from this address at a secret of no account have to wait."""
        return max(count.seconds_left() for count in self._of_place(address))

    def _of_account(self, account: str, known: str) -> _GuessCount:
        if known:
            return _GuessCount(self.known, f"{self.kind}:known:{account}:{known}")
        return _GuessCount(self.account, f"{self.kind}:account:{account}")

    def _of_place(self, address: str) -> list[_GuessCount]:
        found = (self.address, "address", address_group(address)), (self.network, "network", network_of(address))
        return [_GuessCount(scope, f"{self.kind}:{what}:{key}", kind=self.kind, where=key) for scope, what, key in found]

    def _silent(self, pair: list[str]) -> list[_GuessCount]:
        of_account = _GuessCount(PLACES_OF_ACCOUNT, f"{self.kind}:places of account:{pair[1]}")
        return [_GuessCount(PLACE, f"place:{pair}"), of_account]


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess that may be checked; then either ``succeeded`` or ``failed`` is called. ``is_decoy``: nothing is to be compared."""

    counts: list[_GuessCount] = field(default_factory=list)
    places: list[_GuessCount] = field(default_factory=list)
    pair: list[str] = field(default_factory=list)
    again: MustWaitError | None = None
    is_decoy: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether a wrong one has to wait again, instead of being called wrong."""
        return self.again is not None

    def recheck(self) -> None:
        """Called when the guess had to queue: others from the same address or network may have turned out to be wrong meanwhile.

        Raises:
            MustWaitError: there were too many.
        """
        if not self.is_silent and (wait := max((count.seconds_left() for count in self.places), default=0)):
            raise MustWaitError(wait, _new_place(self.pair, wait))

    def succeeded(self) -> None:
        """The guess was right, or was not checked, and does not count.

        Earlier ones still do: otherwise attackers could reset the count by signing in to their own account.
        """
        for count in self.counts:
            count.release()

    def failed(self) -> None:
        """The guess was wrong.

        Raises:
            MustWaitError: it was a silent one.
        """
        for count in self.places:
            count.add_wrong()
        if self.again is not None:
            raise self.again


def _take_all(counts: list[_GuessCount]) -> list[_GuessCount]:
    """Count one guess in all of these or in none. Raises MustWaitError."""
    if wait := max(count.seconds_left() for count in counts):
        raise MustWaitError(wait)
    taken: list[_GuessCount] = []
    for count in counts:
        if not count.take():
            Guess(taken).succeeded()
            raise MustWaitError(count.seconds_left() or 1)
        taken.append(count)
    return taken


def _new_place(pair: list[str], seconds: int) -> str:
    return signing.dumps([*pair, time.time() + seconds], salt=_PLACE_SALT, compress=False)


def _ready_at(place: str, pair: list[str]) -> float | None:
    """When the wait of a place is over; None if it is none for this account and address, or is from too far away, by this clock."""
    try:
        *whose, ready_at = signing.loads(place, salt=_PLACE_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return float(ready_at) if whose == pair and abs(time.time() - float(ready_at)) < PLACE_SECONDS else None


_PLACE_SALT = "chatui.place"


class Checks:
    """The checks of passwords that run at once in this process: as many as there are processors, because each takes one for a good part of
    a second. The others queue, and none for longer than ``seconds``."""

    def __init__(self, at_once: int, seconds: float) -> None:
        self._room = threading.Semaphore(at_once)
        self._lock = threading.Lock()
        self._at_once, self._seconds = at_once, seconds
        self._queued, self._usual = 0, 0.0

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and have it in the ``with`` block.

        Raises:
            MustWaitError: there is none in time. ``seconds``: until those have been checked who are waiting now.
        """
        with self._lock:
            queued, expected = self._queued, self._queued * self._usual / self._at_once
            if expected > self._seconds:
                raise MustWaitError(math.ceil(expected))
            self._queued = queued + 1
        try:
            if not self._room.acquire(timeout=self._seconds):
                raise MustWaitError(math.ceil(self._seconds))
            started = time.monotonic()
            try:
                yield
            finally:
                self._room.release()
                self._note(time.monotonic() - started)
        finally:
            with self._lock:
                self._queued -= 1

    def _note(self, seconds: float) -> None:
        with self._lock:
            self._usual = 0.8 * self._usual + 0.2 * seconds if self._usual else seconds


MAX_AT_ONCE = 8
QUEUE_SECONDS = 120.0
"""How long somebody waits for their password to be checked while many others sign in."""


checks = Checks(min(MAX_AT_ONCE, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1), QUEUE_SECONDS)


def address_group(address: str) -> str:
    """The address of one machine; in IPv6 the /64 network from which it chooses its addresses."""
    return _network(address, 32, 64)


def network_of(address: str) -> str:
    """The network in which one party can easily get several addresses: the /24, in IPv6 the /48."""
    return _network(address, 24, 48)


class _SharedCounts:
    """Django's cache; while it is unavailable, one in this process, so that people can sign in meanwhile. An attacker then has the
    allowance once for each process."""

    def __init__(self) -> None:
        self._own = OwnCache("guesses", {"OPTIONS": {"MAX_ENTRIES": 100_000}})
        self._is_away = False
        self._retry_at = 0.0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._call, name)

    def _call(self, name: str, *arguments: Any) -> Any:
        if time.monotonic() >= self._retry_at:
            try:
                found = getattr(cache, name)(*arguments)
            except CACHE_ERRORS as error:
                self._retry_at = time.monotonic() + RETRY_SECONDS
                self._note(f"unavailable ({type(error).__name__}): each process counts guesses for itself", is_away=True)
            else:
                self._note("available again", is_away=False)
                return found
        return getattr(self._own, name)(*arguments)

    def _note(self, state: str, *, is_away: bool) -> None:
        if is_away is not self._is_away:
            self._is_away = is_away
            measures.GUESSES_COUNTED_TOGETHER.set(not is_away)
            log.warning("the cache is %s", state)


_shared = _SharedCounts()


class _GuessCount:
    """One count in the cache, with a gate beside it: a cache entry that exists while the next guess has to wait."""

    def __init__(self, scope: Scope, key: str, *, kind: str = "", where: str = "") -> None:
        """``where``: the address or network that it counts, if it does not count the guesses at an account. ``kind``: of secret."""
        prefix = f"chatui:guesses:{hashlib.sha256(key.encode()).hexdigest()}"
        self._scope, self._has_gate = scope, False
        self._kind, self._where = kind, where
        self._place, self._gate = f"{prefix}:count", f"{prefix}:gate"

    def seconds_left(self) -> int:
        ready_at = _shared.get(self._gate)
        # The cache ends the gate, by one clock for all processes. When that will be is only words: another machine has written it.
        return 0 if ready_at is None else max(1, min(math.ceil(float(ready_at) - time.time()), self._scope.longest))

    def take(self) -> bool:
        """Count one guess. Returns whether it may be checked: of several at once, only one gets the gate."""
        _shared.add(self._place, 0, self._scope.window)
        number = counted(_shared, self._place, self._scope.window)
        if number <= self._scope.free:
            return True
        wait = self._scope.wait(number)
        self._has_gate = bool(_shared.add(self._gate, time.time() + wait, wait))
        if self._has_gate:
            return True
        # It is not checked, so it does not count: otherwise an attacker who keeps trying could prolong the victim's wait.
        uncounted(_shared, self._place)
        return False

    def add_wrong(self) -> None:
        """Count a guess that was wrong; the next one may have to wait."""
        _shared.add(self._place, 0, self._scope.window)
        number = counted(_shared, self._place, self._scope.window)
        if number <= self._scope.free:
            return
        wait = self._scope.wait(number)
        _shared.set(self._gate, time.time() + wait, wait)
        if self._where and number == self._scope.free + 1:
            measures.BLOCKED_ADDRESSES.labels(self._kind).inc()
            log.warning("guesses from an address have to wait", extra={"kind": self._kind, "address": self._where})

    def release(self) -> None:
        uncounted(_shared, self._place)
        if self._has_gate:
            _shared.delete(self._gate)


def _network(address: str, bits: int, bits_of_6: int) -> str:
    parsed = address_of(address)
    if parsed is None:
        return address
    return str(ipaddress.ip_network((parsed, bits if parsed.version == 4 else bits_of_6), strict=False))
