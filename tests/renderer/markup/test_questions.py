"""Questions are shown as they were written: every character, every space, and code between fences as code."""

from __future__ import annotations

import random
import re
from html import unescape

import pytest

from renderer.markup import html
from renderer.markup import html as questions
from renderer.markup.html import plain
from tests.support.cases import for_each
from tests.support.cost import costs_at_most

LOG = "$ make\n  <b>gcc</b> -O2 *.c\n\tif (a < b && c_d_e) { `x` }\n\n    - not a list\n# not a heading\n1. 2. 3.  **stars**"


@for_each(
    [LOG, "", "    indented\n        more", "a ``` b", "```js\nnever ended", "``` a ` b\n```", "~~~\nx\n```", "    ```\n    x\n    ```"]
)
def test_text_outside_fences_is_shown_unchanged(text: str) -> None:
    assert html.question(text) == plain(text)


def test_text_between_fences_is_code_and_the_rest_is_unchanged() -> None:
    shown = str(html.question("Why *this*?\n\n```python\nif a < b:\n    print('`*`')\n```\n\nIt <fails>."))
    assert shown == (
        '<div class="block plain" dir="auto">Why *this*?</div>'
        '<div class="block" dir="auto"><pre dir="ltr"><code class="language-python">if a &lt; b:\n    print(\'`*`\')\n</code></pre></div>'
        '<div class="block plain" dir="auto">It &lt;fails&gt;.</div>'
    )


@for_each(
    [
        ("```\na\n```", [(True, "```\na\n```")]),
        ("a\n```\nb\n```\nc", [(False, "a"), (True, "```\nb\n```"), (False, "c")]),
        ("````\n```\nb\n```\n````", [(True, "````\n```\nb\n```\n````")]),
        ("```\na\n```\n```\nb\n```", [(True, "```\na\n```"), (True, "```\nb\n```")]),
        ("~~~ `x`\na\n~~~~", [(True, "~~~ `x`\na\n~~~~")]),
        ("```\na\n```\n```\nopen", [(True, "```\na\n```"), (False, "```\nopen")]),
    ]
)
def test_fences_are_found_as_in_answers(text: str, expected: list[tuple[bool, str]]) -> None:
    assert list(questions.parts(text)) == expected


def test_no_character_of_a_question_is_lost_except_fences_and_blank_lines() -> None:
    chance = random.Random(3)
    lines = ["```", "~~~", "```py", "a < b", "  *x*", "", "`", "    deep", "[l](http://a.example)", "<script>", "$x$", "| a |"]
    for _ in range(400):
        text = "\n".join(chance.choices(lines, k=chance.randint(1, 12)))
        seen = unescape(re.sub("<[^>]*>", "", str(html.question(text)).replace("</div>", "\n")))
        expected = [line.strip() for line in text.split("\n") if line.strip() and not re.match("```|~~~", line)]
        assert [line for line in (line.strip() for line in seen.split("\n")) if line and not re.match("```|~~~", line)] == expected


@pytest.mark.parametrize("text", ["x" * 1501, "a\n" * 18])
def test_a_long_question_is_recognized(text: str) -> None:
    assert questions.is_long(text)
    assert not questions.is_long(text[: len(text) // 2])


@pytest.mark.slow
@pytest.mark.parametrize("line", ["~~~a\n", "```\n~~~\n", "```a\n", "~~~\n"])
def test_many_fences_take_under_a_second(line: str) -> None:
    assert costs_at_most(1000, lambda: html.question(line * (60_000 // len(line))))
