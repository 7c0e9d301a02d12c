"""What the tests of languages leave behind: English, for the tests that come after them in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import translation


@pytest.fixture
def _english_afterwards() -> Iterator[None]:
    yield
    translation.activate("en")
