"""Shows numbers as a workbook shows them: a grammar of the number formats of spreadsheets.

A format has up to four sections (for positive and negative numbers, zero and text), or sections with conditions. Each is a number with
digits, groups, a percent sign, an exponent or a fraction; or a date, a time or a duration; or text. Colours, widths and languages are
read over: decimals have a point, thousands a comma, and names of months and weekdays are English.

A date with year, month and day in digits is written as ``2024-12-31``: which digits are the day differs between countries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import chain

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: "$#,##0;-$#,##0", 6: "$#,##0;-$#,##0", 7: "$#,##0.00;-$#,##0.00",
    8: "$#,##0.00;-$#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy",
    18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 32: "h:mm", 33: "h:mm:ss", 37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 41: "#,##0;-#,##0;-", 42: "$#,##0;-$#,##0;-",
    43: "#,##0.00;-#,##0.00;-", 44: "$#,##0.00;-$#,##0.00;-", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
    **dict.fromkeys((14, *range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd"), **dict.fromkeys((34, 35), "h:mm:ss"),
}  # fmt: skip
"""Formats that a workbook names by a number alone."""
MAX_FORMAT_CHARS = 255
_TOKEN = re.compile(
    r"""(?P<literal>"[^"]*"?|\\.|_.|\*.)|(?P<bracket>\[[^\]]*\])|(?P<general>General|Standard)|(?P<clock>AM/PM|A/P|上午/下午)
    |(?P<exponent>E[+-])|(?P<era>[eg]+(?![+-]))|(?P<date>y+|m+|d+|h+|s+|a{3,4}|b+)|(?P<digit>[0\#?])|(?P<sign>[.,%/@;])|(?P<other>.)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"\[\s*(<=|>=|<>|<|>|=)\s*(-?[0-9]+(?:\.[0-9]*)?)\s*\]")
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_EXACT = Context(prec=15, rounding=ROUND_HALF_UP)
_WIDE = Context(prec=1500, rounding=ROUND_HALF_UP)
_DAYS = 2_958_465
_DAYS_FROM_1904 = 2_957_003
_DAY_MS = 86_400_000
_LEAP_DAY_OF_1900 = 60
"""A day that never was, and that workbooks count."""

Token = tuple[str, str]
"""A kind of ``_TOKEN``, and its text; of a literal, what it shows."""


@dataclass(frozen=True, slots=True)
class _Section:
    tokens: tuple[Token, ...]
    condition: tuple[str, float] | None = None

    def has(self, *kinds: str) -> bool:
        return any(kind in kinds for kind, _ in self.tokens)

    def fits(self, number: float) -> bool:
        """Whether a number meets the condition."""
        operator, other = self.condition or ("", 0)
        return {"<": number < other, ">": number > other, "=": number == other, "<>": number != other}.get(operator) or (
            (operator == "<=" and number <= other) or (operator == ">=" and number >= other)
        )


def general(number: float) -> str:
    """A number without a format: the result of 0.1 + 0.2 is stored with all of its digits."""
    return f"{number:.15g}".upper().replace("INF", "∞")


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A format, for many numbers."""

    sections: tuple[_Section, ...]

    def shown(self, number: float, is_from_1904: bool = False) -> str:
        """A number as text, without spaces around it. ``is_from_1904``: dates are counted from that year."""
        at = self._section_for(number) if math.isfinite(number) else None
        if at is None:
            return general(number)
        section = self.sections[at]
        if section.has("date", "elapsed", "era"):
            return _close(_date(section, number, is_from_1904))
        is_negative = number < 0 and not self._has_own_sign(at)
        if not section.has("digit", "general"):
            text = "".join(_shown_literal(token, general(number)) for token in section.tokens)
        elif section.has("general"):
            text = "".join(
                general(abs(number)) if kind == "general" else text for kind, text in section.tokens if kind in ("general", *_SHOWN)
            )
        else:
            text = _number(section, abs(number))
        return _close(f"{'-' * is_negative}{text}")

    def shown_text(self, text: str) -> str:
        """A text in a cell of this format."""
        last = self.sections[-1]
        if len(self.sections) < 4 and not last.has("text"):
            return text
        return "".join(_shown_literal(token, text) for token in last.tokens).strip(" ")

    def _section_for(self, number: float) -> int | None:
        """The index of the section for a number; None if there is none."""
        sections = self.sections[:-1] if len(self.sections) > 1 and self.sections[-1].has("text") else self.sections[:3]
        if any(section.condition for section in sections):
            for index, section in enumerate(sections):
                if section.condition is None and index < len(sections) - 1 and len(sections) == 3:
                    # Beside a section with a condition, one without is for negative numbers.
                    if number < 0:
                        return index
                elif section.condition is None or section.fits(number):
                    return index
            return None
        # In this order: for positive numbers, for negative ones, for zero. What is missing is shown by the first.
        if len(sections) == 1 or number > 0 or (number == 0 and len(sections) == 2):
            return 0
        return 1 if number < 0 else 2

    def _has_own_sign(self, at: int) -> bool:
        """Whether a section is for negative numbers, so that it shows the sign itself."""
        condition = self.sections[at].condition
        if condition is not None:
            operator, other = condition
            return (operator in ("<", "=") and other <= 0) or (operator == "<=" and other < 0)
        return at == 1


@lru_cache(2000)
def parsed(code: str) -> NumberFormat:
    """The format of a code such as ``#,##0.00 "€";[Red]-0``."""
    sections: list[list[Token]] = [[]]
    conditions: dict[int, tuple[str, float]] = {}
    for match in _TOKEN.finditer(code[:MAX_FORMAT_CHARS]):
        kind, text = match.lastgroup or "", match[0]
        if kind == "sign" and text == ";":
            sections.append([])
        elif kind == "bracket":
            if found := _CONDITION.fullmatch(text):
                conditions[len(sections) - 1] = found[1], float(found[2])
            else:
                sections[-1] += _bracket(text)
        elif kind == "sign" and text == "@":
            sections[-1].append(("text", text))
        elif kind == "literal":
            sections[-1].append(("literal", _literal(text)))
        else:
            sections[-1].append(("literal" if kind == "other" else kind, text if kind == "other" else text.lower()))
    return NumberFormat(tuple(_Section(tuple(_minutes(tokens)), conditions.get(at)) for at, tokens in enumerate(sections[:4])))


def _close(text: str) -> str:
    """A text without the spaces that only align it."""
    return " ".join(text.split())


def _literal(text: str) -> str:
    if text[0] == '"':
        return text[1:].removesuffix('"')
    return text[1:] if text[0] == "\\" else " " if text[0] == "_" else ""


def _bracket(text: str) -> Iterator[Token]:
    """What is in brackets: a duration, or a currency. Colours and languages show nothing."""
    inner = text[1:-1].lower()
    if inner and inner[0] in "hms" and not inner.strip(inner[0]):
        yield "elapsed", inner
    elif inner.startswith("$"):
        yield "literal", text[2:-1].partition("-")[0]


def _minutes(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens, with the minutes named: they are written like months, after hours or before seconds."""
    codes = [at for at, (kind, _) in enumerate(tokens) if kind in ("date", "elapsed")]
    if not codes:
        yield from tokens
        return
    for at, (kind, text) in enumerate(tokens):
        if kind == "date" and text[0] == "m" and len(text) < 3:
            before = next((tokens[each][1][0] for each in reversed(codes) if each < at), "")
            after = next((tokens[each][1][0] for each in codes if each > at), "")
            yield ("minutes" if before == "h" or after == "s" else kind), text
        else:
            yield kind, text


_SHOWN = ("literal", "sign")


def _shown_literal(token: Token, text: str) -> str:
    return text if token[0] == "text" else token[1] if token[0] in _SHOWN else ""


def _number(section: _Section, number: float) -> str:
    tokens = [("literal", text) if kind in ("date", "clock", "general") else (kind, text) for kind, text in section.tokens]
    signs = [text if kind == "sign" else kind for kind, text in tokens]
    value = _EXACT.create_decimal(repr(number)).scaleb(2 * signs.count("%"))
    if "exponent" in signs:
        return _scientific(tokens, value)
    if "/" in signs and (found := _fraction(tokens, value, signs.index("/"))):
        return found
    return _decimal(tokens, value)


def _decimal(tokens: Sequence[Token], value: Decimal) -> str:
    """A number in digits, with literals between them where the format has some."""
    point = next((at for at, token in enumerate(tokens) if token == ("sign", ".")), len(tokens))
    whole, rest = tokens[:point], tokens[point:]
    digits = [at for at, (kind, _) in enumerate(whole) if kind == "digit"]
    last = digits[-1] if digits else -1
    is_grouped = any(token == ("sign", ",") for token in whole[digits[0] if digits else 0 : last])
    scale = sum(token == ("sign", ",") for token in chain(whole[last + 1 :], rest if digits or rest else ()))
    places = [text for kind, text in rest if kind == "digit"]
    rounded = value.scaleb(-3 * scale).quantize(Decimal(1).scaleb(-len(places)), context=_WIDE)
    integer, _, decimals = f"{rounded:f}".partition(".")
    return _whole(whole, integer.lstrip("0"), is_grouped) + _decimals(rest, places, decimals)


def _whole(tokens: Sequence[Token], digits: str, is_grouped: bool) -> str:
    """The digits before the point, from the last one on; the first placeholder has all that are left."""
    shown: list[str] = []
    digits_left = sum(kind == "digit" for kind, _ in tokens)
    count = 0
    for kind, text in reversed(tokens):
        if kind == "digit":
            digits_left -= 1
            take = 1 if digits_left else max(len(digits), 1)
            for _ in range(take):
                digit, digits = (digits[-1], digits[:-1]) if digits else ({"0": "0", "?": " "}.get(text, ""), "")
                shown.append("," * (is_grouped and count > 0 and count % 3 == 0 and digit.isdigit()))
                shown.append(digit)
                count += digit.isdigit()
        elif kind in _SHOWN and text != ",":
            shown.append(text[::-1])
    return "".join(shown)[::-1] if not digits_left else ""


def _decimals(tokens: Sequence[Token], places: Sequence[str], decimals: str) -> str:
    kept = len(decimals.rstrip("0"))
    shown, at = "", 0
    for kind, text in tokens:
        if kind == "digit":
            shown += decimals[at] if places[at] == "0" or at < kept else " " if places[at] == "?" else ""
            at += 1
        elif kind in _SHOWN and text != ",":
            shown += text
    return shown


def _scientific(tokens: Sequence[Token], value: Decimal) -> str:
    """A number with an exponent, which is a multiple of the number of digits before the point."""
    at = next(at for at, (kind, _) in enumerate(tokens) if kind == "exponent")
    mantissa = tokens[:at]
    exponents = [each for each in range(at + 1, len(tokens)) if tokens[each][0] == "digit"]
    end = exponents[-1] + 1 if exponents else at + 1
    point = next((each for each, token in enumerate(mantissa) if token == ("sign", ".")), len(mantissa))
    step = max(sum(kind == "digit" for kind, _ in mantissa[:point]), 1)
    places = Decimal(1).scaleb(-sum(kind == "digit" for kind, _ in mantissa[point:]))
    exponent = value.adjusted() // step * step if value else 0
    if value and value.scaleb(-exponent).quantize(places, context=_WIDE) >= Decimal(10) ** step:
        exponent += step
    sign = "-" if exponent < 0 else "+" * (tokens[at][1][-1] == "+")
    written = str(abs(exponent)).zfill(len(exponents))
    return f"{_decimal(mantissa, value.scaleb(-exponent))}E{sign}{written}{''.join(text for kind, text in tokens[end:] if kind in _SHOWN)}"


def _fraction(tokens: Sequence[Token], value: Decimal, slash: int) -> str:
    """A number as a fraction: with a whole number before it if the format has a gap there; empty if the format is no fraction."""
    start = slash
    while start and tokens[start - 1][0] == "digit":
        start -= 1
    below = slash + 1
    while below < len(tokens) and (tokens[below][0] == "digit" or tokens[below][1].isdigit()):
        below += 1
    written = "".join(text for _, text in tokens[slash + 1 : below])
    if start == slash or not written:
        return ""
    has_whole = any(kind == "digit" for kind, _ in tokens[:start])
    whole = int(value) if has_whole else 0
    fixed = int(written) if written.strip("#?0") and written.isdigit() else 0
    above, under = (round((value - whole) * fixed), fixed) if fixed else _nearest(value - whole, 10 ** min(len(written), 6) - 1)
    if has_whole and above == under:
        whole, above = whole + 1, 0
    before = _decimal(tokens[:start], Decimal(whole)) if has_whole and (whole or not above or tokens[0][1] == "0") else ""
    part = f"{above}/{under}" if above or not has_whole else ""
    after = "".join(text for kind, text in tokens[below:] if kind in _SHOWN)
    return f"{before.rstrip() or '0' * (not part)} {part}{after}" if has_whole else part + after


def _nearest(value: Decimal, most: int) -> tuple[int, int]:
    """The nearest fraction whose lower number is at most ``most``."""
    found = Fraction(value).limit_denominator(most)
    return found.numerator, found.denominator


def _date(section: _Section, number: float, is_from_1904: bool) -> str:
    """A date or time. A number that is no date is shown without a format."""
    is_duration = section.has("elapsed")
    if not (abs(number) < (_DAYS_FROM_1904 if is_from_1904 else _DAYS) and (number >= 0 or is_duration)):
        return general(number)
    point = next((at for at in range(len(section.tokens)) if section.tokens[at : at + 2] == (("sign", "."), ("digit", "0"))), None)
    places = sum(kind == "digit" for kind, _ in section.tokens[point:]) if point is not None else 0
    unit = 10 ** (3 - min(places, 3))
    has_era = any(kind == "era" and "g" in text for kind, text in section.tokens)
    moment = _Moment(int(abs(number) * _DAY_MS / unit + 0.5 + 1e-6) * unit, is_from_1904, section.has("clock"), has_era)
    if _is_in_digits(section):
        return moment.iso_date + _clock(section, moment)
    return "-" * (number < 0) + "".join(moment.shown(kind, text) for kind, text in section.tokens)


def _is_in_digits(section: _Section) -> bool:
    """Whether a format shows year, month and day, all of them in digits."""
    dates = [text for kind, text in section.tokens if kind in ("date", "era")]
    codes = {text[0] for text in dates}
    has_names = any(text[0] == "m" and len(text) > 2 for text in dates)
    has_words = any(kind == "literal" and not text.isascii() for kind, text in section.tokens)
    return {"m", "d"} <= codes and bool(codes & {"y", "e", "b"}) and not has_names and not has_words


def _clock(section: _Section, moment: _Moment) -> str:
    """The time after a date, as far as the format shows it."""
    codes = {text[0] for kind, text in section.tokens if kind == "date"}
    if "h" not in codes:
        return ""
    return f" {moment.hour:02}:{moment.minute:02}" + (f":{moment.second:02}" if "s" in codes else "")


_ERAS = (
    ((2019, 5, 1), 2019, "R令和"),
    ((1989, 1, 8), 1989, "H平成"),
    ((1926, 12, 25), 1926, "S昭和"),
    ((1912, 7, 30), 1912, "T大正"),
    ((1868, 1, 25), 1868, "M明治"),
)
"""The Japanese eras: first day, first year, letter and name."""


class _Moment:
    """A day and a time of day, and what the codes of a format show of them. ``milliseconds``: since the first day of the calendar."""

    def __init__(self, milliseconds: int, is_from_1904: bool, has_halves: bool, has_era: bool = False) -> None:
        days, in_day = divmod(milliseconds, _DAY_MS)
        self._year, self._month, self._day, self._weekday = _day(days, is_from_1904)
        self.hour, self.minute, self.second = in_day // 3_600_000, in_day // 60_000 % 60, in_day // 1000 % 60
        self._has_halves, self._has_era = has_halves, has_era
        self._elapsed = {"h": milliseconds // 3_600_000, "m": milliseconds // 60_000, "s": milliseconds // 1000}
        self._decimals = f"{in_day % 1000:03}"

    @property
    def iso_date(self) -> str:
        return f"{self._year:04}-{self._month:02}-{self._day:02}"

    def shown(self, kind: str, text: str) -> str:
        """What one code shows."""
        if kind in ("date", "minutes"):
            return self._part(text) if kind == "date" else str(self.minute).zfill(min(len(text), 2))
        if kind == "elapsed":
            return str(self._elapsed[text[0]]).zfill(len(text))
        if kind == "clock":
            before, after = {"a/p": ("A", "P"), "am/pm": ("AM", "PM")}.get(text, ("上午", "下午"))
            return after if self.hour >= 12 else before
        if kind == "digit":
            digit, self._decimals = self._decimals[:1], self._decimals[1:]
            return digit
        if kind == "era":
            return self._of_era(text)
        return text if kind in _SHOWN else ""

    def _of_era(self, text: str) -> str:
        """The name of a Japanese era and the year in it (Reiwa 8); without its name, the year as it is."""
        names, year = text.count("g"), text.count("e")
        today = (self._year, self._month, self._day)
        era = next(((name, first) for start, first, name in _ERAS if today >= start), None) if self._has_era else None
        if era is None:
            return str(self._year) * (year > 0)
        shown = (era[0][0] if names == 1 else era[0][1] if names == 2 else era[0][1:]) if names else ""
        return shown + (str(self._year - era[1] + 1).zfill(min(year, 2)) if year else "")

    def _part(self, text: str) -> str:
        """A part of the date, or hours or seconds."""
        first, length = text[0], len(text)
        if first == "b":
            # The Buddhist year.
            return f"{(self._year + 543) % 100:02}" if length < 3 else f"{self._year + 543:04}"
        if first == "y":
            return f"{self._year % 100:02}" if length < 3 else f"{self._year:04}"
        if first in "hs":
            hour = (self.hour - 1) % 12 + 1 if self._has_halves else self.hour
            return str(hour if first == "h" else self.second).zfill(min(length, 2))
        if first == "m":
            name = _MONTHS[self._month - 1]
            return str(self._month).zfill(length) if length < 3 else {3: name[:3], 5: name[:1]}.get(length, name)
        name = _WEEKDAYS[self._weekday]
        return str(self._day).zfill(length) if first == "d" and length < 3 else name[:3] if length == 3 else name


def _day(days: int, is_from_1904: bool) -> tuple[int, int, int, int]:
    """Year, month, day and weekday. Workbooks count from 1904, or from 1900 with a leap day that never was."""
    if is_from_1904:
        found = date(1904, 1, 1) + timedelta(days=days)
    elif days in (0, _LEAP_DAY_OF_1900):
        return (1900, 1, 0, 5) if days == 0 else (1900, 2, 29, 2)
    else:
        found = date(1899, 12, 31) + timedelta(days=days - (days > _LEAP_DAY_OF_1900))
    return found.year, found.month, found.day, found.weekday()
