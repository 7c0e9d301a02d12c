"""The limited number of PostgreSQL connections of a process's pages: how long a page waits for one that is slow to open."""

import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import psycopg
import pytest

from tests.support.database import page_connections
from tests.support.limits import set_limits


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.database", CONNECT_SECONDS=1.0)
    set_limits(monkeypatch, "chatui.database", FIRST_SECONDS=1.0)


def test_a_server_that_opens_none_is_not_waited_for() -> None:
    end = threading.Event()

    def slow() -> object:
        end.wait()
        return Mock()

    pages = page_connections(Mock, slow)
    pages.putconn(pages.getconn())
    with pytest.raises(psycopg.OperationalError, match="it does not answer"):
        pages.getconn()
    end.set()


def test_a_slow_one_is_waited_for_while_the_server_opens_others() -> None:
    begun, end, wanted = threading.Event(), threading.Event(), Mock()

    def slow() -> object:
        begun.set()
        end.wait()
        return wanted

    pages = page_connections(Mock, slow, *[Mock] * 1000)
    pages.putconn(pages.getconn())
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(pages.getconn)
        assert begun.wait(60), "the slow one is the first of these, not one of those below"
        for _ in range(60):
            pages.putconn(pages.getconn())
            threading.Event().wait(0.05)
        assert not waiting.done(), "it has been waiting for three times as long as for a server that opens none"
        end.set()
        assert waiting.result(60) is wanted
