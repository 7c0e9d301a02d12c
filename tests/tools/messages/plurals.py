"""Compiles a catalogue's plural rule, a C expression in ``n``, to JavaScript. Nothing else is accepted."""

from __future__ import annotations

import re

HEADER = re.compile(r"\s*nplurals\s*=\s*(\d+)\s*;\s*plural\s*=(.+?);?\s*$")
TOKEN = re.compile(r"\s*(\d+|n|[=!<>]=|&&|\|\||[-+*/%<>?:()!])")
BINARY = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
"""In order of rising precedence."""


def compiled(header: str) -> str:
    """The expression of a ``Plural-Forms`` header as JavaScript, which gives the index of a form.

    Raises:
        ValueError: it is no such expression.
    """
    found = HEADER.match(header)
    if not found:
        raise ValueError(f"no plural rule: {header!r}")
    tokens = _tokens(found[2])
    expression = _ternary(tokens)
    if tokens:
        raise ValueError(f"more after the plural rule: {' '.join(tokens)!r}")
    # A comparison alone is true or false.
    return f"Number({expression})"


def _tokens(text: str) -> list[str]:
    tokens, place = [], 0
    while place < len(text.rstrip()):
        token = TOKEN.match(text, place)
        if not token:
            raise ValueError(f"not a part of a plural rule: {text[place:]!r}")
        tokens.append(token[1])
        place = token.end()
    return tokens


def _ternary(tokens: list[str]) -> str:
    condition = _binary(tokens, 0)
    if not _takes(tokens, "?"):
        return condition
    first = _ternary(tokens)
    _expect(tokens, ":")
    return f"{condition} ? {first} : {_ternary(tokens)}"


def _binary(tokens: list[str], level: int) -> str:
    if level == len(BINARY):
        return _unary(tokens)
    left = _binary(tokens, level + 1)
    while tokens and tokens[0] in BINARY[level]:
        operator = tokens.pop(0)
        # JavaScript's "==" converts types, and there is nothing to convert.
        strict = f"{operator}=" if operator in ("==", "!=") else operator
        left = f"{left} {strict} {_binary(tokens, level + 1)}"
    return left


def _unary(tokens: list[str]) -> str:
    if _takes(tokens, "!"):
        return f"!{_unary(tokens)}"
    if _takes(tokens, "("):
        inside = _ternary(tokens)
        _expect(tokens, ")")
        return f"({inside})"
    if not tokens or not (tokens[0] == "n" or tokens[0].isdigit()):
        raise ValueError("a plural rule ends too early, or has a sign too many")
    return tokens.pop(0)


def _takes(tokens: list[str], token: str) -> bool:
    return bool(tokens and tokens[0] == token and tokens.pop(0))


def _expect(tokens: list[str], token: str) -> None:
    if not _takes(tokens, token):
        raise ValueError(f"a plural rule lacks {token!r}")
