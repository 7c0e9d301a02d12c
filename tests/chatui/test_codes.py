"""The product's own error codes: each has a sentence, and none has the name of a code of the specification."""

import pytest

from chatui.codes import ProductCode, code_of
from renderer.errors import Code
from tests.support.cases import for_each


@for_each([*Code, *ProductCode])
def test_each_code_has_one_sentence_and_is_found_by_its_word(code: Code | ProductCode) -> None:
    assert code.sentence.endswith(".") and len(code.sentence) > 10
    assert code_of(str(code)) is code


def test_the_products_codes_say_that_they_are_no_part_of_the_specification() -> None:
    assert all(code.startswith("E-X-") for code in ProductCode)
    assert not any(code.startswith("E-X-") for code in Code)


def test_what_is_no_code_is_refused() -> None:
    with pytest.raises(ValueError, match="E-NOTHING"):
        code_of("E-NOTHING")
