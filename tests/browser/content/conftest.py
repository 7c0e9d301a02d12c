"""Fixtures: the product with a model server that writes what the test says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chat import Chat
from tests.browser.content.writer import Writer
from tests.browser.visits import Visits
from tests.support.served import Deployment, Server, served


@pytest.fixture(scope="package")
def _writer() -> Iterator[Writer]:
    writer = Writer()
    yield writer
    writer.close()


@pytest.fixture
def writer(_writer: Writer) -> Iterator[Writer]:
    """The model server. An answer that a test leaves paused is released afterwards."""
    yield _writer
    _writer.resume()


@pytest.fixture(scope="package")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the product's database."""
    return tmp_path_factory.mktemp("written") / "chatui.sqlite3"


@pytest.fixture(scope="package")
def written(_writer: Writer, database: Path) -> Iterator[Server]:
    """The product with this model server and database."""
    with served(Deployment(database.parent, CHATUI_BACKEND_URL=_writer.url)) as server:
        yield server


@pytest.fixture
def chat(written: Server, visits: Visits) -> Chat:
    """A new conversation of Ada's."""
    return Chat(visits.open(written, "ada"))
