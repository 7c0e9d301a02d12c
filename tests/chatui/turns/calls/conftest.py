"""The vocabulary and openai-harmony, for loops over token ids; and tools that have done nothing yet."""

from __future__ import annotations

import pytest

from tests.chatui.turns.calls.calling import RAN
from tests.support.vocabulary import oracle as oracle
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()
