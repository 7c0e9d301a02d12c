"""Checks that a line of a reasoning summary uses only visible words and common words of its language.

Other words (names, keys, numbers, foreign words, codes) need not be recognized: they are simply not on the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import pairwise

from renderer.summary import disguises, endings, languages
from renderer.summary.index import SeenText
from renderer.summary.number_words import COUNTED, SMALL_NUMBER_WORDS, is_number
from renderer.summary.spellings.digits import is_number_word
from renderer.summary.vocabulary import (
    chinese,
    chinese_fields,
    english,
    english_fields,
    french,
    german,
    german_fields,
    japanese,
    korean,
    korean_fields,
    others,
    spanish,
)

_MAX_PIECE_CHARS = 8
_ABSTRACT = ("isierung", "isierungen", "ization", "izations", "isation", "isations", "izacion", "izaciones", "bilidad", "bilidades")
"""No name has these endings, and each such word describes a kind of work."""
_MIN_PART = 4
_GERMAN = frozenset({"German"})
_ROMANCE = frozenset({"French", "Spanish", "Italian", "Portuguese"})
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


def unknown_words(line: str, seen: SeenText, instructions: AbstractSet[str] = frozenset()) -> list[str]:
    """The folded words of ``line`` that are neither in the visible text nor on the lists of its languages. Digits are checked elsewhere.

    ``instructions``: the base words of system and developer messages. Of these, only the most common words are harmless.
    """
    allowed = languages.expected(seen.language_counts) | ({"Russian"} if "CYRILLIC" in seen.scripts else set())
    parts = (part for word in disguises.words(line) if word not in seen.words for part in disguises.split_by_spacing(word))
    return [unknown for part in parts for unknown in _unknown_in(part, seen, allowed, instructions)]


def listed(language: str) -> Words:
    """The plain words of a language, with their possible base words."""
    words, forms = _list_of(language)
    return _listed(words, forms) | _listed(_FIELDS.get(language, ""), forms)


def is_plain(word: str, allowed: frozenset[str], instructions: AbstractSet[str] = frozenset()) -> bool:
    """Whether a folded word of Latin or Cyrillic letters is on the list of one of these languages."""
    if word in SMALL_NUMBER_WORDS or any(word in languages.stop_words(language) for language in allowed):
        return True
    is_in_instructions = not instructions.isdisjoint(endings.forms(word))
    if word.endswith(_ABSTRACT) and not is_in_instructions:
        return True
    for language in allowed:
        words, forms = _list_of(language)
        own = forms(word)
        if not own.isdisjoint(_listed(words, forms)) or not (
            is_in_instructions or own.isdisjoint(_listed(_FIELDS.get(language, ""), forms))
        ):
            return True
    return False


def is_known(word: str, seen: SeenText, allowed: frozenset[str], instructions: AbstractSet[str] = frozenset()) -> bool:
    """Whether a folded word is plain, a form of a visible word, or made of such words, like "Reisezeit" and "Dockerfile"."""
    if is_plain(word, allowed, instructions) or not endings.forms(word).isdisjoint(seen.forms):
        return True
    if not _ROMANCE.isdisjoint(allowed) and not endings.romance(word).isdisjoint(seen.romance):
        return True
    if is_number(word):
        return False
    return _is_compound(word, seen, instructions) if "German" in allowed else is_visible_compound(word, seen, allowed, instructions)


def _unknown_in(word: str, seen: SeenText, allowed: frozenset[str], instructions: AbstractSet[str]) -> list[str]:
    if word in seen.words or any(map(str.isdigit, word)):
        return []
    if is_number_word(word) and word not in SMALL_NUMBER_WORDS:
        return [word]
    if disguises.unspaced(word):
        return _gaps(word, seen, instructions)
    return [] if is_known(word, seen, allowed, instructions) else [word]


def _list_of(language: str) -> tuple[str, Forms]:
    words = _PLAINEST.get(language) or others.BY_LANGUAGE.get(language, "")
    return words, _ENDINGS.get(language, _as_it_is)


@cache
def _listed(words: str, forms: Forms) -> Words:
    return frozenset(form for word in disguises.words(words) for form in forms(word))


def _as_it_is(word: str) -> Words:
    return frozenset({word})


_PLAINEST = {"English": english.WORDS, "German": german.WORDS}
LISTED_LANGUAGES = frozenset({"English", "German", "Spanish", "French"})
"""The languages whose lists are long enough to learn what their words look like."""
_FIELDS = {"English": english_fields.WORDS, "German": german_fields.WORDS, "Spanish": spanish.WORDS, "French": french.WORDS}
_ENDINGS: dict[str, Forms] = {
    "English": endings.english,
    "German": endings.german,
    **dict.fromkeys(("French", "Spanish", "Italian", "Portuguese"), endings.romance),
}


def _is_compound(word: str, seen: SeenText, instructions: AbstractSet[str]) -> bool:
    """Whether a German compound is made of known words, like "Reisezeit"."""
    for cut in range(_MIN_PART - 1, len(word) - _MIN_PART + 2):
        head, tail = word[:cut], word[cut:]
        if _is_part(tail, seen, instructions) and any(
            _is_part(head.removesuffix(link), seen, instructions) for link in _LINKS if head.endswith(link)
        ):
            return True
    return False


def _is_part(part: str, seen: SeenText, instructions: AbstractSet[str]) -> bool:
    if part in seen.words:
        return len(part) >= _MIN_PART - 1
    return len(part) >= _MIN_PART and (is_plain(part, _GERMAN, instructions) or not endings.german(part).isdisjoint(seen.forms))


def is_visible_compound(word: str, seen: SeenText, allowed: frozenset[str], instructions: AbstractSet[str] = frozenset()) -> bool:
    """Whether a word begins or ends with a visible word, and the rest is plain."""
    for cut in range(_MIN_PART, len(word) - _MIN_PART + 1):
        head, tail = word[:cut], word[cut:]
        if (head in seen.words and is_plain(tail, allowed, instructions)) or (tail in seen.words and is_plain(head, allowed, instructions)):
            return True
    return False


def _gaps(run: str, seen: SeenText, instructions: AbstractSet[str]) -> list[str]:
    """The parts of a run in a script without spaces, or of a Korean word, that remain after removing as many known pieces as possible."""
    best: dict[int, tuple[int, list[str], bool]] = {0: (0, [], False)}
    for begin in range(len(run)):
        cost, gaps, is_open = best[begin]
        longer = [*gaps[:-1], gaps[-1] + run[begin]] if is_open else [*gaps, run[begin]]
        _keep(best, begin + 1, (cost + 1, longer, True))
        for end in _ends(run, begin, seen, instructions):
            _keep(best, end, (cost, gaps, False))
    return best[len(run)][1]


def _keep(best: dict[int, tuple[int, list[str], bool]], at: int, way: tuple[int, list[str], bool]) -> None:
    if at not in best or (way[0], len(way[1])) < (best[at][0], len(best[at][1])):
        best[at] = way


def _ends(run: str, begin: int, seen: SeenText, instructions: AbstractSet[str]) -> set[int]:
    """The positions where a known piece that begins at ``begin`` may end."""
    is_korean = _HANGUL.search(run) is not None
    plainest, fields, behind = _korean_pieces() if is_korean else _pieces()
    # Traditional characters are tried as simplified ones and unchanged, because Japanese also uses them.
    spellings = {run} if is_korean else {run, run.translate(_TRADITIONAL)}
    ends = {begin + length for length in range(2, _seen_length(run, begin, seen) + 1)}
    for end in range(begin + 1, min(begin + _MAX_PIECE_CHARS, len(run)) + 1):
        for piece in (spelled[begin:end] for spelled in spellings):
            is_plain_here = piece in plainest or (piece in fields and not _is_in_instructions(piece, instructions))
            if is_plain_here or (piece in behind if begin else piece in seen.roots) or COUNTED.fullmatch(piece):
                ends.add(end)
    return ends


def _is_in_instructions(piece: str, instructions: AbstractSet[str]) -> bool:
    """Whether it occurs in system or developer messages: ``instructions`` has each pair of adjacent characters."""
    return len(piece) > 1 and all(one + other in instructions for one, other in pairwise(piece))


def _seen_length(run: str, begin: int, seen: SeenText) -> int:
    """How many characters from ``begin`` on are in the visible text in the same order."""
    end = begin
    while end + 1 < min(len(run), begin + _MAX_PIECE_CHARS) and run[end : end + 2] in seen.pairs:
        end += 1
    return end - begin + 1


def load_pieces() -> None:
    """Load the lists for scripts without spaces, and Korean."""
    _pieces()
    _korean_pieces()


@cache
def _pieces() -> tuple[Words, Words, Words]:
    plainest = _as_listed(chinese.WORDS) | _as_listed(others.JAPANESE)
    return plainest, _as_listed(chinese_fields.WORDS) | _as_listed(japanese.WORDS), Words()


@cache
def _korean_pieces() -> tuple[Words, Words, Words]:
    return _as_listed(korean.WORDS), _as_listed(korean_fields.WORDS), _as_listed(korean.ENDINGS)


def _as_listed(words: str) -> Words:
    return frozenset(disguises.words(words))
