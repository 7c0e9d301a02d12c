"""Checks that a line of a reasoning summary uses only visible words and common words of its language.

Other words (names, keys, numbers, foreign words, codes) need not be recognised: they are not on the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from renderer.summary import disguises, endings, languages
from renderer.summary.index import SeenText
from renderer.summary.spelled_numbers import COUNTED
from renderer.summary.spelled_numbers import WORDS as SMALL_NUMBERS
from renderer.summary.vocabulary import chinese, english, german, korean, others

_LONGEST_PIECE = 8
_LEAST_PART = 4
_GERMAN = frozenset({"German"})
_LINKS = ("", "s", "es", "n", "en")
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_TRADITIONAL = str.maketrans(
    "較對檢查資訊數據時間費價徑線計劃設計選擇確認驗證評權衡總結歸納慮題問據類別寫閱讀優點劣勢釋說環節順細詞語氣彙項個種條與從將並為內讓給過還會於後應該這那簡單複雜體現實"
    "際關鍵長處適當準備構調圖書館機鐵車輛氣溫險異轉換變預歷邏輯錯誤軟體網頁頭標譯潤飾紀錄試運營養適練習藥療課",
    "较对检查资讯数据时间费价径线计划设计选择确认验证评权衡总结归纳虑题问据类别写阅读优点劣势释说环节顺细词语气汇项个种条与从将并为内让给过还会于后应该这那简单复杂体现实"
    "际关键长处适当准备构调图书馆机铁车辆气温险异转换变预历逻辑错误软体网页头标译润饰纪录试运营养适练习药疗课",
)

Words = frozenset[str]
Forms = Callable[[str], Words]


def unknown_words(line: str, seen: SeenText) -> list[str]:
    """The folded words of ``line`` that are neither in the visible text nor on the lists of its languages. Digits are checked elsewhere."""
    tongues = languages.expected(seen.tongues) | ({"Russian"} if "CYRILLIC" in seen.scripts else set())
    parts = (part for word in disguises.words(line) if word not in seen.words for part in disguises.by_width(word))
    return [unknown for part in parts for unknown in _unknown_in(part, seen, tongues)]


def listed(tongue: str) -> Words:
    """The plain words of a language, with the words of which they may be forms."""
    return _listed(*_list_of(tongue))


def is_plain(word: str, tongues: frozenset[str]) -> bool:
    """Whether a folded word of Latin or Cyrillic letters is on the list of one of these languages."""
    if word in SMALL_NUMBERS or any(word in languages.small_words(tongue) for tongue in tongues):
        return True
    return any(not forms(word).isdisjoint(_listed(words, forms)) for words, forms in map(_list_of, tongues))


def _unknown_in(word: str, seen: SeenText, tongues: frozenset[str]) -> list[str]:
    if word in seen.words or any(map(str.isdigit, word)):
        return []
    if disguises.wide(word):
        return _gaps(word, seen)
    is_known = is_plain(word, tongues) or not endings.forms(word).isdisjoint(seen.forms)
    return [] if is_known or ("German" in tongues and _is_compound(word, seen)) else [word]


def _list_of(tongue: str) -> tuple[str, Forms]:
    if tongue == "English":
        return english.WORDS, endings.english
    return (german.WORDS, endings.german) if tongue == "German" else (others.BY_LANGUAGE.get(tongue, ""), _as_it_is)


@cache
def _listed(words: str, forms: Forms) -> Words:
    return frozenset(form for word in disguises.words(words) for form in forms(word))


def _as_it_is(word: str) -> Words:
    return frozenset({word})


def _is_compound(word: str, seen: SeenText) -> bool:
    """Whether a German compound is made of known words, like "Reisezeit"."""
    for cut in range(_LEAST_PART - 1, len(word) - _LEAST_PART + 2):
        head, tail = word[:cut], word[cut:]
        if _is_part(tail, seen) and any(_is_part(head.removesuffix(link), seen) for link in _LINKS if head.endswith(link)):
            return True
    return False


def _is_part(part: str, seen: SeenText) -> bool:
    if part in seen.words:
        return len(part) >= _LEAST_PART - 1
    return len(part) >= _LEAST_PART and (is_plain(part, _GERMAN) or not endings.german(part).isdisjoint(seen.forms))


def _gaps(run: str, seen: SeenText) -> list[str]:
    """What is left of a run in a script without spaces, or of a Korean word, after removing as many known pieces as possible."""
    best: dict[int, tuple[int, list[str], bool]] = {0: (0, [], False)}
    for begin in range(len(run)):
        cost, gaps, is_open = best[begin]
        longer = [*gaps[:-1], gaps[-1] + run[begin]] if is_open else [*gaps, run[begin]]
        _keep(best, begin + 1, (cost + 1, longer, True))
        for end in _ends(run, begin, seen, is_first=begin == 0):
            _keep(best, end, (cost, gaps, False))
    return best[len(run)][1]


def _keep(best: dict[int, tuple[int, list[str], bool]], at: int, way: tuple[int, list[str], bool]) -> None:
    if at not in best or (way[0], len(way[1])) < (best[at][0], len(best[at][1])):
        best[at] = way


def _ends(run: str, begin: int, seen: SeenText, *, is_first: bool) -> set[int]:
    """Where a known piece that begins at ``begin`` may end."""
    is_korean = _HANGUL.search(run) is not None
    stems, behind = (_korean_stems(), _korean_endings()) if is_korean else (_pieces(), Words())
    plain = run if is_korean else run.translate(_TRADITIONAL)
    ends = {begin + length for length in range(2, _seen_length(run, begin, seen) + 1)}
    for end in range(begin + 1, min(begin + _LONGEST_PIECE, len(run)) + 1):
        piece = plain[begin:end]
        if piece in stems or (piece in seen.roots if is_first else piece in behind) or COUNTED.fullmatch(piece):
            ends.add(end)
    return ends


def _seen_length(run: str, begin: int, seen: SeenText) -> int:
    """How many characters from ``begin`` on are in the visible text in the same order."""
    end = begin
    while end + 1 < min(len(run), begin + _LONGEST_PIECE) and run[end : end + 2] in seen.pairs:
        end += 1
    return end - begin + 1


@cache
def _pieces() -> Words:
    return frozenset(disguises.words(chinese.WORDS)) | frozenset(disguises.words(others.JAPANESE))


@cache
def _korean_stems() -> Words:
    return frozenset(disguises.words(korean.WORDS))


@cache
def _korean_endings() -> Words:
    return frozenset(disguises.words(korean.ENDINGS))
