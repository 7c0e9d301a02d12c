"""Resets the language to English after each test, for the tests that follow in this process."""

from collections.abc import Iterator

import pytest
from django.utils import translation


@pytest.fixture
def _english_afterwards() -> Iterator[None]:
    yield
    translation.activate("en")
