"""Numbers as lists show them: in digits, letters, signs or words of many scripts, ``3``, ``iii``, ``다``, ``三``, ``③``, ``Third``.

The formats have the names that DOCX gives them (ECMA-376 part 1, 17.18.59). OpenDocument names one by how it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

_MAX_NUMBER = 99_999
_MAX_REPEATED = 9
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"))
_ROMAN_ENDS = ((4, "iv"), (1, "i"))
_HEBREW = (*zip(range(400, 0, -100), "תשרק", strict=True), *zip(range(90, 0, -10), "צפעסנמלכי", strict=True))
_HEBREW_ONES = "אבגדהוזחט"
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth"}


def counted(number: int, how: str) -> str:
    """A number as a list shows it. ``how``: the name of a format; an unknown one counts in digits."""
    number = min(max(number, 0), _MAX_NUMBER)
    writer = _WRITERS.get(how)
    return (writer(number) if writer is not None and number else "") or str(number)


def beginning(sample: str) -> str:
    """The name of the format of which OpenDocument gives the beginning, as ``1``, ``a`` or ``①, ②, ③, ...``; empty if it shows nothing."""
    if not sample:
        return ""
    first = [each.strip() for each in sample.split(",")[:3] if "." not in each]
    for known in (first, first[:1]):  # some samples count on by tens
        for name in _WRITERS:
            if all(counted(at + 1, name) == each for at, each in enumerate(known)):
                return name
    return "decimal"


def _letters(alphabet: str, number: int) -> str:
    """After z comes aa, then bb."""
    return alphabet[(number - 1) % len(alphabet)] * min((number - 1) // len(alphabet) + 1, _MAX_REPEATED)


def _signs(signs: str, number: int) -> str:
    """Signs as far as there are some."""
    return signs[number - 1] if number <= len(signs) else ""


def _roman(number: int) -> str:
    text = ""
    for value, letters in (*_ROMAN, *_ROMAN_ENDS) if number < 5000 else ():
        text += letters * (number // value)
        number %= value
    return text


def _digits(digits: str, number: int) -> str:
    return "".join(digits[int(each)] for each in str(number))


def _characters(digits: str, units: Sequence[str], has_one: bool, number: int) -> str:
    """A number in Chinese characters, or in those of its neighbours. ``units``: ten, hundred, thousand and ten thousand. ``has_one``: a one
    is written before them, but for a ten at the beginning; and a zero for a gap."""
    text, is_gap = "", False
    for place in range(len(units), -1, -1):
        digit = number // 10**place % 10 if place < len(units) else number // 10**place
        if not digit:
            is_gap = bool(text)
            continue
        text += digits[0] * (is_gap and has_one)
        is_gap = False
        is_bare = digit == 1 and place > 0 and (not has_one or (place == 1 and not text))
        text += ("" if is_bare else digits[digit]) + (units[place - 1] if place else "")
    return text


def _hebrew(number: int) -> str:
    text, rest = "", number % 1000
    for value, letter in _HEBREW:
        if rest in (15, 16):
            break
        text += letter * (rest // value)
        rest %= value
    return text + ("ט" + _HEBREW_ONES[rest - 10] if rest in (15, 16) else _HEBREW_ONES[rest - 1] if rest else "")


def _words(number: int) -> str:
    """A number below a hundred in English words: in which language a document counts is not in its lists."""
    if number < len(_SMALL):
        return _SMALL[number]
    if number >= 100:
        return ""
    return _TENS[number // 10 - 2] + (f"-{_SMALL[number % 10]}" if number % 10 else "")


def _ordinal_words(number: int) -> str:
    before, dash, last = _words(number).rpartition("-")
    if not last:
        return ""
    return f"{before}{dash}{_ORDINALS.get(last) or (f'{last[:-1]}ieth' if last.endswith('y') else f'{last}th')}"


def _ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ends.get(number % 10, 'th')}"


def _capital(writer: Callable[[int], str], number: int) -> str:
    return writer(number).capitalize()


def _run(first: str, length: int) -> str:
    return "".join(chr(ord(first) + at) for at in range(length))


_LATIN = _run("a", 26)
_CYRILLIC = "абвгдежзиклмнопрстуфхцчшщыэюя"
_KANA = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_IROHA = "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス"
_HALF_KANA = "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝ"
_CHINESE, _UNITS = "零一二三四五六七八九", ("十", "百", "千", "万")
_CIRCLED = _run("①", 20) + _run("㉑", 15) + _run("㊱", 15)
_SIMPLE = partial(_characters, _CHINESE, _UNITS, True)
_TAIWANESE = partial(_characters, _CHINESE, ("十", "百", "千", "萬"), True)
_JAPANESE = partial(_characters, _CHINESE, _UNITS, False)

_WRITERS: Mapping[str, Callable[[int], str]] = {
    "decimal": str,
    "decimalZero": lambda number: f"{number:02}",
    "lowerLetter": partial(_letters, _LATIN),
    "upperLetter": partial(_letters, _LATIN.upper()),
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "ordinal": _ordinal,
    "cardinalText": partial(_capital, _words),
    "ordinalText": partial(_capital, _ordinal_words),
    "hex": lambda number: f"{number:X}",
    "chicago": partial(_letters, "*†‡§"),
    "numberInDash": lambda number: f"- {number} -",
    "ganada": partial(_letters, "가나다라마바사아자차카타파하"),
    "chosung": partial(_letters, "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"),
    "koreanCounting": partial(_characters, "영일이삼사오육칠팔구", ("십", "백", "천", "만"), False),
    "koreanDigital": partial(_digits, "영일이삼사오육칠팔구"),
    "chineseCountingThousand": _SIMPLE,
    "chineseCounting": _SIMPLE,
    "taiwaneseCountingThousand": _TAIWANESE,
    "taiwaneseCounting": _TAIWANESE,
    "japaneseCounting": _JAPANESE,
    "koreanDigital2": partial(_digits, _CHINESE),
    "ideographDigital": partial(_digits, "〇一二三四五六七八九"),
    "japaneseDigitalTenThousand": partial(_digits, "〇一二三四五六七八九"),
    "taiwaneseDigital": partial(_digits, "○一二三四五六七八九"),
    "chineseLegalSimplified": partial(_characters, "零壹贰叁肆伍陆柒捌玖", ("拾", "佰", "仟", "万"), True),
    "ideographLegalTraditional": partial(_characters, "零壹貳參肆伍陸柒捌玖", ("拾", "佰", "仟", "萬"), True),
    "japaneseLegal": partial(_characters, "零壱弐参四伍六七八九", ("拾", "百", "阡", "萬"), True),
    "ideographTraditional": partial(_letters, "甲乙丙丁戊己庚辛壬癸"),
    "ideographZodiac": partial(_letters, "子丑寅卯辰巳午未申酉戌亥"),
    "aiueo": partial(_letters, _HALF_KANA),
    "aiueoFullWidth": partial(_letters, _KANA),
    "iroha": partial(_letters, _IROHA),
    "irohaFullWidth": partial(_letters, _IROHA),
    "decimalFullWidth": partial(_digits, "０１２３４５６７８９"),
    "decimalFullWidth2": partial(_digits, "０１２３４５６７８９"),
    "decimalEnclosedCircle": partial(_signs, _CIRCLED),
    "decimalEnclosedCircleChinese": partial(_signs, _CIRCLED),
    "decimalEnclosedFullstop": partial(_signs, _run("⒈", 20)),
    "decimalEnclosedParen": partial(_signs, _run("⑴", 20)),
    "ideographEnclosedCircle": partial(_signs, _run("㊀", 10)),
    "russianLower": partial(_letters, _CYRILLIC),
    "russianUpper": partial(_letters, _CYRILLIC.upper()),
    "hebrew1": _hebrew,
    "hebrew2": partial(_letters, "אבגדהוזחטיכלמנסעפצקרשת"),
    "arabicAlpha": partial(_letters, "أبتثجحخدذرزسشصضطظعغفقكلمنهوي"),
    "arabicAbjad": partial(_letters, "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ"),
    "thaiLetters": partial(_letters, "กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ"),
    "thaiNumbers": partial(_digits, _run("๐", 10)),
    "hindiNumbers": partial(_digits, _run("०", 10)),
}
