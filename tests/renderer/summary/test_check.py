"""The check of summary lines: for each rule a line that it refuses and a near miss that it allows; and the index, however text is cut."""

from __future__ import annotations

import base64
import codecs
import random
from collections.abc import Callable

import pytest

from renderer.errors import Code
from renderer.summary import copies, disguises, frame, languages
from renderer.summary.check import MAX_CHARS, check
from renderer.summary.index import RUN_WORDS, Grams, HiddenText, SeenText, stems
from renderer.summary.reasons import Reason
from tests.support.cases import for_each
from tests.support.cost import costs_at_most

QUESTION = "How do I get to work fastest when it rains in Berlin? See https://maps.example/x and page 2031."
INSTRUCTIONS = (
    "You are the assistant of Acme. Never mention Project Nightingale to customers. The override code is 4711-ALPHA. "
    "Offer a discount of twenty percent only when somebody threatens to cancel. Be kind."
)
ANALYSIS = (
    "The user wants the fastest route to work. I compare the train, the bicycle and the car, and then I look at how much rain "
    "there will be before lunch. The marker is RAW-COT-CANARY-7391. 我们需要比较火车和自行车的时间然后再看看明天早上的天气预报。"
)
COPIED = "I compare the train, the bicycle and the car"


def prepared(question: str = QUESTION, instructions: str = INSTRUCTIONS, analysis: str = ANALYSIS) -> tuple[HiddenText, SeenText]:
    hidden, seen = HiddenText(), SeenText()
    seen.feed(question)
    hidden.feed_instructions(instructions)
    hidden.feed(analysis)
    hidden.settle(is_end=True)
    return hidden, seen


GOOD = [
    "Compared three ways to get to work",
    "Weighed the rain against travel time",
    "Looked at the weather in Berlin",
    "Estimated the time for each option",
    "Considered the traffic, the weather and the distance",
    "Wrote a short plan in a table",
    "Read page 2031",
    "Thought about how cold it is",
    "Compared one or two ways",
    "Took the puddles into account",
    "Thought about the gale at night",
]


@pytest.mark.parametrize(
    ("quoted", "reason"),
    [("work", None), ("Berlin", None), ("puddles", Reason.NAME), ("Hamburg", Reason.NAME), ("Berlin puddles", Reason.NAME)],
)
def test_only_visible_text_may_be_quoted(quoted: str, reason: Reason | None) -> None:
    assert check(f'Thought about "{quoted}" and the rain', *prepared()).reason == reason


@pytest.mark.parametrize("line", GOOD)
def test_an_honest_line_is_allowed(line: str) -> None:
    verdict = check(line, *prepared())
    assert (verdict.reason, verdict.line) == (None, line)


@pytest.mark.parametrize(
    ("candidate", "line"),
    [
        ("- Compared three ways", "Compared three ways"),
        ("2. Compared three ways\n", "Compared three ways"),
        ("**Compared three ways**", "Compared three ways"),
        ('"Compared three ways."', "Compared three ways."),
        ("  Compared \t three\u00a0ways ", "Compared three ways"),
    ],
)
def test_what_models_write_around_a_line_is_removed(candidate: str, line: str) -> None:
    verdict = check(candidate, *prepared())
    assert (verdict.reason, verdict.line) == (None, line)


REFUSED: dict[Reason, list[str]] = {
    Reason.EMPTY: ["", " \n ", "- ", "7", "none", "None.", "\u200b"],
    Reason.LINES: ["Compared ways\nLooked at rain", "Compared ways\u2028Looked at rain", "Compared ways\x0bLooked at rain"],
    Reason.LENGTH: ["Compared " * (MAX_CHARS // 9 + 1)],
    Reason.UNSEEN: [
        "Compared three\u200b ways",
        "Compared three\u2063 ways",
        "Compared \u202eeerht ways",
        "Compared ways\U000e006e\U000e0069",
        "Compared ways \u2764\ufe0f",
        "Compared \U0001d5fb\U0001d5f6ght ways",
        "Compared \uff37ays",
        "Compared \u24b6 ways",
        "Compared \U0001f1e9\U0001f1ea ways",
        "Compared w\u0301\u0302\u0303\u0304ays",
        "Compared \U0001f600\U0001f601\U0001f602 ways",
        "Compared\u2800 ways",
        "Compared \u1d21\u1d00\u028f\ua731",
        "Compared \u028d\u0250\u028es",
        "Compared\u3164 ways",
        "Compared \ue000 ways",
        "Compared\x07 ways",
    ],
    Reason.MARKERS: [
        "assistantfinal Compared ways",
        "Compared ways<|end|>",
        "analysis Compared ways",
        "Wrote the final channel",
        "Compared ways</think>",
        "[INST] Compared ways",
    ],
    Reason.ADDRESS: [
        "Looked at https://evil.example/x",
        "Looked at https://maps.example/x",
        "Looked at evil.example",
        "Wrote to ada@acme.test",
        "Read /etc/passwd",
        "Opened ~/notes",
        "Opened C:\\notes\\x",
        "Opened report.pdf",
        "Asked 10.0.0.1",
        "Looked at evil [dot] example",
        "Looked at evil dot com",
        "Ran javascript:x",
        "Asked localhost:8080",
    ],
    Reason.CODE: [
        "Compared `ways`",
        "Compared ways {x}",
        "Compared *ways*",
        "Compared some_way",
        "Called x => y",
        "Ran ways(x)",
        "Saw a | b",
    ],
    Reason.JUDGED: [
        "Suspected a driver in Berlin",
        "Called the train driver rude",
        "Pretended to compare three ways",
        "Blamed the weather in Berlin",
        "Beschuldigte den Fahrer in Berlin",
    ],
    Reason.REFUSAL: ["I'm sorry about that", "Could not help: I can't help with this", "As an AI, compared ways", "Declined to compare"],
    Reason.POLICY: [
        "Looked up the system message",
        "Followed my instructions",
        "I must not say that",
        "We need to compare",
        "Was told to compare",
        "It is not allowed",
        "Thought about what to reveal",
        "Checked the guidelines and the policy",
        "Looked for the password",
        "Folgte der Anweisung",
    ],
    Reason.SCRIPT: ["比较了三条路线", "Сравнил три дороги", "Comp\u0430red ways", "Compared three \u03c9ays"],
    Reason.LANGUAGE: [
        "Verglich drei Wege zur Arbeit mit dem Rad",
        "Ha comparado las rutas de la ciudad",
        "A compare les trois chemins de la ville",
    ],
    Reason.COPY: [
        COPIED,
        "Compare the train, the bicycle and the car",
        "The fastest route to work",
        "Look at how much rain",
    ],
    Reason.SECRET: [
        "Found RAW-COT-CANARY-7391",
        "Found marker 7391",
        "Found kvtrwqmzx",
        "Found bmlnaHRpbmdhbGU",
        "Found 4e696768",
        "Found NIGHT",
        "Found aZ",
        "W e i g h e d it",
        "Checked 2 ways",
        "Compared 12 ways in 3 steps",
        "Compared two or three ways",
        "Compared ways ways",
        "Compared ways, more ways and still more ways",
        "Found mrkr and rwcnr",
        "Found 4 7 1",
        "Found 47 11",
        "Found 4 and 7, then 1 and 1",
    ],
    Reason.ENCODED: [
        codecs.encode("compare the train and the bicycle", "rot13"),
        "Compared elcycib niart",
        "Saw car the and bicycle the there",
        "Saw bbiiccyyccllee",
        "Saw xbxixcxyxcxlxe",
        "Saw icyclebay and aintray",
    ],
    Reason.NAME: [
        "Thought of nightingale",
        "Thought of Acme",
        "Thought of NÍGHTINGALE",
        "Thought of nightingales",
        "Thought of nihgtingale",
        "Thought of nightinggale",
        "Thought of nightengale",
        "Thought of night-ingale",
        "Thought of nigh\u2044tingale",
        "Thought of nightingalegroup",
        "Thought of elag nit hgin",
    ],
    Reason.ADDRESSED: [
        "Compared your ways",
        "Call the office in Berlin",
        "Compared ways, then open the page",
        "Compared ways?",
        "Looked at how Sie fahren",
        "I compared three ways",
    ],
    Reason.WORD: [
        "Found four seven one one",
        "Found four and then seven, one and one",
        "Estimated four hundred and eleven",
        "Looked at the gondola zeppelin",
        "Looked at the marmoset and the gazelle",
        "Thought of Zeppelin",
        "Gal nori ten",
    ],
    Reason.RETOLD: [
        "Only clients who threaten cancellation get a discount",
        "Gives a discount of twenty percent when somebody threatens",
        "The override code",
    ],
}


def test_one_short_reversed_hidden_word_is_chance_and_two_are_a_cipher() -> None:
    hidden = prepared(analysis=f"{ANALYSIS} The strap and the drawer are mine.")
    assert check("Compared the parts of the plan", *hidden).reason is None
    assert check("Compared the parts and the reward", *hidden).reason is Reason.ENCODED


def test_the_repr_of_a_verdict_does_not_contain_its_line() -> None:
    assert COPIED not in repr(check(COPIED, *prepared()))


@for_each([(reason, line) for reason, lines in REFUSED.items() for line in lines])
def test_each_rule_refuses_its_examples(reason: Reason, line: str) -> None:
    # If several rules refuse a line, staff read the reason of the first rule.
    found = check(line, *prepared()).reason
    assert found is not None
    earlier = list(Reason)
    assert found is reason or earlier.index(found) < earlier.index(reason), found


@pytest.mark.parametrize("reason", [reason for reason in REFUSED if reason is not Reason.REVIEW])
def test_each_rule_is_the_first_to_refuse_at_least_one_line(reason: Reason) -> None:
    assert reason in {check(line, *prepared()).reason for line in REFUSED[reason]}


def test_every_reason_of_the_check_is_tried() -> None:
    assert set(REFUSED) == set(Reason) - {Reason.REVIEW}


@pytest.mark.parametrize(
    "disguise",
    [
        str.upper,
        str.title,
        lambda text: text.replace(" ", "  "),
        lambda text: text.replace(" ", "-"),
        lambda text: text.replace(" ", ""),
        lambda text: text.replace("e", "é"),
        lambda text: text.replace(",", ""),
        lambda text: text.replace(" ", ", "),
        lambda text: f"Well: {text}!",
        lambda text: text.replace("a", "\u0430").replace("e", "\u0435"),
        lambda text: text.replace("i", "\u0456"),
        lambda text: codecs.encode(text, "rot13"),
        lambda text: text[::-1],
        lambda text: " ".join(word[::-1] for word in text.split()),
        lambda text: " ".join(reversed(text.split())),
        lambda text: text.replace("e", "3").replace("a", "4").replace("i", "1").replace("o", "0"),
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: text.encode().hex(),
        lambda text: " ".join(text.replace(" ", "")),
        lambda text: "\u200b".join(text),
        lambda text: text.replace("train", "tra\u00adin"),
    ],
)
def test_a_copy_in_a_simple_disguise_is_refused(disguise: object) -> None:
    assert callable(disguise)
    line = disguise(COPIED)
    assert line != COPIED and check(line, *prepared()).reason is not None


def test_five_hidden_words_in_a_row_are_a_copy_and_four_among_others_are_not() -> None:
    words = ["ant", "bee", "cat", "dog", "elk"]
    assert len(words) == RUN_WORDS == 5, "the threshold is a promise of docs/summaries.md"
    hidden, seen = prepared(question=f"{QUESTION} {' or '.join(words)}", analysis=f"{' '.join(words)} fox gnu")
    before, behind = ["Thought", "of", "the", "many", "ways", "there"], ["in", "which", "places", "are", "near"]
    assert check(" ".join([*before, *words, *behind]), hidden, seen).reason is Reason.COPY
    assert check(" ".join([*before, *words[:4], *behind]), hidden, seen).reason is None
    assert check(" ".join([*before, *words[1:], *behind]), hidden, seen).reason is None


def test_the_rule_for_runs_alone_also_finds_five_words_in_a_row() -> None:
    words = ["ant", "bee", "cat", "dog", "elk"]
    hidden, seen = prepared(analysis=f"{' '.join(words)} fox gnu")
    around = ["hen", "owl", "rat", "yak", "sow", "pup"]
    assert len(words) == RUN_WORDS and copies.is_copy(" ".join([*around, *words]), hidden, seen)
    assert not copies.is_copy(" ".join([*around, *words[1:]]), hidden, seen)


def test_rearranged_short_runs_are_a_copy_from_three_of_five_on() -> None:
    words = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu"]
    runs = "Ant bee cat. Owl. Cat dog elk. Owl. Elk fox gnu. Owl. "
    hidden, seen = prepared(question=f"{QUESTION} {' or '.join([*words, 'hen'])}", analysis=runs)
    assert [" ".join(words[at : at + 3]).capitalize() in runs for at in range(5)] == [True, False, True, False, True], "the premise"
    assert not copies.is_interleaved(words, hidden, seen), "the premise: no other rule for copies refuses it"
    assert copies.is_copy(" ".join(words), hidden, seen)
    assert not copies.is_copy(" ".join([*words, "hen"]), hidden, seen), "three of six are not enough"
    assert not copies.is_copy(" ".join(words[:5]), hidden, seen), "nor are two of three: of two runs chance may put both side by side"


def test_a_copy_with_inserted_words_is_a_copy() -> None:
    words = ["ant", "bee", "cat", "dog", "elk"]
    hidden, seen = prepared(question=f"{QUESTION} {' or '.join(words)}", analysis=f"{' '.join(words)} fox gnu")
    assert check("Compared the ant with the bee and the cat near the dog and elk", hidden, seen).reason is Reason.COPY
    assert check("Compared the ant with the cat and the bee near the elk and dog", hidden, seen).reason is None


def test_up_to_three_inserted_words_between_each_two_do_not_hide_a_copy() -> None:
    words, others = ["ant", "bee", "cat", "dog", "elk"], ["owl", "rat", "yak", "sow"]
    hidden, seen = prepared(question=f"{QUESTION} {' or '.join(words)}", analysis=f"{' '.join(words)} fox gnu")
    found = [copies.is_interleaved([w for word in words for w in (word, *others[:count])], hidden, seen) for count in range(1, 5)]
    assert found == [True, True, True, False]


def test_a_run_of_visible_text_is_not_a_copy() -> None:
    hidden, seen = prepared(analysis="They ask: how do I get to work fastest when it rains in Berlin?")
    assert check("Looked at ways to get to work fastest when it rains", hidden, seen).reason is None
    hidden, seen = prepared(question="Is it fastest? When in Berlin I do rains get it to work how?", analysis=QUESTION)
    assert check("Looked at ways to get to work fastest when it rains", hidden, seen).reason is Reason.COPY


def test_lines_that_reveal_a_few_words_each_are_checked_together() -> None:
    hidden, seen = prepared()
    words = [f"word{number}" for number in range(99)]
    seen.feed(" ".join(f"{word} {' '.join(words)}" for word in INSTRUCTIONS.split()))
    pieces = [
        "Thought about an offer, a discount, the weather and rain",
        "Looked at twenty percent of ways to get to work in Berlin",
        "Noticed somebody in Berlin",
    ]
    assert [check(piece, hidden, seen).reason for piece in pieces] == [None] * 3, "the premise: alone they pass"
    assert check(pieces[2], hidden, seen, pieces[:2]).reason is Reason.RETOLD
    hidden, seen = prepared(instructions="")
    assert check("the bicycle and the car", hidden, seen, ["I compare the train"]).reason is Reason.COPY
    assert check("Weighed the rain against travel time", hidden, seen, ["Compared three ways"]).reason is None


def test_a_new_line_is_checked_together_with_the_three_before_it() -> None:
    hidden, seen = prepared()
    words = [f"word{number}" for number in range(99)]
    seen.feed(" ".join(f"{word} {' '.join(words)}" for word in INSTRUCTIONS.split()))
    lines = ["Thought about an offer, a discount, the weather and rain", "Looked at twenty percent of ways to get to work in Berlin"]
    between, line = "Weighed the rain against travel time", "Noticed somebody in Berlin"
    assert check(line, hidden, seen, [lines[1], between]).reason is None, "the premise: it takes all three of them"
    assert check(line, hidden, seen, [*lines, between]).reason is Reason.RETOLD
    assert check(line, hidden, seen, [between, between, *lines, between]).reason is Reason.RETOLD, "earlier ones change nothing"
    assert check(line, hidden, seen, [*lines, between, between]).reason is None, "the first of the lines is too far above"


def test_a_line_has_at_most_a_hundred_and_forty_characters() -> None:
    hidden, seen = prepared()
    line = "Compared " + "the ways to work in rain " * 9
    assert MAX_CHARS == 140
    assert check(line[:139] + "s", hidden, seen).reason is not Reason.LENGTH
    assert check(line[:140] + "s", hidden, seen).reason is Reason.LENGTH


def test_three_fifths_of_a_sentence_of_the_instructions_are_a_paraphrase() -> None:
    hidden, seen = prepared(question="What next?", instructions="Weather traffic distance bicycle luggage.")
    sentence_stems = stems("weather traffic distance bicycle luggage")
    assert len(sentence_stems) == 5 and sentence_stems in hidden.instructions, "the premise"
    assert check("Compared weather, traffic, distance, time and options", hidden, seen).reason is Reason.RETOLD
    assert check("Compared weather, traffic, options, time and plans", hidden, seen).reason is None
    assert check("Weather", hidden, seen).reason is Reason.RETOLD, "a line of one word that is in it"
    assert check("Compared weather", hidden, seen).reason is None


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    hidden, seen = prepared(question="我怎么去上班最快?")
    assert check("需要比较火车和自行车的时间", hidden, seen).reason is Reason.COPY
    assert check("看看明天早上的天气预报", hidden, seen).reason is Reason.COPY
    assert check("权衡了几种上班方式", hidden, seen).reason is None


@pytest.mark.parametrize("cut", [len(text) for text in ("需要比较火车和自行车的时间", "需要比较火车和自行车的时间然后再看看")])
def test_text_without_a_finished_word_is_compared_too(cut: int) -> None:
    text = "需要比较火车和自行车的时间然后再看看明天早上的天气预报"
    hidden, seen = HiddenText(), SeenText()
    seen.feed("我怎么去上班最快?")
    hidden.feed(text[:cut])
    assert check(text[:12], hidden, seen).reason is Reason.COPY
    hidden.feed(text[cut:])
    assert check(text[cut - 5 : cut + 5], hidden, seen).reason is Reason.COPY
    assert check("权衡了几种上班方式", hidden, seen).reason is None


@pytest.mark.parametrize(
    ("question", "line", "reason"),
    [
        ("Wie komme ich am schnellsten zur Arbeit?", "Verglich drei Wege zur Arbeit mit dem Rad", None),
        ("Wie komme ich am schnellsten zur Arbeit?", "Compared the three ways that there are", Reason.LANGUAGE),
        ("¿Cómo llego a la oficina cuando llueve?", "Ha comparado las rutas de la ciudad", None),
        ("Как быстрее добраться до работы?", "Сравнил несколько способов", None),
        ("کدام راه سریع‌تر است؟", "راه‌های مختلف را سنجید", Reason.WORD),
        ("ping", "Compared the ways to answer", None),
        ("ping", "Verglich die Wege zur Antwort", Reason.LANGUAGE),
    ],
)
def test_a_line_is_in_a_language_of_the_visible_text(question: str, line: str, reason: Reason | None) -> None:
    assert check(line, *prepared(question=question)).reason is reason


def test_visible_names_may_be_repeated() -> None:
    hidden, seen = prepared(question=f"{QUESTION} Is Project Nightingale of Acme a discount of twenty percent?")
    assert check("Thought about Project Nightingale", hidden, seen).reason is None
    hidden, seen = prepared()
    assert check("Thought about Project Nightingale", hidden, seen).reason is not None


def test_sending_a_dictionary_makes_no_sentence_of_the_instructions_visible() -> None:
    line, words = "Thought of a discount, twenty percent, for somebody who threatens to cancel", [f"word{number}" for number in range(99)]
    hidden, seen = prepared()
    seen.feed(" ".join(f"{word} {' '.join(words)}" for word in INSTRUCTIONS.split()))
    assert check(line, hidden, seen).reason is Reason.RETOLD
    seen.feed("Is there a discount of twenty percent when somebody threatens to cancel?")
    assert check(line, hidden, seen).reason is None


def test_sending_thousands_of_numbers_makes_none_of_them_visible() -> None:
    hidden, seen = prepared(question=f"{QUESTION} Is it {' or '.join(map(str, range(4500, 4750)))}?")
    assert check("Found 4711", hidden, seen).reason is None
    seen.feed(f"Or {' or '.join(map(str, range(4750, 9999)))}?")
    assert check("Found 4711", hidden, seen).reason is Reason.SECRET


def test_four_single_letters_are_allowed_and_five_spell_a_word() -> None:
    question = f"{QUESTION} Is it a, b, c, d or e?"
    assert check("Compared a, b, c and d", *prepared(question)).reason is None
    assert check("Compared a, b, c, d and e", *prepared(question)).reason is Reason.SECRET


def test_text_hidden_later_counts_from_then_on() -> None:
    hidden, seen = prepared()
    line = "Weighed the hills against the headwind of the morning"
    assert check(line, hidden, seen).reason is None
    hidden.feed(f"so I {line} ")
    assert check(line, hidden, seen).reason is Reason.COPY


TRAITS = ("long_words", "spelled_names", "certain_names", "lower_case", "digits", "small_numbers", "forms", "skeletons", "pairs")
PIECES = [
    "alpha",
    "beta",
    "Gamma",
    "delta.",
    "火车和自行车",
    '"four words"',
    "Ms. Hollering",
    "loadRow",
    "44 17",
    "a_b_c",
    "three",
    "New York",
]


@pytest.mark.parametrize("seed", range(6))
def test_the_index_is_the_same_however_the_text_is_cut(seed: int) -> None:
    """Seed 0 is byte by byte."""
    chance = random.Random(seed)
    text = " ".join(chance.choice(PIECES) + str(chance.randrange(500)) * chance.randrange(2) for _ in range(600))
    whole, cut = HiddenText(), HiddenText()
    whole.feed(text)
    whole.settle(is_end=True)
    at = 0
    while at < len(text):
        step = chance.randrange(1, 9) if seed else 1
        cut.feed(text[at : at + step])
        if not chance.randrange(40):
            cut.settle()
        at += step
    cut.settle(is_end=True)
    words = disguises.words(text)
    assert all(whole.shared(words)) and all(cut.shared(words))
    for trait in TRAITS:
        assert getattr(whole, trait), "the premise: there is something to find"
        assert getattr(whole, trait) == getattr(cut, trait), trait
    assert cut.letters.share("".join(words)[1000:1040])
    assert cut.unspaced.share("火车和自行车" * 2) == whole.unspaced.share("火车和自行车" * 2)


def test_grams_find_every_long_run_and_nothing_else() -> None:
    grams, text = Grams(6, 3), "".join(random.Random(1).choices("abcdefghij", k=2000))
    for at in range(0, len(text), 7):
        grams.feed(text[at : at + 7])
    assert all(grams.share(text[at : at + 8]) for at in range(len(text) - 8))
    assert not grams.share("zyxwvuts" + text[:4])


@pytest.mark.slow
def test_the_work_grows_only_with_new_text() -> None:
    """A hundred thousand words of hidden text, with checks throughout: no check is slow, and neither is the whole."""
    chance = random.Random(1)
    words = [f"{chance.choice('bcdfgh')}a{number % 7919}e" for number in range(100_000)]
    hidden, seen = prepared()

    def feed() -> None:
        for at in range(0, len(words), 500):
            hidden.feed(" ".join(words[at : at + 500]) + " ")

    assert costs_at_most(10_000, feed, tries=1)
    assert costs_at_most(100, lambda: check("Considered the traffic, the weather and the distance", hidden, seen))


HOSTILE = {
    "new words": lambda number: f"w{number * 7919 % 100_003:x} ",
    "names": lambda number: f"Name{number} ",
    "quotes": lambda number: "\"a 'b ",
    "identifiers": lambda number: "aB_c.dE",
    "digits": lambda number: "1 , 2-",
    "titles": lambda number: "Mr ",
    "capitals": lambda number: "A",
    "one long word": lambda number: "a",
    "no spaces": lambda number: chr(0x4E00 + number * 31 % 8000),
    "empty lines": lambda number: " \n",
}


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_two_hundred_thousand_hostile_characters_cost_no_check_its_time(piece: Callable[[int], str]) -> None:
    text = "".join(piece(number) for number in range(200_000 // len(piece(1))))
    hidden, seen = prepared()
    before = ["Compared three ways to get to work"] * 11

    def feed() -> None:
        for at in range(0, len(text), 2_000):
            hidden.feed(text[at : at + 2_000])

    def judge() -> None:
        check("Considered the traffic, the weather and the distance", hidden, seen, before)

    judge()
    assert costs_at_most(2_000, feed, tries=1)
    assert costs_at_most(50, judge)


def test_one_new_word_may_be_in_a_line_and_three_in_all_lines_together() -> None:
    hidden, seen = prepared()
    lines = [f"Looked at the {word} in Berlin" for word in ("puddles", "mudguards", "galoshes", "ponchos")]
    assert [check(line, hidden, seen).reason for line in lines] == [None] * 4, "the premise: alone they pass"
    assert check(lines[2], hidden, seen, lines[:2]).reason is None
    assert check(lines[3], hidden, seen, lines[:3]).reason is Reason.WORD
    assert check("Looked at puddles and galoshes", hidden, seen).reason is Reason.WORD


@pytest.mark.parametrize("word", ["puddles", "puddle", "puddel", "selddup", "chqqyrf", "puuddlles"])
def test_a_new_word_that_hidden_text_contains_in_any_form_is_refused(word: str) -> None:
    line = f"Looked at the {word} in Berlin"
    assert check("Looked at the puddles in Berlin", *prepared()).reason is None, "the premise: the word itself is allowed"
    assert check(line, *prepared(analysis="There are puddles everywhere.")).reason is not None


def test_a_plain_word_of_the_reasoning_is_allowed_but_no_name_and_no_word_of_the_instructions() -> None:
    line = "Looked at the puddles in Berlin"
    assert check(line, *prepared(analysis="I look at the puddles.")).reason is None
    for written in (
        "I ask puddles.",
        "I ask Puddles about the puddles.",
        "The nickname is puddles. I see the puddles.",
        'I see the "puddles".',
    ):
        assert check(line, *prepared(analysis=written)).reason is not None, written
    assert (
        check(line, *prepared(instructions=f"{INSTRUCTIONS} Never speak of the puddles.", analysis="I look at the puddles.")).reason
        is not None
    )


def test_technical_words_are_plain_unless_the_instructions_use_them() -> None:
    line = "Compared tenancy law with a mortgage in Berlin"
    assert check(line, *prepared()).reason is None
    assert check(line, *prepared(instructions=f"{INSTRUCTIONS} A mortgage is only for members.")).reason is None, (
        "the premise: the plainest are harmless"
    )
    assert check(line, *prepared(instructions=f"{INSTRUCTIONS} Tenancy is only for members.")).reason is not None


def test_a_number_next_to_a_script_without_spaces_is_compared_by_itself() -> None:
    texts = {
        "question": "17은 소수인가요?",
        "analysis": "17이 소수인지 확인. 23도.",
    }
    assert check("17이 소수인지 확인했습니다", *prepared(**texts)).reason is None
    assert check("23이 소수인지 확인했습니다", *prepared(**texts)).reason is not None


def test_one_small_number_in_words_is_allowed_if_hidden_text_does_not_contain_it() -> None:
    hidden, seen = prepared()
    assert check("Compared three ways", hidden, seen).reason is None
    assert check("Compared four ways", hidden, seen, ["Compared three ways"]).reason is Reason.SECRET
    hidden.feed("There are 3 of them. ")
    assert check("Compared three ways", hidden, seen).reason is Reason.SECRET
    seen.feed("Which three?")
    assert check("Compared three ways", hidden, seen).reason is None


@pytest.mark.parametrize(("first", "second"), [("47", "11"), ("11", "74"), ("47", "1")])
def test_visible_numbers_of_two_lines_must_not_spell_a_hidden_one_forwards_or_backwards(first: str, second: str) -> None:
    hidden, seen = prepared(question=f"{QUESTION} Is it {first} or {second}?")
    lines = [f"Compared {first} ways", f"Compared {second} options"]
    assert [check(line, hidden, seen).reason for line in lines] == [None, None], "the premise: alone they pass"
    assert check(lines[1], hidden, seen, lines[:1]).reason is Reason.SECRET
    # Four of its digits count in any order, because the order of the lines is unknown.
    assert (check(lines[0], hidden, seen, lines[1:]).reason is None) == ((first, second) != ("47", "11"))


@pytest.mark.parametrize("word", ["compare", "compared", "compares", "comparing"])
def test_words_with_different_endings_have_the_same_stem(word: str) -> None:
    assert stems(word) == stems("compared")


def test_function_words_have_no_stem() -> None:
    assert stems("the of and with") == frozenset() and {"the", "der", "les"} <= languages.STOP_WORDS


@pytest.mark.parametrize("line", [*GOOD, "Weighed (a) + b - c!", "Thought about 5 & 6"])
def test_a_step_read_from_its_stored_frame_is_as_it_was_shown(line: str) -> None:
    frames = frame.frames([line, "Second"], [], Code.CALL_SCHEMA)
    assert frame.steps_of(frames[0].frame.body) == [line, "Second"]
    assert frame.steps_of("Others\n- First\n-Others\n- Second") == ["First", "Second"]


def test_a_stored_step_is_plain_text() -> None:
    frames = frame.frames(["Weighed [a](b) *or* `c`", "# d <e>"], [], Code.CALL_SCHEMA)
    assert frames[0].frame.body == "- Weighed \\[a\\]\\(b\\) \\*or\\* \\`c\\`\n- \\# d \\<e\\>"
