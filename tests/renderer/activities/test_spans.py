"""What a line may name: pieces of the person's own question, as a person would name them."""

import pytest

from renderer.activities.spans import may_be_named, pair, phrases, place


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Compare trains and buses for travelling from Berlin to Prague.", ("trains", "buses")),
        ("Which is better: Python or Rust?", ("Python", "Rust")),
        ("What is the difference between TCP and UDP?", ("TCP", "UDP")),
        ("What's cheaper, a heat pump or a gas boiler?", ("heat pump", "gas boiler")),
        ("Node.js vs Deno", ("Node.js", "Deno")),
        ("C++ vs C#", ("C++", "C#")),
        ("Vergleiche Äpfel mit Birnen", ("Äpfel", "Birnen")),
        ("Unterschied zwischen Miete und Pacht", ("Miete", "Pacht")),
        ("compara Madrid y Barcelona para vivir", ("Madrid", "Barcelona")),
        ("比较苹果和香蕉的营养", ("苹果", "香蕉")),
        ("火车和飞机哪个更便宜？", ("火车", "飞机")),
        ("기차와 버스의 차이가 뭐야?", ("기차", "버스")),
        ("Compare the following two texts and tell me which one is better", None),
        ("Compare these and those", None),
        ("Compare pros and cons of remote work", None),
        ("Is it better to rent or buy?", None),
        ("You vs. me", None),
        ("Compare <b>x</b> and evil", None),
        ("Compare javascript:alert(1) vs data:text", None),
        ("Compare **one** and `two`", None),
        ("Compare tea and tea", None),
        ("Compare heat\npump and boiler", None),
    ],
)
def test_the_two_things_that_a_question_compares(question: str, found: tuple[str, str] | None):
    assert pair(question) == found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Plan 3 days in Kyoto in April", "Kyoto"),
        ("Plan a trip to New York, answer in English", "New York"),
        ("Plane drei Tage in Köln", "Köln"),
        ("Reise nach Österreich", "Österreich"),
        ("Trip to Paris and a visit to London", None),
        ("Plan my days, answer in English", None),
    ],
)
def test_the_place_of_a_trip(question: str, found: str | None):
    assert place(question) == found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How much memory does gpt oss need?", ["gpt oss"]),
        ("Explain PostgreSQL and EURUSD to me", ["PostgreSQL", "EURUSD"]),
        ("A simple Python web server in Flask", ["simple Python web server", "Python web server", "web server"]),
        ("information suitable for recreating it", []),
        ("What's the name of the Sun?", []),
        ("less respect", []),
        ("remote work", []),
        ("WRITE ME A POEM FOR HER", []),
        ("See https://example.org/secret-page and `some code` or ```more code```", []),
        ('> quoted\n"' + "other words " * 6 + '"', []),
        ("Tell me about red apples, not green pears", ["red apples", "green pears"]),
    ],
)
def test_the_phrases_of_a_question(question: str, found: list[str]):
    assert phrases(question) == found


def test_the_whole_question_is_no_span():
    assert "remote work" not in phrases("Remote work?")
    assert "remote work" in phrases("Is it remote work?")


@pytest.mark.parametrize("name", ["trains", "C++", "Q3-report_v2.pdf", "Zahlen für Mai.csv", "отчёт.docx", "보고서 1.txt", "x" * 40])
def test_a_usual_name_can_be_shown(name: str):
    assert may_be_named(name)


@pytest.mark.parametrize(
    "name",
    ["", "x" * 41, "a\nb", "a\u202eb", "a\u3164b", "a\u0301", "<b>", "a`b", "..", " a", "ملف"],
)
def test_a_name_that_could_break_a_line_is_not_shown(name: str):
    assert not may_be_named(name)
