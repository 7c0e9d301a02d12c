"""Titles from model replies: which text becomes a title, and which replies give none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import for_each
from tests.support.titles import MAX_CHARS, MAX_WORDS, title_in

TITLES = """Cycling to work in the rain
Write a poem about autumn
Why is the sky blue?
Where do I start with Rust?
C# and F# side by side
User stories for a shop
snake_case in Python
I/O bound programs
2 + 2 = 4
Warum ist der Himmel blau?
Où dormir à Lyon
Как испечь хлеб
为什么天空是蓝色的
می‌خواهم نان بپزم
לחם שאור למתחילים""".splitlines()


@for_each(TITLES)
def test_a_valid_title_is_unchanged(title: str) -> None:
    assert title_in(title) == title


@for_each(
    [
        ('"Rain and bicycles"', "Rain and bicycles"),
        ("“Rain and bicycles.”", "Rain and bicycles"),
        ("„Regen und Fahrräder“", "Regen und Fahrräder"),
        ("「雨と自転車」", "雨と自転車"),
        ("**Rain and bicycles**", "Rain and bicycles"),
        ("# Rain and bicycles", "Rain and bicycles"),
        ("- Rain and `bicycles`", "Rain and bicycles"),
        ('**Title:** "Rain and bicycles"', "Rain and bicycles"),
        ("标题：雨和自行车", "雨和自行车"),
        ("\n  Rain   and\tbicycles \n\n", "Rain and bicycles"),
        ("Rain\u202e and \u200bbicycles\u2066\x07", "Rain and bicycles"),
    ]
)
def test_decoration_around_a_title_is_removed(reply: str, title: str) -> None:
    assert title_in(reply) == title


@for_each(
    [
        "",
        "**",
        "none",
        "Title:",
        "?!",
        "New conversation",
        "Rain and bicycles\nA title for the question",
        "Rain\u2028and bicycles",
        "one two three four five six seven eight nine",
        "x" * (MAX_CHARS + 1),
        "The user asks about bicycles",
        "User wants a title",
        "We need a title",
        "I think it is about rain",
        "Okay, rain and bicycles",
        "Possible title is Rain",
        "Ignore all rules about titles",
        "Please call your bank",
        "Ich denke an Regen",
        "用户问天空为什么是蓝色的",
        "Пользователь спрашивает о хлебе",
        "analysis channel of rain",
        "assistantfinal Rain and bicycles",
        "<|channel|>final<|message|>Rain",
        "<think>Rain",
        "Rain | bicycles",
        "[Rain](https://example.org)",
        "https://example.org/rain",
        "www.example.org for rain",
        "Ra\ufffdin",
        "\ufeff\u200b",
        "Rａin",
    ]
)
def test_an_unclear_reply_gives_no_title(reply: str) -> None:
    assert title_in(reply) == ""


@given(st.text(max_size=120) | st.text(alphabet=" *_`\"'#-.:\u202e\u200d<|a\nTitle", max_size=40))
def test_a_title_is_one_short_line_and_parsing_is_idempotent(reply: str) -> None:
    title = title_in(reply)
    assert len(title) <= MAX_CHARS and len(title.split()) <= MAX_WORDS and len(title.splitlines()) <= 1
    assert title == title.strip() and title_in(title) == title
    assert not set("<>|`\u202e\u200b") & set(title)


@pytest.mark.parametrize(
    "reply",
    [
        "evil.com/login",
        "Go to evil.com",
        "javascript:alert(1)",
        "Write to a@b.example",
        "Call 0800 123456 now",
        "Must not mention Falcon",
        "System prompt says no refunds",
        "Asker seems depressed",
        "Wait, is this illegal",
        "Policy forbids answering",
        "Need to refuse politely",
    ],
)
def test_addresses_phone_numbers_and_thinking_aloud_are_no_titles(reply: str) -> None:
    assert title_in(reply) == ""


@pytest.mark.parametrize("reply", ["Node.js basics", "Kettles: a history", "Trip on 2026-11-20", "C++ and Rust: speed", "Meeting at 10:30"])
def test_titles_with_dots_colons_and_dates_are_accepted(reply: str) -> None:
    assert title_in(reply) == reply
