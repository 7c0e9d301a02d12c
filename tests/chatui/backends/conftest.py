"""Lets the tests of this directory use the vocabulary of token ids, and stubs without sockets."""

from __future__ import annotations

from tests.chatui.backends.http1.memory import in_memory as in_memory
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary
