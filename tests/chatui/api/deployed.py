"""Fixtures: the product with the demo, served by Daphne for the tests of a module, and API keys for it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.served import Deployment, Server

MAKE_KEY = """
from chatui.accounts import api_keys
from chatui.audit_log.record import Visitor
from chatui.models import User
wanted = api_keys.NewKeyOptions(name='A script', for_responses=True, for_chat=True, for_messages=True, per_minute=600)
print('key=' + api_keys.create(Visitor(User.objects.get(username='ada'), '', 'shell'), wanted).text)
"""


def served(place: Path, tokens_per_second: int = 0, **environment: str) -> Iterator[Server]:
    """The product with Ada's account."""
    deployment = Deployment(place, CHATUI_DEMO_TOKENS_PER_SECOND=str(tokens_per_second), **environment)
    try:
        started = deployment.start()
        deployment.make_people(ada=(False, []))
        yield started
    finally:
        deployment.stop()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of the deployment."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    """The product, with a demo that writes slowly."""
    yield from served(place, 400)


@pytest.fixture(scope="module")
def fast_server(place: Path) -> Iterator[Server]:
    """The product, with a demo that writes as fast as it can."""
    yield from served(place)


def key_at(place: Path) -> str:
    """A new key of Ada's for a running deployment."""
    printed = Deployment(place).manage("shell", "--no-imports", "-c", MAKE_KEY)
    found = re.search(r"key=(\S+)", printed)
    assert found, printed
    return found[1]


@pytest.fixture(scope="module")
def key(server: Server, place: Path) -> str:
    """A key for ``server``."""
    return key_at(place)


@pytest.fixture(scope="module")
def fast_key(fast_server: Server, place: Path) -> str:
    """A key for ``fast_server``."""
    return key_at(place)
