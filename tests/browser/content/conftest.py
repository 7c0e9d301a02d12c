"""A fixture: a conversation whose answers the test writes."""

import pytest

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.support.served import Server


@pytest.fixture
def chat(written: Server, visits: Visits) -> Chat:
    """A new conversation of Ada's."""
    return Chat(visits.open(written, "ada"))
