"""A rate of requests is counted anew when its refusal says."""

import pytest
from django.core.cache import cache

from chatui.limits import Throttle
from tests.chatui.test_guesses import Clock


def test_a_rate_is_counted_anew_when_it_says_also_if_its_count_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    rate, count = Throttle("test", attempts=2, seconds=60), cache.incr

    def late(key: str, amount: int, version: int | None = None) -> int:
        """As Redis, where the entry expires after it is found and before it is counted."""
        number = count(key, amount, version)
        cache.touch(key, None)
        return number

    monkeypatch.setattr(cache, "incr", late)
    for _ in range(3):
        assert [rate.exceeded("ada") for _ in range(4)] == [0, 0, 60, 60] and rate.take(2, "bela") == 0
        clock.forward(50)
        assert (rate.exceeded("ada"), rate.take(1, "bela"), rate.exceeded("bela")) == (10, 10, 10)
        clock.forward(11)


def test_a_count_for_which_the_cache_has_no_room_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Redis may do it with a policy that evicts: the end of the window is still there."""
    rate, count, counted = Throttle("test", attempts=2, seconds=60), cache.incr, list[str]()

    def noted(key: str, amount: int, version: int | None = None) -> int:
        counted.append(key)
        return count(key, amount, version)

    monkeypatch.setattr(cache, "incr", noted)
    assert [rate.exceeded("ada") > 0 for _ in range(3)] == [False, False, True]
    cache.delete(counted[-1])
    assert [rate.exceeded("ada") > 0 for _ in range(4)] == [False, False, True, True]
