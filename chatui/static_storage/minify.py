"""Minifies our own scripts and style sheets: removes comments, indentation and empty lines, and shortens private names.

These are regular expressions for the format of this repository's code, not parsers. Tests read each file before and after: scripts with
TypeScript's scanner, which must find the same tokens except for private names, and sheets with Chromium, which must find the same rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count, product
from string import ascii_lowercase


def script(text: str) -> str:
    """A script without comments on their own lines and without type comments in expressions, with less white space and with short private
    names.
    """
    lines = _SPACE.sub("\n", _with_short_private_names(_TYPE.sub("", without_comments(text)))).lstrip().split("\n")
    # A template literal of several lines has lines that look like code.
    if any(line.count("`") % 2 for line in lines):
        return "\n".join(lines)
    return "".join(_without_spaces(line) + ("" if _joins_next(line) else "\n") for line in lines[:-1]) + _without_spaces(lines[-1])


def without_comments(text: str) -> str:
    """A script without comments on their own lines."""
    return _BLOCK.sub("", _LINE.sub("", text))


def unsafe_line(text: str) -> str:
    """The first line of a script whose meaning minifying would change; empty if there is none. Has false positives."""
    for line in without_comments(text).splitlines():
        types = [line[: found.start()] for found in _TYPE.finditer(line)]
        is_open = [line.count("`") % 2, line.endswith("\\"), *(before.count(mark) % 2 for before in types for mark in "\"'`")]
        if any(is_open):
            return line.strip()
    return ""


def sheet(text: str) -> str:
    """A style sheet without comments, without white space around braces, semicolons, commas and ``>`` and after the colon of a property,
    and without the last semicolon of a rule."""
    pieces = _STRING.split(_SPACE.sub("\n", _COMMENT.sub("", text)).lstrip())
    pieces[::2] = [_AFTER_NAME.sub(":", _BETWEEN_RULES.sub(r"\1", piece)).replace(";}", "}") for piece in pieces[::2]]
    return "".join(pieces)


def _with_short_private_names(text: str) -> str:
    """Shorten the private names of a script, the most frequent ones most: nothing outside of a class uses them."""
    declared = {found[1] for found in _DECLARED.finditer(text)}
    counts = Counter(name for name in _PRIVATE.findall(text) if name in declared)
    short = {name: letters for (name, _), letters in zip(counts.most_common(), _short_names(), strict=False)}
    return _PRIVATE.sub(lambda found: f"#{short.get(found[1], found[1])}", text)


def _short_names() -> Iterator[str]:
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _without_spaces(line: str) -> str:
    """A line of a script without spaces around operators and punctuation. Lines that may have more than code and strings are unchanged."""
    pieces = _STRING.split(line)
    # Other literals and comments begin with one of these marks outside of a string.
    if any(mark in piece for piece in pieces[::2] for mark in "`'/"):
        return line
    pieces[::2] = [_AROUND.sub(r"\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def _joins_next(line: str) -> bool:
    """Whether the line break after a line of a script can be removed: it ends neither a comment nor a statement without a semicolon."""
    return line.endswith(("{", "(", "[", ",", ";")) and "//" not in line


_LINE = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*\n", re.MULTILINE)
_TYPE = re.compile(r"/\*\* @[^*`]*\*/ ?")
_DECLARED = re.compile(r"^[ \t]+(?:static |async |get |set )*#(\w+)", re.MULTILINE)
_PRIVATE = re.compile(r"(?<![^\s.])#(\w+)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SPACE = re.compile(r"\n\s*")
_STRING = re.compile(r'("(?:[^"\\\n]|\\.)*")')
_AROUND = re.compile(r" ?([{}()\[\],:;?]|=>|===?|!==?|&&|\|\||=|[<>]=?) ?")
_BETWEEN_RULES = re.compile(r"\s*([{};,>])\s*")
_AFTER_NAME = re.compile(r"(?<=[\w-]): ")
