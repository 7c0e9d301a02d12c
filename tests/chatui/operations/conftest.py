"""The tests in this directory start openai-harmony in a separate process; they need its vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatui.operations.second_reader import SecondReader
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary


@pytest.fixture
def second(rank_file: Path) -> SecondReader:
    """The real second reader, with more time than a busy machine needs."""
    return SecondReader(lambda: rank_file, 120)
