"""The vocabulary, for tests of token ids."""

from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary
