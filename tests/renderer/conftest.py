"""The tests of this directory may read and write token ids."""

from __future__ import annotations

from tests.vocabulary import oracle as oracle
from tests.vocabulary import rank_file as rank_file
from tests.vocabulary import vocabulary as vocabulary
