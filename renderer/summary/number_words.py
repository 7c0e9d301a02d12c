"""Recognizes number words: cardinals, ordinals, fractions, Roman numerals and compounds; and computes the values of small ones."""

from __future__ import annotations

import re

from renderer.summary import disguises

_PARTS = (
    "zero one two three four five six seven eight nine ten eleven twelve thir teen twen ty fif for eigh zwan hundred thousand million "
    "billion trillion first second third half quarter dozen score twice thrice double triple quadruple percent nought couple th s "
    "and ieth teenth null ein eins zwei zwo drei vier funf sechs sieben acht neun zehn elf zwolf sech sieb zig ssig hundert tausend "
    "halb viertel drittel dutzend doppelt dreifach fach prozent mal und te tel erste e r n un deux trois quatre cinq sept huit neuf "
    "dix onze douze vingt trente quarante cinquante soixante cent mille demi uno dos tres cuatro cinco seis siete ocho nueve diez "
    "once doce veinte treinta cuarenta cincuenta sesenta ciento mil medio due quattro cinque sei sette otto nove dieci venti"
)
_LATIN = re.compile("(?:" + "|".join(sorted(set(disguises.words(_PARTS)), key=len, reverse=True)) + ")+")
_ROMAN = re.compile("[ivxlcdm]+")
_CHINESE = re.compile("[〇零一二三四五六七八九十百千万萬亿億两兩半倍壹贰叁肆伍陆柒捌玖拾廿]")
_KOREAN = re.compile(
    "[영공일이삼사오육륙칠팔구십백천만억조]+|하나|둘|셋|넷|다섯|여섯|일곱|여덟|아홉|열|스물|서른|마흔|쉰|예순|절반|두배|세배"
)


def is_number(word: str) -> bool:
    """Whether a folded word may be a number. True when in doubt."""
    return any(pattern.fullmatch(word) for pattern in (_LATIN, _ROMAN, _KOREAN)) or _CHINESE.search(word) is not None


SMALL_NUMBERS = {
    disguises.folded(word): value
    for value, spelled in {
        2: "two twice zwei deux dos due dois duas twee два две 두 둘 2 "
        "second secondly zweite zweiten zweiter zweites zweitens deuxieme segundo secondo tweede второй 둘째 둘째로",
        3: "three drei trois tres tre drie три 세 셋 3 "
        "third thirdly dritte dritten dritter drittes drittens troisieme tercero terzo derde третий 셋째",
        4: "four vier quatre cuatro quattro quatro четыре 네 넷 4",
        5: "five funf cinq cinco cinque vijf пять 다섯 5",
    }.items()
    for word in spelled.split()
}
"""Values by folded word. In hidden text, a digit counts as one of these; in a line, it is an ordinary number."""
SMALL_NUMBER_WORDS = frozenset(word for word in SMALL_NUMBERS if not word.isdigit())
_CHINESE_SMALL = {"两": 2, "兩": 2, "二": 2, "三": 3, "四": 4, "五": 5}
COUNTED = re.compile("[两兩二三四五](?:[种種个個条條项項步点點类類组組份段句次]|方面)")
"""A small number with its measure word, in Chinese."""


def small_numbers(text: str) -> set[int]:
    """The small numbers in a folded word or run of ``text``."""
    found = {_CHINESE_SMALL[pair[0]] for pair in COUNTED.findall(text)}
    return found | ({SMALL_NUMBERS[text]} if text in SMALL_NUMBERS else set())
