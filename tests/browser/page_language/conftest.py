"""The product with a demo that writes slowly enough to be looked at while it does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.conftest import PEOPLE
from tests.support.served import Deployment, Server


@pytest.fixture(scope="package")
def slow_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its server: a short answer takes a few seconds."""
    deployment = Deployment(tmp_path_factory.mktemp("languages"), CHATUI_DEMO_TOKENS_PER_SECOND="60")
    try:
        server = deployment.start()
        deployment.make_people(**PEOPLE)
        yield server
    finally:
        deployment.stop()
