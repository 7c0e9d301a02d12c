"""Streamed texts end as the same HTML however they are cut; closed blocks do not change; the open one is presentable, safe and cheap."""

import random
import re
from html import escape, unescape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from renderer.gate import VisibleText
from renderer.markup import html
from renderer.markup.growing import BlockClosed, BlockOpen, BlockPatched, MoreText
from renderer.markup.html import SafeHtml, plain, render, render_blocks
from renderer.markup.tails import cost_of
from tests.renderer.markup.samples import EXAMPLES, FRAGMENTS, answers, mix
from tests.support.cases import example_count, for_each
from tests.support.cost import cost, costs_at_most
from tests.support.growing import Blocks

ANSWER = "\n".join(answer.markdown for answer in sorted(answers(), key=lambda answer: answer.name == "fence-unclosed"))
"""The fence that is never closed comes last: with others after it, its block would be open to the end."""


class Page:
    """The state of a browser that applies the events: the blocks by index, and which of them are final."""

    def __init__(self) -> None:
        self.blocks: dict[int, str] = {}
        self.closed: list[int] = []
        self.sent = 0
        self.opened = 0

    def apply(self, event: BlockClosed | BlockPatched | BlockOpen | MoreText | None) -> None:
        match event:
            case BlockClosed(index=index, html=SafeHtml(html=text)):
                assert index == len(self.closed)
                self.closed.append(index)
                self.blocks[index] = text
            case BlockPatched(index=index, html=SafeHtml(html=text)):
                assert index in self.closed or not text
                self.blocks[index] = text
            case BlockOpen(index=index, html=SafeHtml(html=text)):
                assert index == len(self.closed)
                self.blocks[index] = text
                self.opened += 1
            case MoreText(index=index, text=text):
                assert index == len(self.closed)
                at = innermost_last(self.blocks[index])
                self.blocks[index] = self.blocks[index][:at] + escape(text, quote=False) + self.blocks[index][at:]
            case None:
                return
        self.sent += len(text)

    def shown(self) -> list[str]:
        return [text for _, text in sorted(self.blocks.items()) if text]


def innermost_last(block: str) -> int:
    """The position at which text is appended to the last ``code`` or ``pre`` element."""
    last = list(re.finditer("</?(?:code|pre)", block))
    position = len(last) - 1
    while position and not last[position - 1][0].startswith("</"):
        position -= 1
    # The element that was opened last is the innermost last one; its end tag follows its start tag, as text has no tags in it.
    opened = max(match.start() for match in last if not match[0].startswith("</"))
    return next(match.start() for match in last if match.start() > opened)


def play(pieces: list[str], *, frames: bool = True, compare: bool = True, is_cut: bool = False) -> tuple[Blocks, Page]:
    """Feed the pieces, show a frame after each, and finish."""
    blocks, page = Blocks(), Page()
    for piece in pieces:
        for event in blocks.feed(piece):
            page.apply(event)
        if frames:
            page.apply(blocks.tail())
            assert not compare or page.shown() == [block.html for block in blocks.html() if block.html]
    for event in blocks.finish(is_cut=is_cut):
        page.apply(event)
    return blocks, page


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def cut_at_random(text: str, chance: random.Random) -> list[str]:
    longest = chance.choice([1, 3, 9, 60])
    pieces = []
    while text:
        size = chance.randint(1, longest)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def assert_ends_as_the_whole(pieces: list[str], *, is_cut: bool = False) -> None:
    blocks, page = play(pieces, is_cut=is_cut)
    whole = render_blocks("".join(pieces), is_cut=is_cut)
    assert blocks.html() == whole
    assert page.shown() == [block.html for block in whole if block.html]
    assert is_cut or "".join(page.shown()) == render("".join(pieces)).html


# --- incremental == whole ---------------------------------------------------------------------------------------------------------

TEXTS = [*(answer.markdown for answer in answers()), *EXAMPLES]


@pytest.mark.slow
@for_each(TEXTS)
def test_a_streamed_text_ends_as_the_whole_one_however_it_is_cut(text: str) -> None:
    assert_ends_as_the_whole([text])
    assert_ends_as_the_whole(list(text))
    chance = random.Random(text)
    for _ in range(4):
        assert_ends_as_the_whole(cut_at_random(text, chance))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(example_count(10)))
def test_streamed_random_mixes_end_as_the_whole_one(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        text = mix(chance)
        assert_ends_as_the_whole(cut_at_random(text, chance))
        assert_ends_as_the_whole(list(text))


@given(st.lists(st.one_of(st.sampled_from([*FRAGMENTS, "\n", "\n\n", " "]), st.text(max_size=4)), max_size=40))
@example(["[x]", ":", "\n", "http://e.example/x", "\n\n", "[x]"])
@example(["\\[", "\n", "- a", "\n", "\n", "\\]"])
@settings(max_examples=example_count(200))
def test_any_pieces_end_as_the_whole_text(pieces: list[str]) -> None:
    assert_ends_as_the_whole(pieces)


def test_whether_frames_are_shown_makes_no_difference_to_the_end() -> None:
    pieces = cut(ANSWER, 7)
    assert play(pieces, frames=False)[0].html() == play(pieces)[0].html() == render_blocks(ANSWER)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["*a* " * 17_000 + "\n\n*b*", ("*a* " + "words " * 650 + "\n\n") * 70])
def test_the_limits_hold_for_a_growing_text_as_for_the_whole(text: str) -> None:
    blocks, page = play(cut(text, 3989), compare=False)
    assert blocks.html() == render_blocks(text)
    assert page.shown() == [block.html for block in render_blocks(text)]


def test_text_beyond_the_limit_of_a_message_is_shown_while_it_arrives() -> None:
    blocks, page = Blocks(), Page()
    for event in blocks.feed(("a " * 1500 + "\n\n") * (html.MESSAGE_LIMIT // 3000 + 1)):
        page.apply(event)
    for piece in ("*one* ", "two"):
        blocks.feed(piece)
        page.apply(blocks.tail())
    assert page.shown()[-1].endswith("*one* two</pre>")


# --- closed blocks ----------------------------------------------------------------------------------------------------------------


@for_each(
    [
        ("# a\n", 1),
        ("a\n===\n", 1),
        ("```\na\n```\n", 1),
        ("\\[\na\n\\]\n", 1),
        ("a\n\n", 1),
        ("a\n# b", 0),
        ("a\n# b\n", 2),
        ("| a |\n|---|\n| b |\n\n", 1),
        ("- a\n\n", 0),
        ("- a\nlazy\n", 0),
        ("- a\n\nb\n", 1),
        ("    code\n\nb\n", 1),
        ("```\na\n\nb\n", 0),
        ("\\[\na\n\nb\n", 0),
        ("[x]: http://a.example\n\n", 1),
        ('[x]: http://a.example\n"its\n', 0),
        ("4.\n\n", 0),
        ("4.\n\nb\n", 1),
    ]
)
def test_a_block_closes_as_soon_as_no_later_line_can_undo_it(text: str, closed: int) -> None:
    for pieces in ([text], list(text)):
        blocks = Blocks()
        events = [event for piece in pieces for event in blocks.feed(piece)]
        assert [type(event) for event in events] == [BlockClosed] * closed


def test_a_closed_block_is_sent_once_and_never_changes() -> None:
    blocks, sent = Blocks(), {}
    for piece in cut(ANSWER, 3):
        for event in blocks.feed(piece):
            assert isinstance(event, BlockClosed) or event.index in (60, *range(200))
            if isinstance(event, BlockClosed):
                assert event.index not in sent
                sent[event.index] = event.html
    assert len(sent) > 100


def test_a_fence_in_a_fence_leaves_the_outer_one_open() -> None:
    blocks = Blocks()
    for line in ("```md\n", "```sh\n", "ls\n", "```\n", "end\n"):
        assert blocks.feed(line) == []
        blocks.tail()
        assert len(blocks.html()) == 1
    assert "end" in blocks.html()[0].html
    assert [type(event) for event in blocks.feed("```\n")] == [BlockClosed]


def test_fences_that_do_not_pair_are_read_again_at_the_end() -> None:
    blocks = Blocks()
    assert blocks.feed("```\na\n```sh\nb\n```\nafter\n") == []
    assert [event.html.html.count("<pre") for event in blocks.finish()] == [1, 0]


def test_a_late_definition_changes_at_the_end_only_the_blocks_that_refer_to_it() -> None:
    blocks = Blocks()
    assert [event.index for event in blocks.feed("see [docs]\n\nnothing\n\nand [docs] too[^1]\n\nnor [more]\n\n")] == [0, 1, 2, 3]
    assert blocks.feed("[docs]: http://d.example\n\n[^1]: note\n\nend\n\n")[0].index == 4
    patches = [event for event in blocks.finish() if isinstance(event, BlockPatched)]
    assert [event.index for event in patches] == [0, 2]
    assert all('href="http://d.example"' in event.html.html for event in patches) and "footnote-ref" in patches[1].html.html


def test_a_block_is_patched_once_however_many_definitions_come() -> None:
    blocks = Blocks()
    blocks.feed(" ".join(f"[l{number}]" for number in range(900)) + "\n\n")
    assert sum(len(blocks.feed(f"[l{number}]: http://a.example\n\n")) for number in range(900)) == 0
    assert [event.index for event in blocks.finish()] == [0]
    assert blocks.html()[0].html.count("<a ") == 900


def test_text_that_only_looked_like_a_block_is_withdrawn() -> None:
    blocks, page = Blocks(), Page()
    for piece in ("see [label]\n\n", "[lab", "el]: http://a.example"):
        for event in blocks.feed(piece):
            page.apply(event)
        page.apply(blocks.tail())
    for event in blocks.finish():
        page.apply(event)
    assert page.opened > 0, "nothing was shown meanwhile, so nothing was taken back"
    assert [block.count("<a ") for block in page.shown()] == [1], "the definition of a link that was shown above"


# --- the open block ---------------------------------------------------------------------------------------------------------------


def open_block(text: str) -> str:
    """The HTML shown for an open text, without the wrapper."""
    blocks = Blocks()
    blocks.feed(text)
    event = blocks.tail()
    if event is None:
        return ""
    assert isinstance(event, BlockOpen)
    return event.html.html.removeprefix('<div class="block" dir="auto">').removesuffix("</div>")


@for_each(
    [
        ("a **bold", "<p>a <strong>bold</strong></p>"),
        ("a **", "<p>a</p>"),
        ("a **bold*", "<p>a <strong>bold</strong></p>"),
        ("a **b *c", "<p>a <strong>b <em>c</em></strong></p>"),
        ("a ~~b", "<p>a <s>b</s></p>"),
        ("a ~5", "<p>a ~5</p>"),
        ("my_function_na", "<p>my_function_na</p>"),
        ("a `co", "<p>a <code>co</code></p>"),
        ("a `", "<p>a</p>"),
        ("`a*b` c", "<p><code>a*b</code> c</p>"),
        ("a [text", "<p>a text</p>"),
        ("a [te*x*t](http://a.exam", "<p>a te<em>x</em>t</p>"),
        ("a [1] b", "<p>a [1] b</p>"),
        ("a ![alt](http://a", "<p>a</p>"),
        ("a \\(x_1", "<p>a</p>"),
        ("a <su", "<p>a</p>"),
        ("a <sub>1", "<p>a <sub>1</sub></p>"),
        ("a &am", "<p>a</p>"),
        ("a\\", "<p>a</p>"),
        ("Title\n-", "<p>Title</p>"),
        ("Title\n==", "<p>Title</p>"),
        ("a\n|b", "<p>a</p>"),
        ("1.", ""),
        ("``", ""),
        ("| a | b |", ""),
        ("| a | b |\n|--", ""),
        ("[x]: htt", ""),
        ("\\[\nx\n", ""),
        ("- [x", ""),
    ]
)
def test_unfinished_markup_is_closed_or_held_back(text: str, expected: str) -> None:
    assert open_block(text) == expected


@for_each(TEXTS)
def test_repairing_changes_no_complete_markup(text: str) -> None:
    paragraph = text.strip("\n").split("\n\n")[0]
    if re.search(r"^[^\n]*$", paragraph) and paragraph[-1:].isalnum() and not re.search(r"[\[\]$<\\~]", paragraph):
        assert open_block(paragraph) == render(paragraph).html.removeprefix('<div class="block" dir="auto">').removesuffix("</div>")


@given(st.text(alphabet="ab *_`[]()!<>\\$~&;:/\n", max_size=60))
def test_repairing_never_fails_and_adds_no_words(text: str) -> None:
    shown = unescape(re.sub("<[^>]*>", "", open_block(text)))
    letters = [character for character in shown if character in "ab"]
    remaining = iter(character for character in text if character in "ab")
    if "<" not in text:
        assert all(character in remaining for character in letters)


@pytest.mark.slow
@pytest.mark.parametrize("opening", ["  ~~~\n", "1. Step\n\n   ```sh\n"])
def test_inside_code_only_text_is_sent(opening: str) -> None:
    indent = " " * (len(opening.rpartition("\n")[0].rpartition("\n")[2]) - len(opening.rpartition("\n")[0].rpartition("\n")[2].lstrip()))
    code = "".join(f"{'  ' * (number % 3)}line *{number}* `<b>`\n{'' if number % 5 else chr(10)}" for number in range(200))
    text = opening + "".join(indent + line if line.strip() else line for line in code.splitlines(keepends=True))
    blocks, page = Blocks(), Page()
    for piece in cut(text, 3):
        for event in blocks.feed(piece):
            page.apply(event)
        page.apply(blocks.tail())
        found = re.search(r"<code[^>]*>(.*)</code>", page.shown()[-1] if page.shown() else "", re.DOTALL)
        assert found is None or code.startswith(unescape(found[1]))
    assert page.opened <= 8
    assert page.sent < 2 * len(text)
    assert unescape(page.shown()[-1].partition("<code")[2].partition(">")[2].partition("</code>")[0]) == code


def test_direction_controls_are_visible_in_code_while_it_is_written() -> None:
    page = play(["```\na", "\u202e", "b\n"])[1]
    blocks = Blocks()
    blocks.feed("```\na")
    blocks.tail()
    blocks.feed("\u202eb")
    assert blocks.tail() == MoreText(0, VisibleText("[U+202E]b"))
    assert "a[U+202E]b" in page.shown()[0]


SHAPES = {
    "list": "- item **bold** and `code` number here, some text\n",
    "table": "| cell one | **two** | three words here |\n",
    "quote": "> quoted text with *emphasis* and more words\n",
    "paragraph": "words and **bold** text, a [link](http://a.example/c) and more. ",
    "lines": "words and **bold** text\n",
    "code": "x = [1, 2, 3]  # comment\n",
    "steps": "1. **Step**: do\n\n   ```sh\n   run --it\n   ```\n\n",
    "mixed": ANSWER.replace("![", "[") + "\n\n",
}


def long_text(shape: str, size: int) -> str:
    head = {"table": "| a | b | c |\n|---|---|---|\n", "code": "```py\n"}.get(shape, "")
    return head + (SHAPES[shape] * (size // len(SHAPES[shape]) + 1))[: size - len(head)]


def stream(text: str) -> Page:
    """The result of a text in pieces of 20 characters, with a frame after each: about 100 tokens a second."""
    blocks, page = Blocks(), Page()
    for piece in cut(text, 20):
        for event in blocks.feed(piece):
            page.sent += len(event.html.html)
        match blocks.tail():
            case BlockOpen(html=opened):
                page.opened += 1
                page.sent += len(opened.html)
            case MoreText(text=more):
                page.sent += len(more)
    blocks.finish()
    return page


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_grows_in_proportion_to_the_answer(shape: str) -> None:
    short, long = long_text(shape, 4_096), long_text(shape, 16_384)
    pages: dict[str, Page] = {}

    def measured(text: str) -> None:
        pages[text] = stream(text)

    assert costs_at_most(6 * cost(lambda: measured(short)), lambda: measured(long))
    assert pages[long].sent < 6 * pages[short].sent


@pytest.mark.slow
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "mixed"])
def test_new_text_is_shown_at_once_even_in_one_long_block(shape: str) -> None:
    text = long_text(shape, 4_000)
    blocks, page = Blocks(), Page()
    for number, piece in enumerate(cut(text, 400)):
        for event in blocks.feed(piece.replace("o", f"o{number}x")):
            page.apply(event)
        page.apply(blocks.tail())
        seen = unescape(re.sub("<[^>]*>", "", "".join(page.shown()[-2:])))
        assert f"o{number}x" in seen


@pytest.mark.slow
@pytest.mark.parametrize("opener", ["[", "*a ", "> ", "- ", "[a](", "<a ", "|"])
def test_a_growing_hostile_run_of_openers_takes_under_a_second(opener: str) -> None:
    assert costs_at_most(1000, lambda: stream(opener * 8_000))


def test_without_new_text_there_is_nothing_to_show() -> None:
    blocks = Blocks()
    assert blocks.tail() is None
    blocks.feed("a")
    assert blocks.tail() is not None
    assert blocks.tail() is None
    blocks.feed("\n\n")
    assert blocks.tail() is None
    assert blocks.finish() == []


def test_a_snapshot_has_the_closed_blocks_and_the_open_one_as_shown() -> None:
    blocks = Blocks()
    blocks.feed("# a\n\nb **c")
    assert blocks.html() == (render_blocks("# a")[0],)
    blocks.tail()
    assert blocks.html() == (render_blocks("# a")[0], render_blocks("b **c**")[0])


def test_a_text_that_ends_in_a_carriage_return_keeps_its_line_end() -> None:
    assert_ends_as_the_whole(["a\r", "\nb\r", "\r", "c\r"])
    assert plain("x\r").html == '<div class="block plain" dir="auto">x\n</div>'


def test_only_words_cost_no_more_than_their_length() -> None:
    assert cost_of("") == 0 and cost_of("a few words, and a dash - (no more)") == 35
    dearer = [character for character in map(chr, range(0x3000)) if cost_of(f"a{character}b") > 3]
    assert "".join(dearer) == "\n!#$%&*+:<=>@[\\]^_`{|}~†"
