"""Dollars in a sentence: formulas become formulas and prices stay prices, in four languages, as a whole and during streaming."""

import random
import re

import pytest

from renderer.markup.html import render
from tests.renderer.markup.test_growing import assert_ends_as_the_whole, cut_at_random, open_block
from tests.support.cases import example_count, for_each
from tests.support.cost import costs_at_most
from tests.support.growing import Blocks

NO_FORMULAS = r"""
It costs $5 and then $10 total.
US$ 20–$30
$HOME and $PATH
Set $HOME or ${HOME}.
$5–$10 per month
$5, $10, and $15
$100K–$200K
($5)-($10)
$5+$10 = $15
either $5 or 10$
5$ or 10$
10$, 20$ und 30$
Das kostet 5 $ oder 10 $.
5 $/mois ou 50 $/an
Le prix passe de $5 à $10$.
cuesta $500 o US$30
价格从$5到$10不等
花费5$到10$
從$100漲到$200
echo $HOME/bin:$PATH
cp $SRC/$FILE $DST/$FILE
$USER@$HOST
"$HOME" and "$PATH"
$1 and $2
$1,$2
awk prints $1 $NF
foreach ($list as $key => $value)
list($a, $b) = [$a, $b];
$this->name and $this->value
$.ajax and $.get
^foo$|^bar$
^$ or ^\s*$
$NAME$ and $USER_NAME$
$name$ is a placeholder
A$5 or C$6 or HK$7
$5$
it costs $20/30$
save $10%$
the $100 bill and the $
$
$$ is the process id, $! the last
tickets ($25 adults/$15 children)
**$5** and **$10**
*$5* or *$x
$env:USERPROFILE\Documents and $env:TEMP\x
between $x and `y$`
$5 USD and 6 USD$
$GOOG and $AAPL are up, $TSLA down
$5,000-10,000$
a \$5 and \$10 bill
""".strip().split("\n")
"""Prices, amounts, shell variables, programs and patterns: one per line."""

FORMULAS = r"""
so $x$ is
$x^2$
$a_1 + b_1 = c_1$
$E = mc^2$
$\alpha$
$\frac{1}{2}$
$f(x) = x^2 + 1$
$2x + 1 = 5$
$n!$
$n$th
the $k$s
$O(n log n)$
$O(n^2)$.
($x > 0$)
$[0, 1)$
$]0, 1[$
$\{1, 2, 3\}$
$|x|$
$\|v\|$
$\text{speed} = \frac{\text{distance}}{\text{time}}$
$x_{\text{max and min}}$
$sin(x)$
$AB$ and $ABC$ and $ABCD$
$\$5 + x$
$x$, $y$ and $z$
Für $n \ge 1$ gilt $a_n > 0$.
Pour tout $\varepsilon > 0$, il existe $\delta > 0$
设$x$为实数
函数$f(x)$是连续的，且$f(0)=1$。
당$x$은
$-x$
$\pm 1$
$^{14}C$
$\vec{v} \cdot \vec{w}$
$P(A|B) = \frac{P(A \cap B)}{P(B)}$
$10^{-3}$
$5\%$ and $10\%$
$\ce{H2O}$
$dy/dx$
$a \bmod b$
$x$-axis
$5 \times 10^3$
$5 \text{ apples}$
$x' = y$
For $x = 2$ we get $5$.
**$x$** and *$y$* and _$z$_
$i = 1, \ldots, n$
""".strip().split("\n")
"""Lines in which each pair of unescaped dollars encloses a formula."""


def formulas(text: str) -> list[str]:
    """The formulas in a text, as they are written in the HTML."""
    return re.findall(r'<span class="math math-inline math-dollars">(.*?)</span>', str(render(text)))


@for_each(NO_FORMULAS)
def test_text_that_is_not_a_formula_keeps_its_dollars(text: str) -> None:
    shown = str(render(text))
    assert "math" not in shown
    assert shown.count("$") == text.count("$")


@for_each(FORMULAS)
def test_a_formula_in_single_dollars_is_recognized(text: str) -> None:
    assert len(formulas(text)) == text.replace("\\$", "").count("$") // 2
    assert "$" not in re.sub("<[^>]*>", "", str(render(text)).replace("\\$", ""))


@for_each(
    [
        (r"$\|x\|$", "|x|"),
        (r"\(\|x\|\)", "|x|"),
        (r"$\\|x\\|$", r"\|x\|"),
        (r"$\lvert x \rvert$", r"\lvert x \rvert"),
        (r"$P(A \mid B)$", r"P(A \mid B)"),
    ]
)
def test_a_formula_in_a_table_writes_its_pipes_with_a_backslash_or_as_commands(cell: str, formula: str) -> None:
    table = str(render(f"| a | b |\n| - | - |\n| {cell} | 1 |\n"))
    assert re.findall(r'<td><span class="math [^>]*>(.*?)</span></td>\s*<td>1</td>', table) == [formula]


@for_each([(r"$|A \cup B|$", r"|A \cup B|"), ("$P(A|B)$", "P(A|B)"), (r"\(|x|\)", "|x|"), ("$$|x|$$", "|x|")])
def test_a_bare_pipe_in_a_formula_stays_in_its_cell(cell: str, formula: str) -> None:
    for table in (f"| a | b |\n| - | - |\n| {cell} | 1 |\n", f"| {cell} | 1 |\n| - | - |\n"):
        cells = re.findall(r"<t[hd]>(.*?)</t[hd]>", str(render(table)))
        assert [re.sub("<.*?>", "", each) for each in cells[-2:]] == [formula, "1"]


@pytest.mark.slow
@for_each([*NO_FORMULAS, *FORMULAS])
def test_streamed_dollars_end_as_the_whole_text_however_they_are_cut(text: str) -> None:
    chance = random.Random(text)
    document = f"- {text}\n- *a* {text}\n\n{text} *b*\n"
    assert_ends_as_the_whole(list(text))
    for _ in range(example_count(5)):
        assert_ends_as_the_whole(cut_at_random(text, chance))
        assert_ends_as_the_whole(cut_at_random(document, chance))


def test_streamed_random_dollars_end_as_the_whole_text() -> None:
    chance = random.Random(4)
    pieces = ["$", "$", "$x$", "$5", " and ", "x", "_1", "^2", *"\\*`|()[]{} \n", "**", "$$", "\\("]
    for _ in range(example_count(300)):
        assert_ends_as_the_whole(chance.choices(pieces, k=chance.randint(2, 18)))


@for_each(
    [
        ("a $", "<p>a</p>"),
        ("a $x_1", "<p>a</p>"),
        ("a $\\frac{1", "<p>a</p>"),
        ("a $5", "<p>a $5</p>"),
        ("a $5 and *b", "<p>a $5 and <em>b</em></p>"),
        ("a $HOM", "<p>a</p>"),
        ("a $HOME", "<p>a $HOME</p>"),
        ("a $x and y", "<p>a $x and y</p>"),
        ("a $x*y$ b *c", '<p>a <span class="math math-inline math-dollars">x*y</span> b <em>c</em></p>'),
    ]
)
def test_an_unfinished_formula_is_held_back_and_a_price_is_not(text: str, expected: str) -> None:
    assert open_block(text) == expected


def test_a_streamed_price_never_disappears_again() -> None:
    text = "The ticket costs $5 for children and $10 for adults, or US$ 20–$30 at night."
    blocks, before = Blocks(), ""
    for character in text:
        blocks.feed(character)
        blocks.tail()
        now = re.sub("<[^>]*>", "", "".join(block.html for block in blocks.html()))
        assert now.startswith(before.rstrip())
        before = now


@for_each(
    [
        ("`$x$`", "<code>$x$</code>"),
        ("```sh\necho $a$\n```", "echo $a$"),
        ("    $x$ = 1", "$x$ = 1"),
        ("`a$b` and c$ `d`", "<code>a$b</code> and c$"),
        ("$a `b$` c", "$a <code>b$</code> c"),
        ("\\$x\\$", "$x$"),
        ("[$5](http://a.example) and [$10](http://b.example)", ">$5</a>"),
    ]
)
def test_code_escapes_and_links_are_left_alone(text: str, expected: str) -> None:
    assert expected in str(render(text))
    assert "math" not in str(render(text))


def test_a_formula_keeps_what_would_be_markup_elsewhere() -> None:
    assert formulas("so $a*b*c$ and $x_1 + y_1$ and $a < b$") == ["a*b*c", "x_1 + y_1", "a &lt; b"]
    assert formulas("| $x$ | $5 |\n|---|---|\n| $y_1$ | $10 |") == ["x", "y_1"]


def test_double_dollars_and_brackets_mark_formulas_too() -> None:
    shown = str(render("so $$x$$ and \\(y\\) and $z$"))
    assert re.findall('class="math ([^"]*)">(.)<', shown) == [
        ("math-display", "x"),
        ("math-inline", "y"),
        ("math-inline math-dollars", "z"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("opener", ["$", "$a$", "$\\$", "$x_{", "$x$ $5$ "])
def test_a_hostile_run_of_dollars_takes_under_a_second(opener: str) -> None:
    assert costs_at_most(500, lambda: render(opener * (30_000 // len(opener))))
