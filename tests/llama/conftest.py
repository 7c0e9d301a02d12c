"""Fixtures: real llama.cpp servers and the vocabulary."""

from collections.abc import AsyncIterator

import pytest

from chatui.backends.base import Backend
from tests.llama.asked import FORMATS, backend_of
from tests.llama.fixture import llama_server as llama_server
from tests.llama.fixture import llama_server_of_one_test as llama_server_of_one_test
from tests.llama.fixture import llama_server_unparsed as llama_server_unparsed
from tests.llama.fixture import llama_server_with_a_small_context as llama_server_with_a_small_context
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary


@pytest.fixture(params=FORMATS)
async def backend(request: pytest.FixtureRequest, llama_server: str) -> AsyncIterator[Backend]:
    """Our side of each wire format in turn, or of those that a test names."""
    created = backend_of(request.param, llama_server, request.getfixturevalue("vocabulary") if request.param == "harmony" else None)
    yield created
    await created.aclose()
