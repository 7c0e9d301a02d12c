"""Nothing that a model wrote vanishes by Markdown: every word is in what is shown, and every text with something in it shows something."""

import re

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.markup.html import render
from tests.renderer.markup.test_growing import assert_ends_as_the_whole

_NAMED = ("title", "href", "start", "value", "class")
"""Attributes that hold what people see or reach: titles, targets, the numbers of a list, the language of code."""
_SEEN = ("hr", "input", "pre", "br")


def _said(html: str) -> str:
    """Everything in the HTML that a person sees or can reach, in order."""
    root = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    parts: list[str] = []
    for element in root.iter():
        parts += [str(element.attrib[name]) for name in _NAMED if name in element.attrib] + [element.text or "", element.tail or ""]
    return " ".join(parts)


def _is_seen(html: str) -> bool:
    root = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    return any(element.tag in _SEEN for element in root.iter()) or bool("".join(root.itertext()).strip())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("4.", "<p>4.</p>"),
        ("4)", "<p>4)</p>"),
        ("-", "<p>-</p>"),
        ("#", "<p>#</p>"),
        (">", "<p>&gt;</p>"),
        ("4.\n5.", "<p>4.<br>\n5.</p>"),
        ("||\n|-|", "<p>||<br>\n|-|</p>"),
        ("- 4.", '<ul dir="auto">\n<li dir="auto">4.</li>\n</ul>'),
        ("> 4.", '<blockquote dir="auto">\n<p>4.</p>\n</blockquote>'),
        ("1. a\n5. b", '<ol dir="auto">\n<li dir="auto">a</li>\n<li value="5" dir="auto">b</li>\n</ol>'),
        ("2. a\n2. b", '<ol start="2" dir="auto">\n<li dir="auto">a</li>\n<li dir="auto">b</li>\n</ol>'),
        ("[a]: http://b.example", '<p>[a]: <a href="http://b.example" LINK>http://b.example</a></p>'),
        ("<kbd></kbd>", "<p>&lt;kbd&gt;&lt;/kbd&gt;</p>"),
        ("[ ](http://b.example)", '<p><a href="http://b.example" LINK>  <span class="link-host">(b.example)</span></a></p>'),
    ],
)
def test_marks_without_content_are_text(text: str, shown: str) -> None:
    link = 'target="_blank" rel="noopener noreferrer nofollow ugc"'
    assert render(text).html == f'<div class="block" dir="auto">{shown.replace("LINK", link)}</div>'


_MARKS = "- |+|* |1. |7)|# |#|> |>|```|~~~ |    | |**|_|`|~~|---|[x]|[x]: http://|[^n]: |[^n]|](http://|![|[|)|(".split("|")  # noqa: SIM905
_MARKS += ["|", "|-|", "\n", "\n\n", '"', "$", "$$", "\\(", "\\)", "<sub>", "</sub>", "<br>", "\\"]


@st.composite
def _answers(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A text of marks and numbered words, with its words. The numbers are such as no list counts by itself."""
    pieces: list[str] = []
    words: list[str] = []
    for piece in draw(st.lists(st.sampled_from([*_MARKS, "w", "w", "w", "9."]), max_size=14)):
        if piece in ("w", "9."):
            words.append(f"{100 + 7 * len(words)}")
            pieces.append(("q" if piece == "w" else "") + words[-1] + piece[1:])
        else:
            pieces.append(piece)
    return "".join(pieces), words


@given(_answers())
def test_every_word_of_an_answer_is_shown(answer: tuple[str, list[str]]) -> None:
    text, words = answer
    said = _said(render(text).html)
    assert [word for word in words if word not in said] == []


@given(st.text("14.)-+*#>|`~_[]:!(x \n\\$<b/r", max_size=12))
def test_an_answer_with_anything_in_it_shows_something(text: str) -> None:
    if re.search(r"\S", text):
        assert _is_seen(render(text).html), text


@given(_answers(), st.data())
def test_an_answer_of_marks_is_streamed_to_the_same_end(answer: tuple[str, list[str]], data: st.DataObject) -> None:
    text, _ = answer
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert_ends_as_the_whole(pieces)


def test_of_definitions_with_one_label_only_the_one_that_counts_goes_unseen() -> None:
    shown = render("[a]\n\n[a]: https://one.example\n\n[a]: https://two.example 'other'\n").html
    assert 'href="https://one.example"' in shown and "https://two.example" in shown and "other" in shown
