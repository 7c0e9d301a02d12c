"""Numbers of lists in the scripts that documents use."""

import pytest

from chatui.documents.inside.counting import beginning, counted

CASES = {
    "decimalZero": {1: "01", 10: "10"},
    "lowerLetter": {1: "a", 26: "z", 27: "aa", 53: "aaa"},
    "upperRoman": {4: "IV", 1999: "MCMXCIX", 5000: "5000"},
    "ganada": {3: "다", 14: "하"},
    "chosung": {2: "ㄴ"},
    "koreanCounting": {1: "일", 10: "십", 21: "이십일"},
    "chineseCountingThousand": {2: "二", 10: "十", 11: "十一", 20: "二十", 101: "一百零一", 110: "一百一十", 1001: "一千零一"},
    "japaneseCounting": {10: "十", 110: "百十", 1001: "千一"},
    "ideographDigital": {10: "一〇"},
    "ideographTraditional": {10: "癸"},
    "decimalEnclosedCircle": {20: "⑳", 21: "㉑", 51: "51"},
    "ordinal": {1: "1st", 12: "12th", 22: "22nd", 113: "113th"},
    "ordinalText": {1: "First", 12: "Twelfth", 21: "Twenty-first", 30: "Thirtieth", 100: "100"},
    "cardinalText": {42: "Forty-two"},
    "hebrew1": {9: "ט", 15: "טו", 16: "טז", 21: "כא"},
    "russianLower": {10: "к"},
    "hex": {255: "FF"},
    "of a later version": {7: "7"},
}


@pytest.mark.parametrize("how", CASES)
def test_a_number_is_written_as_a_list_shows_it(how: str) -> None:
    assert {number: counted(number, how) for number in CASES[how]} == CASES[how]
    assert counted(0, how) == "0"
    assert len(counted(10**9, how)) < 20


SAMPLES = {
    "1": "3",
    "i": "iii",
    "A": "C",
    "01, 02, 03, ...": "03",
    "☞": "3",
    "①, ②, ③, ...": "③",
    "일, 이, 삼, ...": "삼",
    "א, י, ק, ...": "ג",
}


@pytest.mark.parametrize(("sample", "third"), SAMPLES.items())
def test_a_format_is_known_by_its_beginning(sample: str, third: str) -> None:
    assert counted(3, beginning(sample)) == third


def test_no_format_shows_no_number() -> None:
    assert beginning("") == ""
