"""The tests of this directory may read and write token ids."""

from __future__ import annotations

import django

# A conftest that is named on the command line is loaded before pytest-django sets Django up; models cannot be imported before that.
django.setup()

from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary
