"""The product over a model server that writes what the test tells it to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server


@pytest.fixture(scope="package")
def _writer() -> Iterator[Writer]:
    writer = Writer()
    yield writer
    writer.close()


@pytest.fixture
def writer(_writer: Writer) -> Iterator[Writer]:
    """What the model server writes. An answer that a test left in the middle is let go."""
    yield _writer
    _writer.go_on()


@pytest.fixture(scope="package")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product's database."""
    return tmp_path_factory.mktemp("written") / "chatui.sqlite3"


@pytest.fixture(scope="package")
def written(_writer: Writer, database: Path) -> Iterator[Server]:
    """The product over it."""
    deployment = Deployment(database.parent, CHATUI_BACKEND_URL=_writer.url)
    try:
        server = deployment.start()
        deployment.make_people(ada=(False, []))
        yield server
    finally:
        deployment.stop()


@pytest.fixture
def chat(written: Server, visits: Visits) -> Chat:
    """A new conversation of Ada's."""
    return Chat(visits.open(written, "ada"))
