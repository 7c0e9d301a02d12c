"""Compares names by their sound, to find them misspelt or in another script."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from renderer.summary import disguises

_WORD = re.compile(r"[^\W\d_]{2,}")
_CYRILLIC = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґў",
        "a b v g d e e zh z i i k l m n o p r s t u f h ts ch sh sh . y . e yu ya i i e g u".replace(".", "").split(" "),
        strict=True,
    )
)
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        ["a", "v", "g", "d", "e", "z", "i", "th", "i", "k", "l", "m", "n", "x", "o", "p", "r", "s", "s", "t", "i", "f", "h", "ps", "o"],
        strict=True,
    )
)
_ARABIC = dict(
    zip(
        "بتثجحخدذرزسشصضطظعغفقكلمنهويگپچ",
        [
            "b",
            "t",
            "th",
            "j",
            "h",
            "kh",
            "d",
            "d",
            "r",
            "z",
            "s",
            "sh",
            "s",
            "d",
            "t",
            "z",
            ".",
            "g",
            "f",
            "k",
            "k",
            "l",
            "m",
            "n",
            "h",
            "v",
            "y",
            "g",
            "p",
            "ch",
        ],
        strict=True,
    )
)
_HEBREW = dict(
    zip(
        "אבגדהוזחטיכךלמםנןסעפףצץקרשת",
        [
            ".",
            "b",
            "g",
            "d",
            "h",
            "v",
            "z",
            "h",
            "t",
            "y",
            "k",
            "k",
            "l",
            "m",
            "m",
            "n",
            "n",
            "s",
            ".",
            "p",
            "p",
            "ts",
            "ts",
            "k",
            "r",
            "sh",
            "t",
        ],
        strict=True,
    )
)
_LETTERS = str.maketrans(_CYRILLIC | _GREEK | _ARABIC | _HEBREW)
_FIRST = ["g", "kk", "n", "d", "tt", "r", "m", "b", "pp", "s", "ss", ".", "j", "jj", "ch", "k", "t", "p", "h"]
_LAST = [
    ".",
    "k",
    "k",
    "k",
    "n",
    "n",
    "n",
    "t",
    "l",
    "k",
    "m",
    "l",
    "l",
    "l",
    "p",
    "l",
    "m",
    "p",
    "p",
    "t",
    "t",
    "ng",
    "t",
    "t",
    "k",
    "t",
    "p",
    "t",
]
_HANGUL, _HANGUL_END, _VOWELS_OF_HANGUL = 0xAC00, 0xD7A3, 21
_SAME = (
    ("tsch", "s"),
    ("sch", "s"),
    ("sh", "s"),
    ("zh", "s"),
    ("ch", "s"),
    ("ts", "s"),
    ("tz", "s"),
    ("th", "t"),
    ("ph", "f"),
    ("ck", "k"),
)
_FINE = str.maketrans({"c": "k", "q": "k", "z": "s", "x": "s", "w": "v", **dict.fromkeys("aeiouyjh'.", "")})
_COARSE = str.maketrans("gdbrvj", "ktplfs")
_DOUBLED = re.compile(r"(.)\1+")
_MIN_CHARS, _MIN_FOREIGN = 3, 2
_MIN_LETTERS = 4
# Characters that Chinese uses to transcribe foreign names.
_SOUND_SIGNS = frozenset(
    "阿埃艾安昂奥巴白拜班邦贝本比彼宾波伯勃博布查达大戴丹当道德登迪蒂丁东杜多尔恩法凡范菲费芬丰弗福富盖甘高戈格根哥古瓜圭哈海汉豪赫亨胡华霍基吉加贾杰金卡凯坎康考柯科克肯库"
    "夸拉莱赖兰朗劳勒雷黎里丽利莉连列林琳卢鲁伦罗洛马玛迈麦曼毛梅美门蒙米密明缪摩莫默姆穆拿娜纳乃奈南内妮尼年涅宁纽农努诺欧帕派潘庞佩彭皮平珀普奇齐恰乔切琴琼丘让日荣茹瑞若"
    "撒萨塞赛桑森沙珊尚绍舍申圣施史士舒朔司丝斯松苏索塔泰坦汤唐陶特藤提图托瓦万旺威韦维魏温文翁沃乌武西希锡夏香肖歇谢辛欣雄休许雅亚扬耶叶伊因英尤于约赞泽扎詹珍芝朱卓兹佐"
)


def names(text: str) -> set[tuple[str, str]]:
    """The scripts and sounds of the words of ``text`` that may be names: capitalized, or of a script without capitals."""
    found: set[tuple[str, str]] = set()
    for word in _WORD.findall(text):
        if not word[0].islower():
            found |= _keys(word)
    return found


def sounds_like_name(word: str, known: set[tuple[str, str]]) -> bool:
    """Whether a word, in its own script, sounds like a ``known`` name."""
    script, sound = disguises.script_of(word[0]), _sound(word)
    if script == "LATIN" and len(word) >= _MIN_LETTERS and ("LATIN", sound) in known:
        return True
    coarse = _coarse(sound)
    return any((other, coarse) in known for other in _OTHERS if other != f"~{script}")


def may_transcribe_name(word: str) -> bool:
    """Whether Chinese characters may transcribe a foreign name."""
    return len(word) >= _MIN_FOREIGN and _SOUND_SIGNS.issuperset(word)


_OTHERS = ("~LATIN", "~CYRILLIC", "~GREEK", "~ARABIC", "~HEBREW", "~HANGUL", "~KANA")


@lru_cache(maxsize=4096)
def _keys(word: str) -> frozenset[tuple[str, str]]:
    script, sound = disguises.script_of(word[0]), _sound(word)
    coarse = _coarse(sound)
    found = {(script, sound)} if script == "LATIN" and len(sound) >= _MIN_CHARS else set()
    if len(coarse) >= _MIN_FOREIGN and len(word) >= (_MIN_LETTERS if script == "LATIN" else _MIN_FOREIGN):
        found.add((f"~{script}", coarse))
    return frozenset(found)


def _sound(word: str) -> str:
    """The consonants of a word in Latin letters; consonants that are often confused are treated as the same."""
    plain = disguises.folded("".join(map(_romanized, unicodedata.normalize("NFC", word.casefold()))))
    for spelled, same in _SAME:
        plain = plain.replace(spelled, same)
    return _DOUBLED.sub(r"\1", plain.translate(_FINE))


def _coarse(sound: str) -> str:
    return _DOUBLED.sub(r"\1", sound.translate(_COARSE))


def _romanized(letter: str) -> str:
    if letter.isascii():
        return letter
    if _HANGUL <= ord(letter) <= _HANGUL_END:
        first, rest = divmod(ord(letter) - _HANGUL, _VOWELS_OF_HANGUL * len(_LAST))
        return f"{_FIRST[first]}a{_LAST[rest % len(_LAST)]}"
    if disguises.script_of(letter) == "KANA":
        return unicodedata.name(letter).rsplit(" ", 1)[-1].lower()
    return letter.translate(_LETTERS)
