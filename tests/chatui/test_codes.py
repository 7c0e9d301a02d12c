"""The product's own error codes: each has a sentence, and none has the name of a code of the specification."""

import re

import pytest

from chatui.codes import Cause, Fault, ProductCode, code_of
from renderer.errors import Code
from tests.support.cases import for_each
from tests.support.examinations import FAULTS


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


@for_each([*Cause, *FAULTS])
def test_advice_on_a_page_names_no_setting_of_a_file_and_that_of_logs_and_commands_does(fault: Fault) -> None:
    """What servers call their own options stands in brackets."""
    assert not re.search(r"CHATUI_|manage\.py|--|[a-z]_[a-z]", re.sub(r"\([^)]*\)", "", fault.advice))
    assert fault.to_do == fault.advice or fault.to_do.endswith(f" {fault.settings}")
    assert not fault.settings or re.search(r"CHATUI_|manage\.py|--|[a-z]_[a-z]|summaries = |separates", fault.settings)
