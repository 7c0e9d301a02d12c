"""Any colour becomes an accent that is readable in both themes; a readable colour is not changed."""

import re

import pytest

from chatui.env import BASE_DIR
from chatui.site import colours
from chatui.site.colours import DARK_PAPERS, LIGHT_PAPERS, MIN_CONTRAST, contrast, parse


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("#ffffff", "#ffffff", 1.0), ("#0000ff", "#ffffff", 8.59)],
)
def test_contrast_is_that_of_wcag(one: str, other: str, ratio: float) -> None:
    first, second = parse(one), parse(other)
    assert first and second and contrast(first, second) == pytest.approx(ratio, abs=0.01) == contrast(second, first)


@pytest.mark.parametrize("text", ["", "#fff", "#12345g", "#123456\n", "#123456;}", "#１２３４５６"])
def test_invalid_colours_are_refused(text: str) -> None:
    assert parse(text) is None


@pytest.mark.slow
def test_every_colour_is_readable_as_text_and_on_buttons_in_both_themes() -> None:
    levels = (0, 51, 102, 153, 204, 255)
    for colour in ((red, green, blue) for red in levels for green in levels for blue in levels):
        for accent, papers in ((colours.light_accent(colour), LIGHT_PAPERS), (colours.dark_accent(colour), DARK_PAPERS)):
            texts = [
                colours.lowest_contrast(accent.colour, papers),
                contrast(accent.colour, accent.wash),
                contrast(accent.ink, accent.colour),
                contrast(accent.ink, accent.hover),
            ]
            assert min(texts) >= MIN_CONTRAST, (colour, accent)


def test_a_readable_colour_is_unchanged_and_others_change_minimally() -> None:
    own, yellow = parse("#0b6355"), parse("#ffcc00")
    assert own and yellow
    assert colours.light_accent(own).colour == own and colours.dark_accent(own).colour != own
    assert colours.dark_accent(yellow).colour == yellow and colours.light_accent(yellow).colour != yellow
    assert colours.lowest_contrast(colours.light_accent(yellow).colour, LIGHT_PAPERS) < 5


def test_the_papers_are_those_of_the_style_sheet() -> None:
    tokens = (BASE_DIR / "static/css/tokens.css").read_text(encoding="utf-8")
    names = ("paper", "paper-raised", "paper-sunken", "paper-hover", "question")
    found = [re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", tokens) for name in names]
    assert [match and match.groups() for match in found] == list(zip(LIGHT_PAPERS, DARK_PAPERS, strict=True))
