"""Stars of arithmetic and of file names, and underscores of names, are shown; marks that people mean as emphasis make it: also while a
text is being written."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.markup.html import render
from tests.support.cost import costs_at_most
from tests.support.growing import Blocks

SIGNS = r"""
So 2*3*4 = 24, a*a=8 b*b=24, x**2 + y**2, *.py and **/*.js
2*3*4 = 24 and 5 * 6 * 7
x**2 + y**2 = z**2
*.py and **/*.js files
2*pi*r and 2*pi*r
the area is 2*pi*r**2, the volume 4/3*pi*r**3
(a+b)*(c+d) = a*c + a*d + b*c + b*d
f(x)*g(x)*h(x)
10**6 and 10**-6
2x*3y*4z
x_1*y_1 + x_2*y_2
COUNT(*) and SUM(*)
SELECT t.*, u.* FROM t, u
rm *.* and del *.*
/* a */ b /* c */ d
π*r**2*h + π*r**2
[1]*[2]*[3]
"*" and "*"
ls *.txt src/*.py lib/*.js
2**n*3**m
a**b**c
**/*.ts, **/*.tsx
3*4个, 5*6个
*.{js,ts} and src/*.{css,md}
m*c**2, E = m*c**2
2*(3+4)*(5+6)
(*, a) and (b, *)
A[i]*B[j]*C[k]
5*x*y*z
^.*$ and ^.*$
x²*y²*z², x₁*x₂*x₃ and x²**y²**z²
f'*g*h' and f’*g*h’
90°*2*3° and ½*3*4
Liebe Kolleg*innen und Freund*innen!
jede*r Lehrer*in, die Schüler*innen und ein*e Nachbar*in.
sh*t and f*ck
the __init__ method, __init__() and __post_init__.
if __name__ == "__main__": __all__ = ["a"]
pkg/__init__.py, obj.__class__.__name__ and __getattr__/__setattr__
__FILE__:__LINE__ and __VA_ARGS__, __proto__, __has_include__
__aenter__ 和__aexit__方法
""".strip().split("\n")
"""What must be shown as it is written."""

EMPHASIS = r"""
*a* <b> **b** <b> ***c***
un*believ*able and te*x*t
这是**重点**内容
第*2*章
共**5**个
12**月**31**日**
**「強調」**です
모델**(gpt-oss)**은
이것은 **"강조"**입니다
**5**x faster
**A**4
*n*th
the **API**s
**up to 5**x faster
**Note:** *see* (**this**)
**.NET** and *.NET* and **.env**
**/etc/passwd** and *src/*
*x*-axis
**f(x)** *f(x)*
**Total: 5**
foo**bar**baz
un*believ*ably, in*cred*ible.
**CO**2
*(a)* [*b*] "*c*" "**d**"
**a**, **b**; **c**.
**1.** one **2)** two
**in 2023**[x]
use **(** and **)**
*It works.*, he said
**Plan B**s
**$5**, *5%*
**"quoted"** text
*a **b** c*
**a *b* c**
""".strip().split("\n")
"""What must be bold or italic, so that no star or underscore of it is seen."""


def shown(html: str) -> str:
    return unescape(re.sub("<[^>]*>", "", html)).strip()


def is_emphasized(html: str) -> bool:
    return re.search("<(em|strong)>", html) is not None


@pytest.mark.parametrize("text", SIGNS)
def test_stars_of_arithmetic_and_of_file_names_are_shown(text: str) -> None:
    assert shown(render(text).html) == text and not is_emphasized(render(text).html)


@pytest.mark.parametrize("text", EMPHASIS)
def test_stars_around_words_are_emphasis(text: str) -> None:
    assert is_emphasized(render(text).html) and not re.search("[*_]", render(text).html)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**2*3 = 6** is *right*", "<strong>2*3 = 6</strong> is <em>right</em>"),
        ("**Liebe Kolleg*innen und Freund*innen**, *hallo*", "<strong>Liebe Kolleg*innen und Freund*innen</strong>, <em>hallo</em>"),
        ("*2*3*4* and **x**", "<em>2</em>3*4* and <strong>x</strong>"),
        ("`a`*`b`*`c`", "<code>a</code>*<code>b</code>*<code>c</code>"),
        ("`2*3*4` and \\*a*b\\*", "<code>2*3*4</code> and *a*b*"),
        ("**Sum: 2*(3+4)*5**", "<strong>Sum: 2*(3+4)*5</strong>"),
        ("__see __init__ here__ and __all__", "<strong>see __init__ here</strong> and __all__"),
        ("**the __init__ method** and *__main__*", "<strong>the __init__ method</strong> and <em>__main__</em>"),
        ("`__a__` and \\_\\_init\\_\\_", "<code>__a__</code> and __init__"),
        ("| 2*3*4 | **b** |\n|-|-|\n", "2*3*4"),
    ],
)
def test_signs_and_emphasis_stand_beside_each_other(text: str, html: str) -> None:
    assert html in render(text).html


@pytest.mark.parametrize("text", [text for text in (*SIGNS, *EMPHASIS) if "[" not in text and not text.startswith("(*")])
def test_what_is_shown_of_a_growing_text_stays(text: str) -> None:
    """Nothing that was shown is taken back, so no star comes and goes: what is shown at each moment begins what is shown at the end."""
    final = shown(render(text).html)
    blocks = Blocks()
    for letter in text:
        blocks.feed(letter)
        blocks.tail()
        assert final.startswith(shown("".join(block.html for block in blocks.html())))


_OPERANDS = st.one_of(st.integers(0, 120).map(str), st.sampled_from(["x", "y", "n", "2x", "(a+b)", "f(x)", "π"]))


@given(
    st.lists(st.tuples(_OPERANDS, st.sampled_from(["*", "**"])), min_size=1, max_size=6),
    _OPERANDS,
    st.sampled_from(["", "So ", "**Sum**: "]),
)
def test_any_expression_is_shown_as_it_is_written(factors: list[tuple[str, str]], last: str, before: str) -> None:
    expression = "".join(operand + sign for operand, sign in factors) + last
    assert shown(render(f"{before}{expression} = 1").html) == f"{before.replace('**', '')}{expression} = 1"


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a*b ", "2*3", "*.a ", "**5**x ", "`a*", "(*)", "*a 2*", "``*a` ", "__init", "__a_b__ "])
def test_many_stars_and_underscores_are_read_in_linear_time(piece: str) -> None:
    assert costs_at_most(1000, lambda: render(piece * 10_000))
