"""A fixture: the product with a demo slow enough for tests to look at an answer while it is written."""

from collections.abc import Iterator

import pytest

from tests.browser.conftest import PEOPLE
from tests.support.served import Deployment, Server


@pytest.fixture(scope="package")
def slow_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose short answers take a few seconds."""
    deployment = Deployment(tmp_path_factory.mktemp("languages"), CHATUI_DEMO_TOKENS_PER_SECOND="60")
    try:
        server = deployment.start()
        deployment.make_people(**PEOPLE)
        yield server
    finally:
        deployment.stop()
