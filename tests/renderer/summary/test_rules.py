"""The rules of the check one by one: what the smallest difference between a refused and an allowed line is."""

from __future__ import annotations

from renderer.summary import addressing
from renderer.summary.check import check
from renderer.summary.index import SeenText
from renderer.summary.reasons import Reason
from tests.renderer.summary.texts import hidden_text, seen_text
from tests.support.cases import for_each

QUESTION = "How do I get to work fastest when it rains in Berlin?"
RUSSIAN = "Как быстрее добраться до работы in Berlin?"
GERMAN = "Wie komme ich am schnellsten zur Arbeit und was ist mit dem Regen?"


def reason_of(line: str, seen: str = QUESTION, reasoning: str = "", instructions: str = "", before: tuple[str, ...] = ()) -> Reason | None:
    return check(line, hidden_text(reasoning, instructions), seen_text(seen), before).reason


@for_each(
    [
        ("1) Compared ways", "Compared ways"),
        ("12. Compared ways", "Compared ways"),
        ("* Compared ways", "Compared ways"),
        ("\u2022 Compared ways", "Compared ways"),
        ("\u2013 Compared ways", "Compared ways"),
        ("- **Compared ways**.", "Compared ways"),
        ('+ "Compared ways"', "Compared ways"),
        ("** Compared ways **", "Compared ways"),
        ("Compared  ways", "Compared ways"),
    ]
)
def test_marks_around_a_line_are_removed_from_what_is_shown(candidate: str, line: str) -> None:
    verdict = check(candidate, hidden_text(), seen_text(QUESTION))
    assert (verdict.line, verdict.reason) == (line, None)


@for_each(["123. Compared ways", "-Compared ways", '"Compared" or "ways"', "**Compared** the **ways**", "**Compared ways"])
def test_other_marks_are_a_part_of_the_line(line: str) -> None:
    assert check(line, hidden_text(), seen_text(QUESTION)).line == line


def test_a_refused_line_is_recorded_as_it_was_written() -> None:
    assert check("- Found  4711 ", hidden_text(), seen_text(QUESTION)).line == "Found  4711"


@for_each([("I", True), ("5 w", True), ("ok", False), ("Nothing", True), ("null", True), ("“None”", True), ("None of it", False)])
def test_a_line_without_words_is_empty(line: str, is_empty: bool) -> None:
    assert (reason_of(line) is Reason.EMPTY) is is_empty


@for_each(
    [
        ("Compared report.pdf with others", f"{QUESTION} See report.pdf", None),
        ("Compared (report.pdf), then others", f"{QUESTION} See “Report.pdf”.", None),
        ("Compared report.pdf with others", QUESTION, Reason.ADDRESS),
        ("Compared report.pdf and plan.pdf", f"{QUESTION} See report.pdf", Reason.ADDRESS),
        ("Compared plan.pdf and report.pdf", f"{QUESTION} See report.pdf", Reason.ADDRESS),
        ("Looked at acme.org", f"{QUESTION} See acme.org", Reason.ADDRESS),
        ("Looked at acme.org/report.pdf", f"{QUESTION} See acme.org/report.pdf", Reason.ADDRESS),
        ("Looked at acme dot org", f"{QUESTION} See acme dot org", Reason.ADDRESS),
        ("Looked at report.pdf at acme dot org", f"{QUESTION} See report.pdf at acme dot org", Reason.ADDRESS),
        ("Sah acme Punkt de", QUESTION, Reason.ADDRESS),
        ("Looked at version 1.2.3", f"{QUESTION} 1.2.3", Reason.ADDRESS),
        ("Looked at version 1.2", f"{QUESTION} 1.2", None),
        ("Compared time and/or distance", f"{QUESTION} and/or", None),
        ("Compared time/rain/wind", f"{QUESTION} time/rain/wind", Reason.ADDRESS),
        ("Compared a:8080", f"{QUESTION} a:8080", Reason.ADDRESS),
    ]
)
def test_a_file_that_people_can_see_may_be_named_and_no_address(line: str, seen: str, reason: Reason | None) -> None:
    assert reason_of(line, seen) is reason


@for_each(
    [
        ("Сравнил способы", RUSSIAN, None),
        ("Сравнил в\u0430риант\u044b Berlin", RUSSIAN, None),
        ("Сравнил спос\u006fбы", RUSSIAN, Reason.SCRIPT),
        ("Compared w\u0430ys", f"{QUESTION} {RUSSIAN}", Reason.SCRIPT),
        ("Compared w\u03b1ys", f"{QUESTION} αβγ", Reason.SCRIPT),
        ("Compared αβγ", f"{QUESTION} αβγ", None),
        ("Compared αβγ", QUESTION, Reason.SCRIPT),
        ("Compared ways", "?", None),
        ("Сравнил способы", "?", Reason.SCRIPT),
        ("看work路线", f"{QUESTION} 看路线work", None),
    ]
)
def test_a_line_uses_the_scripts_of_the_visible_text_and_no_word_has_two_alphabets(line: str, seen: str, reason: Reason | None) -> None:
    assert reason_of(line, seen) is reason


def test_the_language_of_a_line_counts_only_if_it_is_in_latin_letters() -> None:
    assert reason_of("Verglich die Wege zur Arbeit", f"{QUESTION} die Wege zur Arbeit") is Reason.LANGUAGE
    assert reason_of("看路线 Wege zur Arbeit", f"{QUESTION} die Wege zur Arbeit 看路线") is None


INSTRUCTIONS = "Weather traffic distance bicycle luggage."


@for_each(
    [
        ("Compared weather, traffic and distance", QUESTION, Reason.RETOLD),
        ("Weather, traffic, distance and time of options", QUESTION, Reason.RETOLD),
        ("Compared weather and traffic of options, time and plans", QUESTION, None),
        ("Compared weather, traffic, distance", f"{QUESTION} Weather traffic distance bicycle luggage.", None),
        ("Compared weather, traffic, distance", f"{QUESTION} Weather, traffic, or distance?", None),
    ]
)
def test_most_of_a_sentence_of_the_instructions_is_a_paraphrase(line: str, seen: str, reason: Reason | None) -> None:
    assert reason_of(line, seen, instructions=INSTRUCTIONS) is reason
    assert reason_of(line, seen) is None


@for_each(
    [
        ("Noted weather, traffic and options", "", Reason.RETOLD),
        ("Noted weather, traffic and options", "weather traffic", None),
        ("Noted weather, options and plans", "", None),
        ("Compared time, options, plans, bicycle and luggage", "weather traffic distance time options plans", Reason.RETOLD),
        ("Compared time, options, plans and luggage", "weather traffic distance time options plans bicycle luggage", None),
    ]
)
def test_neither_the_verb_of_a_report_nor_visible_words_hide_a_paraphrase(line: str, seen: str, reason: Reason | None) -> None:
    assert reason_of(line, f"{QUESTION} {seen}", instructions=INSTRUCTIONS) is reason


def test_an_instruction_of_which_only_one_phrase_is_visible_is_no_paraphrase_if_a_line_has_just_that() -> None:
    assert reason_of("Noted weather, traffic", "Weather traffic", instructions=INSTRUCTIONS) is None
    assert reason_of("Noted weather, traffic", "Weather", instructions=INSTRUCTIONS) is Reason.RETOLD


def test_without_visible_text_an_honest_line_is_no_paraphrase() -> None:
    assert check("Compared ways", hidden_text(instructions=INSTRUCTIONS), SeenText()).reason is None


def test_a_korean_number_of_ten_or_more_is_a_secret() -> None:
    korean = "비가 올 때 학교에 어떻게 가나요? 열 번? 두 번?"
    assert reason_of("열두 번 비교했습니다", korean) is Reason.SECRET


def test_an_instruction_that_is_visible_only_in_pieces_is_still_hidden() -> None:
    hidden, seen = hidden_text(instructions=INSTRUCTIONS), seen_text(QUESTION)
    for word in ("Weather", "traffic", "distance"):
        seen.feed(word)
    line = "Compared weather, traffic, distance"
    assert check(line, hidden, seen).reason is Reason.RETOLD
    seen.feed("traffic in this weather at this distance")
    assert check(line, hidden, seen).reason is None


def test_lines_are_checked_together_for_each_kind_of_hidden_text() -> None:
    zanzibar = 'We use "zanzibar" for it.'
    before, line = ("Looked at fan zan",), "zibar there"
    seen = f"{QUESTION} fan zan zibar there"
    assert reason_of(line, seen, zanzibar) is None and reason_of(line, seen, zanzibar, before=before) is Reason.NAME
    copied = "compare the train with a bicycle near"
    seen = f"{QUESTION} compare train bicycle near"
    assert reason_of("with a bicycle", seen, copied, before=("Compare the train",)) is Reason.COPY
    assert reason_of("Compared two ways", before=("Compared three ways",)) is Reason.SECRET
    new = tuple(f"Looked at the {word} in Berlin" for word in ("puddles", "mudguards", "galoshes", "ponchos"))
    assert [reason_of(each) for each in new] == [None] * 4 and reason_of(new[2], before=new[:2]) is None
    assert reason_of(new[3], before=new[:3]) is Reason.WORD


@for_each(
    [
        ("Compared ways", "English", False),
        ("Tu vas", "English", True),
        ("Compared ways?", "English", True),
        ("I'm there", "English", True),
        ("Part I. of it", "English", False),
        ("Part I of it", "English", True),
        ("Saw +49 30 1234567", "English", True),
        ("Saw 030 1234567", "English", True),
        ("Saw 12345", "English", False),
        ("Du train au bus", "French", False),
        ("Du train au bus", "German", True),
        ("Text of the page", "German", False),
        ("Text the page", "English", True),
        ("Open the page", "English", True),
        ("Compared ways and write a note", "English", True),
        ("Compared ways and open questions", "English", False),
        ("Compared ways, and open questions", "English", False),
        ("And open the page", "English", True),
        ("Compared ways, then open the page", "English", True),
        ("First open the page", "English", True),
        ("And then never open the page", "English", True),
        ("Compared how to open it", "English", False),
        ("Compared how to write it", "English", False),
        ("Compared ways.", "English", False),
        ("Call the office", "English", True),
        ("Checked the call", "English", False),
        ("Wie Sie fahren", "German", True),
        ("Saw klicken there", "English", True),
        ("Warning: road", "English", True),
        ("Compared the button below", "English", True),
        ("看官网", "English", True),
        ("看路", "English", False),
        ("Saw a warning", "English", False),
        ("Comparó por favor", "Spanish", True),
    ]
)
def test_a_line_must_not_address_the_reader(line: str, language: str, addresses: bool) -> None:
    assert addressing.addresses_reader(line, frozenset({language})) is addresses


def test_in_german_and_french_text_du_addresses_the_reader() -> None:
    assert addressing.addresses_reader("Du train au bus", frozenset({"French", "German"}))
    assert addressing.addresses_reader("Du train au bus")


@for_each(
    [
        ("Blamed the driver", QUESTION, True),
        ("Blamed the driver", f"{QUESTION} Who is blamed?", False),
        ("Blamed the driver", f"{QUESTION} I blame it", False),
        ("Beleidigte den Fahrer", QUESTION, True),
        ("Compared the driver", QUESTION, False),
        ("假装比较", QUESTION, True),
        ("假装比较", f"{QUESTION} 假装吗?", False),
        ("骗了", f"{QUESTION} 骗", True),
        ("포기하도록", f"{QUESTION} 포기하도록?", False),
        ("포기하도록", f"{QUESTION} 포기하", True),
    ]
)
def test_a_word_that_judges_must_be_visible(line: str, seen: str, judges: bool) -> None:
    assert addressing.judges_somebody(line, seen_text(seen)) is judges
