"""The tests in this directory may read and write token ids."""

from tests.support.vocabulary import oracle as oracle
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary
