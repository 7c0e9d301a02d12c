"""How names, quotations and ordinary words are recognized in a text, and which words sound alike."""

from __future__ import annotations

from renderer.summary.spellings import introduced, pinyin, sounds, written
from tests.support.cases import for_each


@for_each(
    [
        ("We ask Marmot about it.", {"marmot"}),
        ("Marmot is here. Badger is there! Otter? Lynx; Vole: Mole\nStoat", set()),
        ("- Marmot is here\n* Badger\n# Otter\n> Lynx\n\u2022 Vole", set()),
        ("MARMOT is here", {"marmot"}),
        ("We ask marmot and Ox of The", set()),
        ("We ask Marmot's and Jean-Luc", {"marmots", "jean", "luc"}),
        ("x-Marmot", set()),
        ("We ask überall", set()),
        ("see a12, 12 and 1234", {"a12", "1234"}),
        ("看a12号和1234", {"a12", "1234"}),
        ("红山楂, 很好吗", {"很好吗"}),
    ]
)
def test_capitals_within_a_sentence_and_digits_make_a_name(text: str, names: set[str]) -> None:
    assert written.names(text) == names


@for_each(
    [
        ('Say "marmot" and \u201cbadger\u201d, \u00abotter\u00bb, `lynx`', {"marmot", "badger", "otter", "lynx"}),
        ('Say "one marmot two badgers"', {"marmot", "two", "badgers"}),
        ('Say "one marmot two more badgers"', set()),
        ("\u300c红山\u300d\u300e楂\u300f", {"红山", "楂"}),
        ("Ask Ms. Hollering, Dr Whit More or Herrn Zeit", {"hollering", "whit", "zeit"}),
        ("Use loadRow, load_row2 and a.b.cd", {"loadrow", "loadrow2", "abcd"}),
        ("A well-to-do red-hot-fox", {"redhotfox"}),
        ("It's the dogs' and cats'", set()),
        ("The nickname is zorb", {"zorb"}),
        ('Say "ab" and "the" there', set()),
    ]
)
def test_quotations_titles_and_identifiers_certainly_are_names(text: str, names: set[str]) -> None:
    assert written.certain_names(text) == names


def test_the_words_of_each_quotation() -> None:
    assert written.quoted_words('Say "Red fox" and 「红山」 there') == [["red", "fox"], ["红山"]]
    assert written.quoted('Say "Red fox" or "the ox" there') == {"red", "fox"}


def test_ordinary_words_are_those_in_lower_case_or_behind_an_article() -> None:
    assert written.lower_case("The Marmot saw größe, x-ray and McLeod 5th 看") == {"saw", "grosse", "x-ray", "and"}
    assert written.with_article("a marmot, the Badger, each otter, the ox and marmots") == {"marmot", "otter"}
    assert written.with_article("que a marmota, la marmota2 una gacela") == {"gacela"}
    assert written.german_nouns("eine Pfütze, keine kleinen Murmeln, die Wespe, Ohne Tisch") == {"pfutze", "murmeln", "tisch"}
    assert written.korean_descriptions("조용한 날, 빠르게") == {"조용"}


@for_each(
    [
        ("We ask Peter Fischer there", [("peter", "fischer")]),
        ("Peter Fischer is there", []),
        ("We ask Peter Paul Fischer", [("peter", "paul"), ("paul", "fischer")]),
        ("We ask Peter. Fischer is there", []),
        ("We say The Fischer", []),
        ("- Peter Fischer", []),
        ("We ask Peter fischer", []),
        ("We ask über Fischer", []),
        ("We ask ältere Fischer", []),
        ("We ask Peter Will", [("peter", "will")]),
        ("(Peter Fischer)", [("peter", "fischer")]),
        ("a Peter Fischer", [("peter", "fischer")]),
        *((f"{mark} Peter Fischer", []) for mark in ("*", "#", ">", "\u2022", "\t-")),
        ("We ask Fischer über", []),
        ("这里 红山 楂树", []),
    ]
)
def test_two_capitalized_words_side_by_side_may_be_a_person(text: str, pairs: list[tuple[str, str]]) -> None:
    assert written.side_by_side(text) == pairs


@for_each(
    [
        ("The password of the vault is very quiet fox", {"very", "quiet", "fox"}),
        ("The project is called zorb", {"zorb"}),
        ("We ask client Marmot and a client marmot", {"marmot"}),
        ("代号是红山", {"红山"}),
        ("암호는 뷁뚫이", {"뷁뚫이"}),
        ("客户叫红山楂", {"红山", "红山楂"}),
        ("客户叫的红山", set()),
        ("客户叫红山楂很好吗", {"红山", "红山楂", "红山楂很"}),
        ("请王明先生来", {"王明"}),
        ("请王先生来", set()),
        ("김철수 씨가", {"김철수", "철수"}),
        ("철수 씨가", {"철수"}),
        ("고객님은", set()),
        ("山田さんは", {"山田"}),
        ("お客さんは", set()),
    ]
)
def test_names_are_introduced_in_many_languages(text: str, names: set[str]) -> None:
    assert introduced.names(text) == names


@for_each(
    [
        ("Natalya", "наталья"),
        ("Nikos", "νικος"),
        ("Mathilda", "matilda"),
        ("Schmidt", "shmidt"),
        ("Наталья", "natalya"),
        ("Kaufmann", "кауфман"),
        ("محمد", "mohammed"),
        ("דוד", "david"),
        ("カメラ", "kamera"),
        ("가나다", "kanata"),
        ("Kanata", "가나다"),
        ("힣나", "hitna"),
        ("Kamera", "カメラ"),
        ("Marta", "mirto"),
        ("Bond", "band"),
        ("Ким", "kimm"),
    ]
)
def test_a_word_sounds_like_a_name_in_another_script_or_spelling(name: str, word: str) -> None:
    assert sounds.sounds_like_name(word, sounds.names(f"we ask {name} there"))
    assert not sounds.sounds_like_name("puddles", sounds.names(f"we ask {name} there"))


@for_each(
    [
        ("marmot", "marmit"),
        ("Ox", "ax"),
        ("Beau", "boa"),
        ("Bode", "pote"),
        ("Anna", "nn"),
        ("Ян", "an"),
        ("Tina", "tuna"),
        ("Table", "tbl"),
        ("Kim", "ким"),
        ("Ая", "aya"),
        ("наталья", "natalya"),
    ]
)
def test_words_in_lower_case_and_short_ones_do_not_sound_like_a_name(name: str, word: str) -> None:
    assert not sounds.sounds_like_name(word, sounds.names(f"we ask {name} there"))


def test_only_certain_chinese_characters_transcribe_names() -> None:
    assert sounds.may_transcribe_name("马丁") and sounds.may_transcribe_name("马丁尼")
    assert not sounds.may_transcribe_name("马") and not sounds.may_transcribe_name("马看")


@for_each(
    [
        ("李红", "lihong", True),
        ("李红", "hongli", False),
        ("李红", "liming", False),
        ("李红", "lihongli", False),
        ("李红李", "lihongli", True),
        ("李", "ling", True),
        ("李", "li", False),
        ("齉", "ling", True),
        ("红", "ling", False),
        ("李红", "lihongx", False),
        ("李齉", "libang", True),
        ("齉红", "libang", False),
        ("齉齉", "libang", True),
        ("", "lihong", False),
        ("ab", "lihong", False),
        ("啊座", "azuo", True),
    ]
)
def test_latin_letters_may_spell_a_chinese_name(text: str, word: str, may: bool) -> None:
    assert pinyin.may_spell_name(word, pinyin.firsts(text)) is may


def test_the_first_sounds_of_chinese_characters() -> None:
    assert pinyin.firsts("李红 abc 山") == {"l", "h", "lh", "s"}
    assert pinyin.firsts("啊座齉") == {"a", "z", "?", "az", "z?"}


def test_the_first_sign_of_each_letter_in_gb_2312_has_that_letter() -> None:
    signs = zip("啊芭擦搭蛾发噶哈击喀垃妈拿哦啪期然撒塌挖昔压匝", "abcdefghjklmnopqrstwxyz", strict=True)
    assert [(sign, letter) for sign, letter in signs if pinyin.firsts(sign) != {letter}] == []
