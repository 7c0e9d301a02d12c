"""Loads the vocabulary and openai-harmony for tests over token ids, and resets what the test tools recorded."""

import pytest

from chatui.models.user import User
from tests.chatui.turns.calls.calling import RAN, World
from tests.support.scripted import ScriptedBackend
from tests.support.vocabulary import oracle as oracle
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary


@pytest.fixture(autouse=True)
def _reset_recorded_calls() -> None:
    RAN.clear()


@pytest.fixture
def world(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(ada, backend, monkeypatch)
