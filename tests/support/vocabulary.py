"""Fixtures: the vocabulary of gpt-oss, and openai-harmony with it. Import them in a conftest that needs them."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chatui.model_servers.vocabulary import DIRECTORY_VARIABLE, INSTALLED, fetch, find
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.llama.fixture import CACHE


@pytest.fixture(scope="session")
def rank_file() -> Path:
    """The rank file: that of ``make run``, or in the cache that the llama.cpp test server also uses; fetched the first time."""
    try:
        return find(INSTALLED) or fetch(CACHE)
    except (VocabularyError, OSError) as error:
        pytest.skip(f"Token ids cannot be tested here: {error}")


@pytest.fixture(scope="session")
def vocabulary(rank_file: Path) -> Vocabulary:
    """The vocabulary, read once for all tests."""
    return _read(rank_file)


@cache
def _read(rank_file: Path) -> Vocabulary:
    """Read once per process: a fixture that several conftests import is several fixtures."""
    return Vocabulary.read(rank_file)


@pytest.fixture(scope="session")
def oracle(rank_file: Path) -> Any:
    """openai-harmony's own encoding, with which ours is compared."""
    import openai_harmony

    before = os.environ.get(DIRECTORY_VARIABLE)
    os.environ[DIRECTORY_VARIABLE] = str(rank_file.parent)
    try:
        return openai_harmony.load_harmony_encoding("HarmonyGptOss")
    finally:
        del os.environ[DIRECTORY_VARIABLE]
        if before is not None:
            os.environ[DIRECTORY_VARIABLE] = before
