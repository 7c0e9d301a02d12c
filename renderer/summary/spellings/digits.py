"""Extracts digits from a text: from figures, from number words of many languages, and from the lengths of its words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import combinations, groupby

from renderer.summary import disguises

GRAM_SIZES = (3, 4, 6)
"""How many consecutive digits are looked up together: side by side, with other numbers between, in the lengths of words."""
_MIN_SPELLED = 3
_MAX_PIECES = 12
_MAX_COMBINED = 3
_DIGIT_RUN = re.compile(r"\d(?:[\s.,/:()_-]{0,2}\d)*")

_WORDS = {
    0: "zero null nul cero ноль صفر 영 zéro",
    1: "one first eins uno primero premier один واحد 하나 첫째 ichi yksi",
    2: "two second zwei zweite deux deuxième dos segundo due dois duas twee två två два две второй "
    "اثنان خياران 두 둘 둘째 duo iki dwa kaksi",
    3: "three third drei dritte trois troisième tres tercero tre drie три третий ثلاثة ثلاث 세 셋 셋째 trio üç trzy kolme",
    4: "four fourth vier vierte quatre cuatro quattro quatro fyra четыре أربعة أربع 네 넷 quartet dört cztery neljä quarto cuarto",
    5: "five fifth fünf fünfte cinq cinco cinque vijf пять خمسة خمس 다섯 pentagon quintet beş pięć viisi quinto fem",
    6: "six sixth sechs sechste seis sei zes шесть ستة ست 여섯 hexagon sextet altı sześć kuusi sexto",
    7: "seven seventh sieben siebte sept siete sette sete zeven семь سبعة سبع 일곱 heptagon septet yedi siedem seitsemän sju shichi nana",
    8: "eight eighth acht achte huit ocho otto oito восемь ثمانية ثماني 여덟 octagon octet sekiz osiem kahdeksan åtta hachi",
    9: "nine ninth neun neunte neuf nueve nove negen девять تسعة تسع 아홉 dokuz dziewięć yhdeksän nio",
    10: "ten tenth zehn zehnte dix diez dieci dez tien десять عشرة 열 decade",
    11: "eleven elf onze undici одиннадцать",
    12: "twelve zwölf douze doce dodici двенадцать dozen dutzend docena douzaine",
}
VALUES = {disguises.folded(word): str(value) for value, spelled in _WORDS.items() for word in spelled.split()}
"""The value of a folded number word, in ASCII digits."""
_ALSO_WORDS = frozenset(
    disguises.words("due sei second segundo premier elf tres first primero third fourth fifth 세 네 열 두 خمس ست سبع تسع")
)
_SHAPES = frozenset(
    ["pentagon", "hexagon", "heptagon", "octagon", "quartet", "quintet", "sextet", "septet", "octet", "trio", "duo", "decade"]
)
_CHINESE = "零一二三四五六七八九"
_CHINESE_DIGITS = {sign: str(value) for value, sign in enumerate(_CHINESE)} | {"〇": "0", "两": "2", "兩": "2"}
_IN_CHINESE = re.compile(
    "[〇零一二三四五六七八九两兩]{2,}"
    "|[一二三四五六七八九两兩](?=[种種个個条條项項步点點类類组組份段句次页頁张張位家名本天年月日周元块件台只间間])"
)
_KOREAN_SPELLED = re.compile("[영공일이삼사오육륙칠팔구]{3,}")
_KOREAN_DIGITS = {
    "영": "0",
    "공": "0",
    "일": "1",
    "이": "2",
    "삼": "3",
    "사": "4",
    "오": "5",
    "육": "6",
    "륙": "6",
    "칠": "7",
    "팔": "8",
    "구": "9",
}
_STEMS = re.compile("[甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥]{3,}")


def runs(text: str) -> list[str]:
    """The numbers in figures in ``text``, in ASCII digits, without separators."""
    return ["".join(str(unicodedata.digit(sign)) for sign in run if sign.isdecimal()) for run in _DIGIT_RUN.findall(text)]


def grams(text: str) -> set[str]:
    """Each run of GRAM_SIZES digits of the numbers in ``text``."""
    return {gram for run in runs(text) for gram in _grams(run)}


def spelled_grams(words: Iterable[str]) -> set[str]:
    """The same for digits written as several words in a row: "four four one seven"."""
    found: list[str] = []
    for is_number, group in groupby(words, VALUES.__contains__):
        if is_number:
            found.append("".join(VALUES[word] for word in group))
        else:
            found += [run for word in group if not word.isascii() for run in _east_asian(word)]
    return {gram for run in found for gram in _grams(run)}


def is_number_word(word: str) -> bool:
    """Whether a folded word is certainly a number in some language. Words with another meaning do not count."""
    return VALUES.get(word, "1") != "1" and word not in _ALSO_WORDS and word not in _SHAPES


def counts_in_shapes(lines: Sequence[str], known: Iterable[str]) -> bool:
    """Whether more than one word like "octet", or a row of Chinese tally marks, is in ``lines`` and not ``known``."""
    shapes = [word for line in lines for word in disguises.words(line) if word in _SHAPES]
    return len([word for word in shapes if word not in set(known)]) > 1 or any(_STEMS.search(line) for line in lines)


def spelled(lines: Sequence[str]) -> set[str]:
    """Each run of GRAM_SIZES digits that these lines spell: adjacent, reversed, or with other numbers in between."""
    found = _joined([piece for line in lines for piece in _pieces(line)])
    # "12, 90, 34" may be one number with separators or three, and "four 41" is read in this order.
    found |= _joined([piece for line in lines for word in disguises.words(line) for piece in _pieces(word)])
    lengths = "".join(str(len(word) % 10) for line in lines for word in disguises.words(line))
    return found | {gram for gram in _grams(lengths) if len(gram) == GRAM_SIZES[-1]}


def _joined(pieces: Sequence[str]) -> set[str]:
    found = {gram for joined in ("".join(pieces), "".join(pieces)[::-1]) for gram in _grams(joined)}
    for size in range(2, _MAX_COMBINED + 1):
        for some in combinations(pieces[-_MAX_PIECES:], size):
            found.update(gram for gram in _grams("".join(some)) if len(gram) > _MIN_SPELLED)
            found.update(gram for gram in _grams("".join(some[::-1])) if len(gram) > _MIN_SPELLED)
    return found


def _pieces(line: str) -> list[str]:
    found = runs(line)
    for word in disguises.words(line):
        if word in VALUES:
            found.append(VALUES[word])
        elif not word.isascii():
            found += _east_asian(word)
    return found


def _east_asian(word: str) -> list[str]:
    chinese = ["".join(_CHINESE_DIGITS[sign] for sign in run) for run in _IN_CHINESE.findall(word)]
    return chinese + ["".join(_KOREAN_DIGITS[sign] for sign in run) for run in _KOREAN_SPELLED.findall(word)]


def _grams(run: str) -> set[str]:
    return {run[begin : begin + size] for size in GRAM_SIZES for begin in range(len(run) - size + 1)}
