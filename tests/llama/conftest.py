"""Fixtures: real llama.cpp servers and the vocabulary."""

from __future__ import annotations

from tests.llama.fixture import llama_server as llama_server
from tests.llama.fixture import llama_server_of_one_test as llama_server_of_one_test
from tests.llama.fixture import llama_server_unparsed as llama_server_unparsed
from tests.llama.fixture import llama_server_with_a_small_context as llama_server_with_a_small_context
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary
