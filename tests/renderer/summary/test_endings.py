"""English and German words are recognized with and without endings; words of other alphabets without their last letter or two."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from renderer.summary import endings
from tests.support.cases import for_each


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("comparing", "compare"),
        ("cats", "cat"),
        ("arme", "arm"),
        ("geeilt", "eil"),
        ("running", "run"),
        ("stories", "story"),
        ("readiness", "ready"),
        ("readers", "reader"),
        ("vergleichenden", "vergleich"),
        ("gerechnet", "rechn"),
        ("числами", "числа"),
    ],
)
def test_a_word_is_a_form_of_its_base(word: str, base: str) -> None:
    assert {word, base} <= endings.forms(word)


@pytest.mark.parametrize(("word", "rest"), [("sing", "s"), ("tress", "tr"), ("sten", "st"), ("ober", "ob")])
def test_a_word_is_not_a_form_of_a_stem_that_is_too_short(word: str, rest: str) -> None:
    assert rest not in endings.forms(word)


@for_each(
    [
        (endings.english, "cats", {"cat"}),
        (endings.english, "gas", set()),
        (endings.english, "wing", set()),
        (endings.english, "running", {"run", "runn", "runne"}),
        (endings.german, "arme", {"arm"}),
        (endings.german, "gelb", set()),
        (endings.german, "gestellt", {"gestell", "stell", "stellt"}),
        (endings.german, "geeis", {"geei", "eis"}),
        (endings.romance, "lheure", {"heur", "heure", "lheu", "lheur"}),
        (endings.romance, "largo", {"argo", "larg"}),
        (endings.romance, "dart", set()),
        (endings.romance, "mesas", {"esas", "mesa"}),
        (endings.forms, "числа", {"числ"}),
        (endings.forms, "путями", {"путя", "путям"}),
        (endings.forms, "слов", set()),
    ]
)
def test_the_base_words_of_a_word_and_no_others(forms: Callable[[str], frozenset[str]], word: str, others: set[str]) -> None:
    assert forms(word) == {word, *others}
