"""Limits how often people may do something, and how often anybody may guess at a password or another secret.

Rates of signed-in people's requests are limited with a ``Throttle``. Guesses are limited per account, per address and per network, with
growing delays after wrong guesses. A guess is counted before it is checked, so that simultaneous guesses have no advantage over sequential
ones.

Counts are stored in Django's cache, so that all processes share them; while it is unavailable, each process counts its guesses for itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.utils.translation import ngettext

from chatui.codes import ProductCode
from chatui.env import environment
from chatui.proxies import address_of

log = logging.getLogger(__name__)


def _cache_errors() -> tuple[type[Exception], ...]:
    if not environment().redis_url:
        return (OSError,)
    # Without Redis, its client would waste 7 MB. With Redis, importing it here loads it before the first request needs it.
    from redis.exceptions import RedisError

    return (OSError, RedisError)


CACHE_ERRORS = _cache_errors()
"""The errors that a cache raises while it is unavailable."""


class ThrottledError(Exception):
    """Too many requests of one kind. ``seconds``: until the next one is allowed; 0 if unknown."""

    code = ProductCode.RATE

    def __init__(self, seconds: int = 0) -> None:
        super().__init__()
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Throttle:
    """Allows at most ``attempts`` per key within ``seconds`` of the first one."""

    name: str
    attempts: int
    seconds: int

    def check(self, *key: str) -> None:
        """Count one attempt.

        Raises:
            ThrottledError: it exceeds the limit.
        """
        if self.exceeded(*key):
            seconds = 0
            with contextlib.suppress(*CACHE_ERRORS):
                seconds = self._seconds_left(key)
            raise ThrottledError(seconds)

    def exceeded(self, *key: str) -> bool:
        """Count one attempt. Returns whether it exceeds the limit; always False while the cache is down, because only signed-in people are
        counted here."""
        try:
            return self.count(*key) > self.attempts
        except CACHE_ERRORS as error:
            log.warning("requests (%s) cannot be counted (%s)", self.name, type(error).__name__)
            return False

    def take(self, amount: int, *key: str) -> int:
        """Count ``amount`` attempts at once, all or none. Returns 0 if they are within the limit, otherwise the seconds until it resets.

        Raises:
            CACHE_ERRORS: one of these while the cache is unavailable.
        """
        if self.count(*key, amount=amount) <= self.attempts:
            return 0
        _uncount(cache, self._place(key), amount)
        return self._seconds_left(key)

    def count(self, *key: str, amount: int = 1) -> int:
        """Count one attempt, or ``amount``. Returns the number of attempts so far.

        Raises:
            CACHE_ERRORS: one of these while the cache is unavailable.
        """
        place = self._place(key)
        if cache.add(place, 0, self.seconds):
            # The time when the count resets is a second entry, because a cache does not tell it.
            cache.set(f"{place}:ends", int(time.time()) + self.seconds, self.seconds)
        return _count(cache, place, amount)

    def _seconds_left(self, key: tuple[str, ...]) -> int:
        now = int(time.time())
        return max(1, int(cache.get(f"{self._place(key)}:ends") or now) - now)

    def _place(self, key: tuple[str, ...]) -> str:
        return f"chatui:throttle:{self.name}:{hashlib.sha256(repr(key).encode()).hexdigest()}"


def _count(counts: Any, place: str, amount: int = 1) -> int:
    """The count at this place of a cache, after adding ``amount``."""
    try:
        return int(counts.incr(place, amount))
    except ValueError:
        return amount  # it expired between the two calls: start again


def _uncount(counts: Any, place: str, amount: int = 1) -> None:
    with contextlib.suppress(ValueError):  # it expired meanwhile
        counts.decr(place, amount)


FIRST_SECONDS = 5
"""The first wait. Each further one is twice as long, up to the maximum of the scope."""
RETRY_SECONDS = 5.0
"""How long an unavailable cache is left alone: each attempt may take two seconds."""


class MustWaitError(ThrottledError):
    """No guess is accepted now. ``seconds``: the wait until the next one, unless somebody else guesses first."""

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
ADDRESS = Scope(free=20, longest=60, window=3600)
"""Guesses from one address at all accounts; in IPv6 from a /64 network, which is what one machine has."""
NETWORK = Scope(free=60, longest=60, window=3600)
"""Guesses from the /24 network of an address, in IPv6 from the /48: the next larger unit that one party can rent."""


@dataclass(frozen=True, slots=True)
class GuessLimit:
    """The limit for one kind of secret, such as passwords. Each kind is counted separately, wherever it is asked for."""

    kind: str
    account: Scope = field(default=ACCOUNT, kw_only=True)
    known: Scope = field(default=KNOWN, kw_only=True)
    address: Scope = field(default=ADDRESS, kw_only=True)
    network: Scope = field(default=NETWORK, kw_only=True)

    def admit(self, address: str, *, account: str = "", known: str = "") -> Guess:
        """Count one guess, which may then be checked. ``account`` is the account whose secret is guessed, if it belongs to one. ``known``
        is a device or address from which this account has signed in before: such guesses have a separate allowance, so that a stranger
        behind the same address cannot lock anybody out.

        Raises:
            MustWaitError: there were too many.
        """
        counts = [_GuessCount(scope, f"{self.kind}:{key}") for scope, key in self._scopes(address, account, known)]
        if wait := max(count.seconds_left() for count in counts):
            raise MustWaitError(wait)
        guess = Guess()
        for count in counts:
            if not count.take():
                guess.succeeded()
                raise MustWaitError(count.seconds_left() or 1)
            guess.counts.append(count)
        return guess

    def _scopes(self, address: str, account: str, known: str) -> Iterator[tuple[Scope, str]]:
        if known:
            yield self.known, f"known:{account}:{known}"
            return
        if account:
            yield self.account, f"account:{account}"
        yield self.address, f"address:{address_group(address)}"
        yield self.network, f"network:{network_of(address)}"


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess that has been counted and may be checked."""

    counts: list[_GuessCount] = field(default_factory=list)

    def succeeded(self) -> None:
        """The guess was right and does not count.

        Earlier ones still do: otherwise attackers could reset the count by signing in to their own account.
        """
        for count in self.counts:
            count.release()


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
        self._own = LocMemCache("guesses", {"OPTIONS": {"MAX_ENTRIES": 100_000}})
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
            log.warning("the cache is %s", state)


_shared = _SharedCounts()


class _GuessCount:
    """One count in the cache, with a gate beside it: a cache entry that exists while the next guess has to wait."""

    def __init__(self, scope: Scope, key: str) -> None:
        prefix = f"chatui:guesses:{hashlib.sha256(key.encode()).hexdigest()}"
        self._scope, self._has_gate = scope, False
        self._place, self._gate = f"{prefix}:count", f"{prefix}:gate"

    def seconds_left(self) -> int:
        return max(0, math.ceil(float(_shared.get(self._gate, 0)) - time.time()))

    def take(self) -> bool:
        """Count one guess. Returns whether it may be checked: of several at once, only one gets the gate."""
        _shared.add(self._place, 0, self._scope.window)
        number = _count(_shared, self._place)
        if number <= self._scope.free:
            return True
        wait = self._scope.wait(number)
        self._has_gate = bool(_shared.add(self._gate, time.time() + wait, wait))
        if self._has_gate:
            return True
        # It is not checked, so it does not count: otherwise an attacker who keeps trying could prolong the victim's wait.
        _uncount(_shared, self._place)
        return False

    def release(self) -> None:
        _uncount(_shared, self._place)
        if self._has_gate:
            _shared.delete(self._gate)


def _network(address: str, bits: int, bits_of_6: int) -> str:
    parsed = address_of(address)
    if parsed is None:
        return address
    return str(ipaddress.ip_network((parsed, bits if parsed.version == 4 else bits_of_6), strict=False))
