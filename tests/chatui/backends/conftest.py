"""Lets the tests of this directory use the vocabulary of token ids."""

from __future__ import annotations

from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary
