"""Limits guesses at secrets: per account, per address and per network together, with a wait that grows after each wrong one.

Counts live in Django's cache, so that all processes share them. A guess is counted before it is judged, so that of many that are sent at
once no more get through than of many in a row.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.core.cache import cache

from chatui.codes import ProductCode
from chatui.throttle import CACHE_ERRORS

log = logging.getLogger(__name__)

FIRST_SECONDS = 5
"""The first wait. Each further one is twice as long, up to what the scope says."""
AWAY_SECONDS = 30
"""After how long to try again while the cache is away."""


class MustWaitError(Exception):
    """No guess is judged now. ``seconds``: after how many one may be, if nobody else was faster."""

    code = ProductCode.RATE

    def __init__(self, seconds: int, *, is_away: bool = False) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self.is_away = is_away

    @property
    def sentence(self) -> str:
        """What the person reads who has to wait."""
        wait = f"Wait {self.seconds} second{'s' if self.seconds > 1 else ''}, then try again."
        return f"This cannot be checked right now. {wait}" if self.is_away else f"Too many attempts. {wait}"


@dataclass(frozen=True, slots=True)
class Scope:
    """``free`` guesses within ``window`` seconds of the first; then one at a time, after waits that double up to ``longest`` seconds."""

    free: int
    longest: int
    window: int

    def wait(self, number: int) -> int:
        """Seconds from the guess of that number, the first beyond ``free``, to the one after it."""
        return min(self.longest, FIRST_SECONDS << min(number - self.free - 1, 20))


ACCOUNT = Scope(free=5, longest=1800, window=86_400)
"""Guesses at one account from wherever: some sixty a day."""
KNOWN = Scope(free=10, longest=900, window=86_400)
"""Guesses at one account from a device or an address that has signed in to it before. Strangers do not use these up."""
ADDRESS = Scope(free=20, longest=60, window=3600)
"""Guesses from one address at all accounts; in IPv6 from a /64 network, which is what one machine has."""
NETWORK = Scope(free=60, longest=60, window=3600)
"""Guesses from the /24 network of an address, in IPv6 from the /48: the next larger thing that one party rents."""


class GuessLimit:
    """The limit of one kind of secret, such as passwords. Kinds count apart; what is guessed at in several places is one kind."""

    def __init__(
        self, kind: str, *, account: Scope = ACCOUNT, known: Scope = KNOWN, address: Scope = ADDRESS, network: Scope = NETWORK
    ) -> None:
        self._kind = kind
        self._account = account
        self._known = known
        self._address = address
        self._network = network

    def admit(self, address: str, *, account: str = "", known: str = "") -> Guess:
        """Count one guess, which may then be judged.

        ``account`` names what is guessed at, if it is one account's. ``known`` names the device or place that this account was signed in to
        from before: such a guess has an allowance of its own, so that a stranger's guesses lock out no colleague behind the same address.

        Raises:
            MustWaitError: there were too many, or the cache that counts them is away: what cannot be counted is not judged.
        """
        try:
            return self._admit([_Place(scope, f"{self._kind}:{key}") for scope, key in self._scopes(address, account, known)])
        except CACHE_ERRORS as error:
            log.warning("guesses (%s) cannot be counted, and are refused (%s)", self._kind, type(error).__name__)
            raise MustWaitError(AWAY_SECONDS, is_away=True) from None

    def _scopes(self, address: str, account: str, known: str) -> Iterator[tuple[Scope, str]]:
        if known:
            yield self._known, f"known:{account}:{known}"
            return
        if account:
            yield self._account, f"account:{account}"
        yield self._address, f"address:{address_group(address)}"
        yield self._network, f"network:{network_of(address)}"

    def _admit(self, places: list[_Place]) -> Guess:
        wait = max(place.seconds_left() for place in places)
        if wait:
            raise MustWaitError(wait)
        taken = Guess()
        for place in places:
            if not taken.take(place):
                taken.succeeded()
                raise MustWaitError(place.seconds_left() or 1)
        return taken


class Guess:
    """A guess that was counted and may be judged."""

    def __init__(self) -> None:
        self._places: list[tuple[_Place, bool]] = []

    def take(self, place: _Place) -> bool:
        """Count it there, too; False where another one was faster."""
        has_gate = place.take()
        if has_gate is None:
            return False
        self._places.append((place, has_gate))
        return True

    def succeeded(self) -> None:
        """It was right: it does not count. Earlier ones do, or an attacker would sign in to an own account between any two guesses."""
        with contextlib.suppress(*CACHE_ERRORS):  # the secret was right; a count that stays too high is for the next time
            for place, has_gate in self._places:
                place.give_back(has_gate=has_gate)


def address_group(address: str) -> str:
    """What one machine has: an address, in IPv6 the /64 network that it chooses its addresses from."""
    return _network(address, 32, 64)


def network_of(address: str) -> str:
    """What one party easily has several addresses of: the /24 network, in IPv6 the /48."""
    return _network(address, 24, 48)


class _Place:
    """One count in the cache, and beside it the gate, which is there as long as the next guess has to wait."""

    def __init__(self, scope: Scope, key: str) -> None:
        place = f"chatui:guesses:{hashlib.sha256(key.encode()).hexdigest()}"
        self._scope = scope
        self._count, self._gate = f"{place}:count", f"{place}:gate"

    def seconds_left(self) -> int:
        return max(0, math.ceil(float(cache.get(self._gate, 0)) - time.time()))

    def take(self) -> bool | None:
        """Count one guess: whether it has the gate, None where it may not be judged. Of many at once, one gets the gate."""
        cache.add(self._count, 0, self._scope.window)
        try:
            number = cache.incr(self._count)
        except ValueError:
            number = 1  # it expired between the two calls: a fresh start
        if number <= self._scope.free:
            return False
        wait = self._scope.wait(number)
        if cache.add(self._gate, time.time() + wait, wait):
            return True
        # It is not judged, so it does not count: else whoever goes on knocking makes the wait longer for its victim.
        self._uncount()
        return None

    def give_back(self, *, has_gate: bool) -> None:
        self._uncount()
        if has_gate:
            cache.delete(self._gate)

    def _uncount(self) -> None:
        with contextlib.suppress(ValueError):  # it expired meanwhile
            cache.decr(self._count)


def _network(address: str, bits: int, bits_of_6: int) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    # A server that listens on both kinds of address sees an IPv4 peer as ::ffff:10.0.0.1.
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return str(ipaddress.ip_network((parsed, bits if parsed.version == 4 else bits_of_6), strict=False))
