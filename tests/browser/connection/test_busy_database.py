"""A question that waits for a locked database: the page keeps its connection, and the question is asked once the database is free."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.connection.test_offline import STOPWATCH
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser

LOCKED_MS = 7000
"""Longer than the page waits for the answers to its probes, before it takes a connection for lost."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The product with a database of its own, which can be locked."""
    with served(Deployment(tmp_path)) as server:
        yield server


def test_a_page_does_not_take_a_locked_database_for_a_lost_connection(server: Server, tmp_path: Path, visits: Visits) -> None:
    chat = Chat(visits.open(server, "ada"))
    chat.ask_and_wait("Hello!")
    chat.settle()
    chat.page.evaluate(STOPWATCH)
    with contextlib.closing(sqlite3.connect(tmp_path / "chatui.sqlite3", timeout=30, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        chat.ask("Are you there?")
        chat.page.wait_for_timeout(LOCKED_MS)
        assert chat.page.evaluate("globalThis.saidAfter") is None
        expect(chat.last.locator(".unsent")).to_have_count(0)
        other.execute("ROLLBACK")
    chat.finish()
    expect(chat.exchanges).to_have_count(2)
    assert "never retrieved" not in server.console
