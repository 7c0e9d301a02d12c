"""A key of Ada's for the API, and a program that has it."""

import pytest

from chatui.models.user import User
from tests.chatui.api.asking import Program, key_of


@pytest.fixture
def key(ada: User) -> str:
    """The text of a key that may be used for all formats."""
    return key_of(ada)


@pytest.fixture
def program(key: str) -> Program:
    """A program with this key."""
    return Program(key)
