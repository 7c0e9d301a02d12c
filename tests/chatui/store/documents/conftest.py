"""Loads the vocabulary for tests that count tokens."""

from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary
