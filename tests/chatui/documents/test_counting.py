"""Numbers of lists in the scripts that documents use: one text document with a list for each."""

from html import escape

from chatui.documents.reading import read
from tests.chatui.documents import samples
from tests.chatui.documents.open_traps import listed, p
from tests.chatui.documents.word_traps import item, level, word

CASES = {
    "decimalZero": {1: "01", 10: "10"},
    "lowerLetter": {1: "a", 26: "z", 27: "aa", 53: "aaa", 9999: "o" * 9},
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


async def lines_of(name: str, data: bytes) -> list[str]:
    [part] = (await read(name, data)).parts
    return part.text.split("\n")


async def beginning_with(*numbers: tuple[str, int]) -> list[str]:
    """The lines of a document with a list for each of these formats and numbers."""
    levels = [level(0, how, "%1.").replace('<w:start w:val="1"/>', f'<w:start w:val="{number}"/>') for how, number in numbers]
    definitions = "".join(f'<w:abstractNum w:abstractNumId="{at}">{each}</w:abstractNum>' for at, each in enumerate(levels, 1))
    lists = "".join(f'<w:num w:numId="{at}"><w:abstractNumId w:val="{at}"/></w:num>' for at in range(1, len(levels) + 1))
    numbering = f'<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">{definitions}{lists}</w:numbering>'
    data = word("".join(item("x", of=at) for at in range(1, len(levels) + 1)), {"numbering": numbering})
    return await lines_of("a.docx", data)


async def test_a_number_is_written_as_a_list_shows_it() -> None:
    shown = {(how, number): text for how, numbers in CASES.items() for number, text in {0: "0", **numbers}.items()}
    assert await beginning_with(*shown) == [f"{text}. x" for text in shown.values()]


async def test_no_number_is_longer_than_a_word() -> None:
    """In whatever it counts, and however large a document says that it is."""
    for number in (99_999, 99_999_999, 10**9):
        assert max(map(len, await beginning_with(*((how, number) for how in CASES)))) < 20 + len(". x")


SAMPLES = {
    "1": "3",
    "i": "iii",
    "A": "C",
    "01, 02, 03, ...": "03",
    "☞": "3",
    "①, ②, ③, ...": "③",
    "일, 이, 삼, ...": "삼",
    "א, י, ק, ...": "ג",
    "": "",
}


async def test_a_format_is_known_by_its_beginning() -> None:
    styles = "".join(
        f'<text:list-style style:name="L{at}"><text:list-level-style-number text:level="1" style:num-format="{escape(sample)}" '
        'style:num-suffix="."/></text:list-style>'
        for at, sample in enumerate(SAMPLES)
    )
    lists = "".join(listed(f"L{at}", p("x"), p("x"), p("x")) for at in range(len(SAMPLES)))
    found = await lines_of("a.odt", samples.odt(lists, styles=styles))
    assert found[2::3] == [f"{third}. x" if third else "x" for third in SAMPLES.values()]
