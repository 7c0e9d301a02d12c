"""Markdown for tests: constructs of real answers, our own examples for each rule of CommonMark, and a generator of random mixes."""

import json
import random
from typing import NamedTuple

from tests.support.places import ANSWERS


class Answer(NamedTuple):
    """One construct of a real answer: its name, its Markdown and the HTML that a reader expects."""

    name: str
    markdown: str
    expected: str


def answers() -> list[Answer]:
    """The constructs of real answers, from ``data/answers.jsonl``."""
    rows = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    return [Answer(row["id"], row["markdown"], row["expected"]) for row in rows]


# Texts in which a line decides what an earlier line means, or only seems to.
EXAMPLES = [
    "Foo\nbar\n===\n\nBaz\n---\n",
    "- a\n- b\n---\n",
    "* a\n* * *\n* b\n",
    "1. a\n2. b\n\n\n3. c\n4) d\n",
    "para\n2. no list\n1. a list\n",
    "[a]: /u\n2. x\n\n- y\n",
    "- a\n\n      code\n\n    b\n\nc\n",
    "-\n\n  a\n",
    "- a\n\n\n  b\n- c\n\n\n\nd\n",
    "> a\nlazy\n> b\n\n> c\n***\n",
    "> ```\ncode\n```\n",
    "> - a\nlazy\n\n- b\n",
    "    code\n\n    more\n\n\nend\n",
    "a\n    b\n",
    "~~~ py\n```\n~~~~\n~~~\nstill\n",
    "  ```\n   a\n b\n  ```\nafter\n",
    "- ```\n  a\n\n  b\n- c\n",
    "- ```\na\n",
    "```md\n```sh\na\n```\nb\n```\nc\n",
    "```\na\n```sh\nb\n```\nc\n\n```\nd\n```\n",
    "~~~\n~~~ x\n````\n~~~\n~~~~ y\n~~~\n~~~~\n~~~\nend\n",
    "> ```md\n> ```sh\n> ```\n\n- ```md\n  ```sh\n  ```\n- ```\n  a\n  ```\n\nend\n",
    "````md\n```sh\na\n```\n````\nb\n",
    "| a | b |\n|---|---|\n| `x|y` | $|z|$ |\n| 1 | 2 | 3 |\n| \\(p|q\\) |\n| `a | b` |\n",
    "| a |\n| - |\n| b |\n> c\n",
    "x\n| a | b |\n| - | - |\nc\n\nd\n",
    "# a | b\n| - | - |\n",
    "- a | b\n| - | - |\n",
    "| a |\n|---|\n\n| b |\n|---|\n",
    '[x]: http://e.example "title\nover lines"\n\n[x] and [y][x]\n',
    '[x]: http://e.example\n"no title" here\n[x]\n',
    "[x]\n\n> [x]: http://quoted.example\n\n[x]: http://second.example\n",
    "[x]: http://one.example\n[x]: http://two.example\n[x]\n",
    "[X] and [ẞ]\n\n[x]: http://x.example\n[SS]: http://s.example\n",
    "a[^1] b[^two words] c[^2]\n\n[^1]: one\n    still one\n\n    and a paragraph\n[^2]: two\nlazy\n\nend\n",
    "- a[^n]\n\n  [^n]: inside\n- b\n",
    "\\[\nx\n\n- y\n+ z\n\\]\nafter\n",
    "text\n\\[\n+ a\n\nno end\n",
    "$$\na\n$$ b\n\n$$ c $$\n",
    "- \\[\n  x\n  \\]\n> $$\n> y\n> $$\n",
    "\\[\n" + "x\n" * 70 + "\\]\n",
    "*a **b* c**\n**a\n\nb**\n",
    "`a\nb` ``c ` d``\n\n`e\n",
    "<sub>a *b</sub> c*\n<sub>\n",
    "a\\\nb  \nc\n",
    "\tcode\n- \tx\n-\ty\n",
    "a\r\nb\rc\n\r\nd",
    "\n\n\n",
    "# \n## #\n#no\n",
    "+\n+ a\n",
    "***\n- - -\n_ _ _\n",
    "[a](b\n[c](http://d.example\n'title')\n",
    "![a][b]\n\n[b]: http://c.example/d.png\n",
    "- a\nText\n**b:**\n- c\nlazy\n",
    "1. A\n  - B\n    c\n2. D\n\n  E\n\n10. F\n  ```\n  g\n  ```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\nText.\n",
    "a | b\n--|--\n1 | 2\nText.\nMore | so\n",
    "> [!NOTE]\n> a\n> - b\nText\n\n> [!tip] c\n> [!TIP]\n",
    "So\n\\begin{align}\na &= b \\\\\n\n- c\n\\end{align}\nend\n",
    "\\begin{align}\na \\\\ b\n\n\\begin{foo} c \\\\\n",
    "2*3*4 and **5**x, *.py, (*), a*b*\n",
    "no line end",
]

FRAGMENTS = [
    *(
        "- a",
        "* b",
        "1. x",
        "2. y",
        "1)",
        "> q",
        ">> z",
        "# h",
        "```",
        "~~~",
        "```py",
        "```",
        "   ```",
        "|a|b|",
        "|-|-|",
        "|`a|b`|$|c|$|",
        "text",
        "    code",
    ),
    *("  more", "", "", "", "[x]: http://e.example/x", '"title"', "[y]:", "[^n]: note", "see [x] and [^n]", "**bo", "ld**", "\\[", "\\]"),
    *(
        "+ z",
        "$$",
        "---",
        "===",
        "***",
        "`c",
        "d`",
        "\t- t",
        "   - n",
        "-",
        "http://a.example/b",
        "<sub>2</sub>",
        "![i](http://h.example/j)",
    ),
    *("Text", "**L:**", "> [!NOTE]", "\\begin{align}", "\\end{align}", "a \\\\", "a | b", "  - n", "2*3", "*b*"),
    *("[l](http://", "\\( a", "b \\)", "*", "][", "    ", "\r", "字**「強」**で", "$x_1$", "$5", "$"),
]


def mix(chance: random.Random) -> str:
    """A random text: several answers, several lines, or fragments that ignore line breaks."""
    kind = chance.random()
    if kind < 0.3:
        return "\n".join(chance.choice(answers()).markdown for _ in range(chance.randint(1, 5)))
    if kind < 0.65:
        return "\n".join(chance.choices(FRAGMENTS, k=chance.randint(1, 14))) + chance.choice(["", "\n"])
    return "".join(chance.choices([*FRAGMENTS, "\n", "\n", "\n\n", " "], k=chance.randint(1, 30)))
