"""Generates long answers in the style of models from a seed, and splits them into tokens."""

import random
from collections.abc import Callable

TOKEN_CHARACTERS = 4
_WORDS = ["the model", "an answer", "server", "page", "people", "reads `code`", "writes **strongly**", "in each of its parts"]
_WORDS += ["[a link](https://example.org)", "and more", "of", "which", "*perhaps*", "never", "a"]


def prose(characters: int) -> str:
    """Paragraphs, lists, headings and small code blocks: many blocks, none of them long."""
    chance = random.Random(7)
    parts: list[str] = []
    length = 0
    while length < characters:
        part = chance.choice((_paragraph, _paragraph, _list, _heading, _small_code))(chance) + "\n\n"
        parts.append(part)
        length += len(part)
    return "".join(parts)


def code(characters: int) -> str:
    """One code block that stays open to the end."""
    chance = random.Random(11)
    lines = (f"    value_{number} = compute({chance.randrange(10_000)}, 'text')\n" for number in range(characters // 40))
    return "```python\n" + "".join(lines) + "```\n"


def table(characters: int) -> str:
    """One table that stays open to the end."""
    chance = random.Random(13)
    rows = (f"| {number} | {chance.randrange(10_000)} | {' '.join(chance.choices(_WORDS, k=4))} |\n" for number in range(characters // 60))
    return "| n | value | words |\n| --- | --- | --- |\n" + "".join(rows)


SHAPES: dict[str, Callable[[int], str]] = {"prose": prose, "one code block": code, "one table": table}


def tokens(text: str) -> list[str]:
    """The text in pieces of about the length of a token."""
    return [text[start : start + TOKEN_CHARACTERS] for start in range(0, len(text), TOKEN_CHARACTERS)]


def _paragraph(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randrange(30, 90))) + "."


def _list(chance: random.Random) -> str:
    return "\n".join(f"- {' '.join(chance.choices(_WORDS, k=8))}" for _ in range(chance.randrange(3, 8)))


def _heading(chance: random.Random) -> str:
    return f"## {' '.join(chance.choices(_WORDS, k=4))}"


def _small_code(chance: random.Random) -> str:
    return "```python\n" + "\n".join(f"print({chance.randrange(100)})" for _ in range(chance.randrange(3, 9))) + "\n```"
