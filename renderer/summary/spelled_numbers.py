"""Small numbers written as words, with their values."""

from __future__ import annotations

import re

from renderer.summary import disguises

SMALL = {
    disguises.folded(word): value
    for value, spelled in {
        2: "two zwei deux dos due dois duas twee два две 두 둘 2 "
        "second secondly zweite zweiten zweiter zweites zweitens deuxieme segundo secondo tweede второй 둘째 둘째로",
        3: "three drei trois tres tre drie три 세 셋 3 "
        "third thirdly dritte dritten dritter drittes drittens troisieme tercero terzo derde третий 셋째",
        4: "four vier quatre cuatro quattro quatro четыре 네 넷 4",
        5: "five funf cinq cinco cinque vijf пять 다섯 5",
    }.items()
    for word in spelled.split()
}
"""Values by folded word. A digit counts as one of these in hidden text; in a line it is a number like any other."""
WORDS = frozenset(word for word in SMALL if not word.isdigit())
_CHINESE = {"两": 2, "兩": 2, "二": 2, "三": 3, "四": 4, "五": 5}
COUNTED = re.compile("[两兩二三四五][种種个個条條项項步点點类類组組份段句次]")
"""A small number with what it counts, in Chinese."""


def small_numbers(text: str) -> set[int]:
    """The small numbers in a folded word or run of ``text``."""
    found = {_CHINESE[pair[0]] for pair in COUNTED.findall(text)}
    return found | ({SMALL[text]} if text in SMALL else set())
