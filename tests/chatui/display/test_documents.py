"""The displayed size of a document: its share of the model's context, in round numbers."""

import pytest
from django.utils import translation

from chatui.display.files import about


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (0, "about 0 tokens"),
        (1, "about 1 token"),
        (999, "about 999 tokens"),
        (1000, "about 1k tokens"),
        (2600, "about 3k tokens"),
        (131_072, "about 131k tokens"),
    ],
)
def test_thousands_of_tokens_are_rounded_and_fewer_are_not(tokens: int, expected: str) -> None:
    with translation.override("en"):
        assert about(tokens) == expected
