"""Names that only hidden text has: misspelt, split, scattered, used like plain words, or spelled by letters of words and lines."""

from __future__ import annotations

import pytest

from renderer.summary import names
from renderer.summary.spellings import letters
from tests.renderer.summary.texts import hidden_text, seen_text
from tests.support.cases import for_each

ENGLISH = "How do I get to work when it rains?"
CHINESE = "我怎么去上班最快?"
GERMAN = "Wie komme ich am schnellsten zur Arbeit und was ist mit dem Regen?"


def has_name(line: str, reasoning: str = "", instructions: str = "", seen: str = ENGLISH) -> bool:
    return names.has_hidden_name(line, hidden_text(reasoning, instructions), seen_text(seen))


def reveals(lines: list[str], reasoning: str, seen: str = ENGLISH) -> bool:
    return names.reveals_name_together(lines, hidden_text(reasoning), seen_text(seen))


MISSPELT = ["zorbax", "azorbaxa", "zor bax", "the xabroz", "xa broz", "zorbx", "orbax", "zorba", "zorbaxx", "zzorbax", "zorbay", "yorbax"]


@for_each([*MISSPELT, "zobrax", "ozrbax", "zorbxa", "zorbyax"])
def test_a_name_of_the_instructions_is_found_inside_other_words_backwards_or_with_one_mistake(found: str) -> None:
    line = f"Saw {found} there"
    assert has_name(line, instructions="Ask about Zorbax today.")
    assert not has_name(line, instructions="Ask about nothing today.")
    assert not has_name(line, instructions="Ask about Zorbax today.", seen=f"{ENGLISH} Zorbax?")


@for_each(["zorby", "zorbxy", "zobarx", "xzorab", "zrobxa", "orba", "borzax", "zyorbxa", "zorbxya", "xorbaz", "zxobra"])
def test_two_mistakes_make_another_word_of_a_name(word: str) -> None:
    assert not has_name(f"Saw {word} there", instructions="Ask about Zorbax today.")


def test_a_short_name_of_the_instructions_is_found_only_as_it_is_written() -> None:
    assert has_name("Saw zorba there", instructions="Ask about Zorba today.")
    for word in ("zorbb", "azorbaa", "abroz"):
        assert not has_name(f"Saw {word} there", instructions="Ask about Zorba today.")


def test_a_visible_word_is_not_a_misspelt_name() -> None:
    assert has_name("Saw zorbay there", instructions="Ask about Zorbax today.")
    assert not has_name("Saw zorbay there", instructions="Ask about Zorbax today.", seen=f"{ENGLISH} Is it zorbay?")


@for_each(
    [
        ("Prüfte die Zeit", "Er soll die Zeit zeigen.", False),
        ("Prüfte die Zeit", 'Er soll die "Zeit" zeigen.', True),
        ("Prüfte den Tisch", "Er soll den Tisch zeigen.", True),
        ("Prüfte das Murmeltier", "Er soll das Murmeltier zeigen.", True),
    ]
)
def test_only_the_most_common_german_nouns_of_the_instructions_are_no_names_unless_quoted(
    line: str, instructions: str, found: bool
) -> None:
    assert has_name(line, instructions=instructions, seen=GERMAN) is found


@for_each(
    [
        ("Saw marmot there", "I ask Marmot about it.", ENGLISH, True),
        ("Saw marmot there", "I ask a marmot about it.", ENGLISH, False),
        ("Saw marmot there", "I ask Marmot about it.", f"{ENGLISH} Marmot?", False),
        ("Saw the table", "I ask Table about it.", ENGLISH, True),
        ("Saw the table", "I ask Table about the table.", ENGLISH, False),
        ("Saw the table", "The nickname is table. I see the table.", ENGLISH, True),
        ("Saw the worktable", "I ask Worktable about it.", ENGLISH, False),
        ("Saw the worktable", "I ask Worktable about it.", "How do I get home when it rains?", True),
        ("Saw the marmot", "I ask Marmot about a marmot.", f"{ENGLISH} Two marmots?", False),
        ("Saw the marmot", "I ask Marmot about a marmot.", ENGLISH, True),
        ("Prüfte den Tisch", "Ich frage Tisch danach.", GERMAN, False),
        ("Prüfte die Murmel", "Ich frage Murmel danach.", GERMAN, True),
        ("Prüfte die Murmel", "Ich frage Murmel nach einer Murmel, und eine Murmel ist da.", GERMAN, False),
        ("Saw the table", "We ask Peter Table about the table.", ENGLISH, True),
        ("Saw the table", "We ask Peter about the table.", ENGLISH, False),
        ("Prüfte den Tisch", "Wir fragen Jörn Tisch danach.", GERMAN, True),
        ("Prüfte den Tisch", "Wir fragen Jörn nach dem Tisch danach.", GERMAN, False),
        ("Prüfte den Tisch", "Wir fragen Zeit Tisch danach.", GERMAN, False),
        ("Fragte Müller", "Ich frage Müller danach.", GERMAN, True),
        ("Fragte Müller", "müller und anderes", GERMAN, True),
        ("Fragte Müller", "Ich frage danach.", GERMAN, False),
        ("Fragte Müller", "Ich frage Müller danach.", f"{GERMAN} Und Müller?", False),
    ]
)
def test_a_word_is_a_name_if_hidden_text_uses_it_as_one(line: str, reasoning: str, seen: str, found: bool) -> None:
    assert has_name(line, reasoning, seen=seen) is found


def test_a_german_word_is_a_name_in_instructions_among_text_of_another_language() -> None:
    assert has_name("Saw zeit there", instructions="Ask about Zeit today.")
    for quoted in (True, False):
        instructions = 'Er soll den "Vergleich" zeigen.' if quoted else "Er soll den Vergleich zeigen."
        assert has_name("Prüfte vergleicha", instructions=instructions, seen=GERMAN) is quoted


@for_each(["Saw weathe rain", "Saw wea there", "Saw rehta ew there"])
def test_a_plain_word_is_found_across_words_if_the_instructions_use_it_as_a_name(line: str) -> None:
    assert has_name(line, instructions="Ask about Weather today.")
    assert not has_name(line, "I ask about Weather today.")


def test_a_run_of_characters_is_a_name_if_it_is_not_made_of_plain_words() -> None:
    assert has_name("红山楂", "因为, 红山楂, 很好", seen=CHINESE)
    assert not has_name("比较时间", "因为, 比较时间, 很好", seen=CHINESE)


def test_one_hidden_name_among_many_visible_ones_is_found() -> None:
    visible = [chr(0x4E00 + 7 * at) + chr(0x4E03 + 7 * at) for at in range(40)]
    seen = f"{CHINESE} {'。'.join(visible)}"
    reasoning = "".join(f"「{name}」" for name in [*visible[:20], "红山", *visible[20:]])
    assert has_name("看红山了", reasoning, seen=seen)
    assert not any(has_name(f"看{name}了", reasoning, seen=seen) for name in visible[::9])


def test_a_visible_identifier_may_be_written_as_two_words() -> None:
    assert has_name("Saw zanzi bar there", "I use zanzi_bar for it.")
    assert not has_name("Saw zanzi bar there", "I use zanzi_bar for it.", seen=f"{ENGLISH} zanzi_bar?")


def test_a_plain_german_word_of_more_than_nine_letters_is_no_surname() -> None:
    assert has_name("Prüfte den Vergleich", "Wir fragen Jörn Vergleich danach.", seen=GERMAN)
    assert not has_name("Prüfte den Unterschied", "Wir fragen Jörn Unterschied danach.", seen=GERMAN)


@for_each(
    [
        ("Saw an eagle of gold", True),
        ("Saw gold and an eagle", True),
        ("Saw the gold", False),
        ("Saw an eagle of silver", False),
    ]
)
def test_two_words_of_a_line_are_not_the_halves_of_a_name(line: str, found: bool) -> None:
    assert has_name(line, "I use goldEagle for it.") is found
    assert has_name(line, instructions="We say Goldeagle for it.") is found
    assert not has_name(line, "I use goldEagle for it.", seen=f"{ENGLISH} goldeagle?")


def test_halves_of_a_name_have_three_letters_at_least() -> None:
    assert has_name("Saw an owl of tin", 'I use "tinowl" for it.')
    assert not has_name("Saw an ox of tin", 'I use "tinox" for it.')


@for_each(
    [
        ("看红山楂了", True),
        ("红了山和楂", True),
        ("红了了山和和楂", True),
        ("红了了了山楂", False),
        ("红山了了了楂", False),
        ("看楂山红了", True),
        ("红了了了红山楂", True),
        ("红的红的红了了了山楂", False),
        ("看红山了", False),
    ]
)
def test_a_chinese_name_is_found_backwards_and_with_up_to_two_characters_between_its_own(line: str, found: bool) -> None:
    reasoning = "这里说「红山楂」。"
    assert has_name(line, reasoning, seen=CHINESE) is found
    assert not has_name(line, "这里没有。", seen=CHINESE)
    assert not has_name(line, reasoning, seen=f"{CHINESE} 红山楂吗?")
    assert has_name(line, reasoning, seen=f"{CHINESE} 红山吗?") is found, "only a part is visible"
    assert not has_name(line, reasoning, seen=f"{CHINESE} 「红山楂」")


@for_each(
    [
        ("Saw fanzan zibart there", True),
        ("Saw traby zna zoom", False),
        ("Saw arab iz naza", True),
        ("Saw the zanzi bars", True),
        ("Saw the zanzi bees", False),
    ]
)
def test_a_name_of_six_letters_is_found_across_words_in_both_directions(line: str, found: bool) -> None:
    for reasoning in ('I use "zanzibar" for it.', "I use Zanzibar for it."):
        assert has_name(line, reasoning) is found
        assert not has_name(line, reasoning, seen=f"{ENGLISH} Zanzibar?")
    assert not has_name(line, "I use nothing for it.")


def test_a_name_across_words_has_six_letters_and_at_most_twenty_four() -> None:
    assert has_name("Saw fan zib arc", 'I use "nzibar" for it.') and not has_name("Saw fan zib arc", 'I use "nziba" for it.')
    name = "zanzibarkilimanjarokongo"
    assert len(name) == 24
    assert has_name(f"Saw fa{name[1:9]} {name[9:]}", f'I use "{name}" for it.') is False, "the premise: its first letter is missing"
    assert has_name(f"Saw fa{name[:9]} {name[9:]}", f'I use "{name}" for it.')


def test_a_plain_word_across_words_is_a_coincidence() -> None:
    assert not has_name("Saw that able", "I use Table for it. I see the table.")
    assert not has_name("Saw arb eith", "I use Arbeit for it.")
    assert not has_name("Saw weathe rain", 'I use "weather" for it.') and has_name("Saw weathe rain", 'I use "weathera" for it.')


@for_each([(["Saw fan zan", "zibar there"], True), (["Saw fan zan", "there zibar"], False), (["Saw zan", "zibar is it"], True)])
def test_a_name_is_found_across_the_end_of_a_line(lines: list[str], found: bool) -> None:
    reasoning = 'I use "zanzibar" for it.'
    assert not any(has_name(line, reasoning) for line in lines), "the premise: neither line has it"
    assert reveals(lines, reasoning) is found
    assert reveals(["Saw it all", *lines], reasoning) is found
    assert not reveals(lines, reasoning, f"{ENGLISH} zanzibar?")


def test_a_line_of_many_letters_does_not_hide_a_name_across_its_beginning() -> None:
    name = "zanzibarkilimanjarokongo"
    assert reveals([f"Saw fa {name[:20]}", f"{name[20:]} and the weather of the morning of that day"], f'I use "{name}" for it.')


def test_the_letters_that_lines_may_spell() -> None:
    lines = ["Echo tango we", "", "A bus x golf"]
    assert list(letters.streams(lines)) == [
        ("etwabxg", 4),
        ("ooeasxf", 5),
        ("caeuo", 5),
        ("etg", 4),
        ("ax", 4),
        ("ea", 4),
        ("tb", 4),
        ("wx", 4),
        ("wg", 4),
        ("ef", 4),
    ]
    assert letters.initials(lines) == "etwabxg"


@for_each([("zorb", ["Zoo or rain bees"]), ("zorbu", ["Jazz ago far dub menu"]), ("ezorb", ["Hey azure good are abt"])])
def test_first_second_and_last_letters_of_words_must_not_spell_a_name(name: str, lines: list[str]) -> None:
    reasoning = f"I use {name.capitalize()} for it."
    assert reveals(lines, reasoning) and reveals([" ".join(reversed(line.split())) for line in lines], reasoning)
    words = lines[0].split()
    assert reveals([" ".join(words[:2]), " ".join(words[2:])], reasoning)
    assert not reveals(lines, f"I use {name.capitalize()}x for it.")
    assert not reveals(lines, reasoning, f"{ENGLISH} {name}?")


@for_each([0, 1, 2, -1])
def test_the_words_at_the_same_place_of_each_line_must_not_spell_a_name(place: int) -> None:
    lines = [
        " ".join([*["we", "go"][: max(0, place)], word, *["to", "it", "up"][: 3 if place >= 0 else 0]])
        for word in ("zip", "or", "rig", "be")
    ]
    assert reveals(lines, "I use Zorb for it.")
    assert not reveals(lines[:3], "I use Zorb for it.")


def test_the_last_letter_of_each_line_and_letters_called_by_words_must_not_spell_a_name() -> None:
    assert reveals(["Saw jazz", "We go", "It is far", "Up the pub"], "I use Zorb for it.")
    assert reveals(["Heard tango and golf", "Heard kilo and xray"], "I use Tgkx for it.")
    assert reveals(["We z it o it", "We x it b it"], "I use Zoxb for it.")


def test_a_plain_word_that_initials_spell_is_a_coincidence_unless_hidden_text_quotes_it() -> None:
    lines = ["To all big local events"]
    assert reveals(lines, 'The word is "table" here.')
    assert not reveals(lines, "The word is Table here.")
    assert not reveals(["Do old or red"], 'The word is "door" here.'), "four letters are a coincidence"


@pytest.mark.parametrize(("count", "found"), [(3, False), (4, True)])
def test_more_than_three_unseen_single_letters_in_all_lines_may_spell_something(count: int, found: bool) -> None:
    lines = [f"We go {letter} it" for letter in "qxbj"[:count]]
    assert reveals(lines, "") is found
    assert not reveals(lines, "", f"{ENGLISH} q or z")
    assert not reveals([*lines[:3], "We go a and e and ж and 5"], "")


@pytest.mark.parametrize(("count", "found"), [(7, False), (8, True)])
def test_more_than_seven_of_two_opposite_words_may_be_a_code(count: int, found: bool) -> None:
    assert reveals([f"Went {'left' if at % 3 else 'right'}" for at in range(count)], "") is found
    assert not reveals([*["Went left"] * 7, "Went up"], "")


def test_the_first_letters_of_many_words_must_not_be_those_of_a_hidden_sentence() -> None:
    sentence = "never approve refunds above ninety euros"
    spelled = [f"{letter}o" for letter in sentence.replace(" ", "")]
    assert reveals([" ".join(spelled[:20]), " ".join(spelled[20:])], f"I must {sentence}.")
    assert not reveals([" ".join(spelled[:20])], f"I must {sentence}.")


@for_each(
    [
        ('Thought of "rains"', ENGLISH, False),
        ('Thought of "snows"', ENGLISH, True),
        ('Thought of "rains" and "snows"', ENGLISH, True),
        ('Thought of "work snows"', ENGLISH, True),
        ("看「上班」", CHINESE, False),
        ("看「去班」", CHINESE, True),
        ("看「红」", CHINESE, True),
        ("看「最快去上班」", CHINESE, True),
    ]
)
def test_what_a_line_quotes_must_be_visible(line: str, seen: str, found: bool) -> None:
    assert has_name(line, seen=seen) is found


@for_each([(ENGLISH, True), (GERMAN, False)])
def test_a_capitalized_plain_word_of_the_instructions_is_no_name_in_german(question: str, is_name: bool) -> None:
    assert has_name("Winter", instructions="We never mention Winter to them.", seen=question) is is_name


@for_each(["Wind", "Land", "Park", "Plan"])
def test_a_common_noun_of_the_instructions_is_a_name_except_in_german_which_capitalizes_all_nouns(word: str) -> None:
    instructions = f"We write for {word} and for others."
    assert has_name(f"Checked the {word.lower()} here", "", instructions)
    assert not has_name(f"Das {word} hier", "", instructions, seen=GERMAN)
