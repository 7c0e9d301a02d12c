"""Decides whether an answer only mentions a marker or the model emitted it, from the text around it."""

from __future__ import annotations

import re

from chatui.backends.leaks.folding import bare
from chatui.backends.leaks.leak_patterns import Kind, Sign

LOOK_AHEAD = 40
"""This many characters after a sign are enough to decide; often one is."""

QUOTES = {
    '"': '"',
    "'": "'",
    "“": "”“",
    "”": "”",
    "„": "“”",
    "‘": "’",
    "‚": "‘’",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    "(": ")",
    "*": "*",
    "_": "_",
    "[": "]",
    "{": "}",
    "`": "`",
}
_MARK = r"(?:\\*<[^<>\n]{1,40}>|\[/?[A-Za-z]{3,12}\]|◁/?\w+▷)"
_QUOTE = r"[\"'“”„‘’«»「」*_`]?"
_JOIN = (
    r"(?:\s?(?:,|/|\||…|\.\.\.|-|–|—|→|->|\+|&|和|与|與|及|到|至|と|や|から|와|과|및)\s?"
    r"|,?\s(?:and|or|to|through|until|then|followed by|and then|with|und|oder|bis|et|ou|à|y|o|u|e|a|и|или|до|i|lub|och|eller|en|of)"
    r"\s(?:the |a |an |das |der |le |la |el |o )?)"
)
_LATIN_NOUN = (
    r"(?:(?:closing |opening |special |control |end |start |stop |reasoning |thinking )?"
    r"(?:tags?|tokens?|markers?|elements?|blocks?|sections?|labels?|delimiters?|markup|wrappers?|pairs?|syntax|format|channels?|strings?|prefix(?:es)?|headers?"
    r"|sequences?|symbols?|mode|nodes?|Tags?|Marken?|Markierung(?:en)?|Blöcke?n?|Block|Abschnitte?|Zeichen(?:folge)?|balises?|jetons?|marqueurs?|etiquetas?|marcadores?|bloques?"
    r"|marcas?|marcador|тег\w*|токен\w*|блок\w*|маркер\w*|znacznik\w*)\b)"
)
_CJK_NOUN = "(?:标签|標籤|标记|標記|令牌|タグ|トークン|マーカー|要素|태그|토큰|标识)"
_NOUN_BEFORE = re.compile(rf"(?:{_LATIN_NOUN}|{_CJK_NOUN})\s?(?:called |named |like |such as |: ?|is |are )?{_QUOTE}\Z", re.IGNORECASE)
# A word glued to the sign is no noun beside it: reasoning begins like that.
_NOUN_AFTER = re.compile(rf"{_QUOTE}(?:[\s-]{{1,2}}{_LATIN_NOUN}|[\s-]{{0,2}}{_CJK_NOUN})", re.IGNORECASE)
_LINKED_AFTER = re.compile(rf"{_QUOTE}{_JOIN}{_QUOTE}(?:{_MARK}|\\*<[|/])")
_LINKED_BEFORE = re.compile(rf"{_MARK}{_QUOTE}{_JOIN}{_QUOTE}\Z")
_SMALL_PAIR = re.compile(r"(?:\s?(?:\.\.\.|…)\s?|\s?[a-z]{1,12}\s?)?\\*</[\w:-]{2,30}>(?P<close>.)", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|\|)\s*\Z")
_EXPLAINED = re.compile(r"\s?(?::\s|\||–|—|->|→|-\s|=\s)")
_PUNCTUATION = ".,;:!?)]。，、：；！？）"
_SPEAKS_ON = re.compile(r"[\w,:]\s\Z")
_SPOKEN_OF = re.compile(rf"\s{_QUOTE}{_MARK}{_QUOTE}[\s.,;].*[\w,]\s\Z")
_GOES_ON = re.compile(r"\s[a-zà-öø-ÿα-ωа-я]|[.,;:!?)]")
"""A closing tag whose opening tag is mentioned in the same line, in a sentence that continues after it."""


def is_mention(sign: Sign, line: str, after: str, *, is_end: bool) -> bool | None:
    """Whether the answer only mentions the sign. None if more text is needed, never so with ``is_end``.

    ``line``: the text before it in its line. ``after``: the next LOOK_AHEAD characters, or as many as have arrived.
    """
    whole = is_end or len(after) >= LOOK_AHEAD or "\n" in after
    line, after = bare(line), bare(after.partition("\n")[0])
    match sign.kind:
        case Kind.SPECIAL | Kind.WRAPPER:
            verdict = _of_special(line, after)
        case Kind.COLLAPSED:
            verdict = _of_collapsed(line, after)
        case _:
            verdict = _of_tag(line, after, whole=whole)
            if sign.kind is Kind.CLOSING and _SPOKEN_OF.search(line) and _GOES_ON.match(after):
                return True
    if verdict or whole:
        return bool(verdict)
    return None if verdict is None else False


def _of_tag(line: str, after: str, *, whole: bool) -> bool | None:
    """For a tag. None if there is no evidence yet, but more text could provide it."""
    if _is_quoted(line, after):
        return True
    if not line.strip():
        return False
    if _BULLET.fullmatch(line):
        return bool(_EXPLAINED.match(after)) or (None if len(after) < 3 else False)
    if _stands_in_a_sentence(line, after, whole=whole):
        return True
    return False if _is_glued(after) and line[-1:] not in QUOTES else None


def _is_quoted(line: str, after: str) -> bool:
    """Whether it is in quotation marks: alone, or as a pair with next to nothing inside."""
    if line[-2:] in ("« ", "«\u00a0") and after.startswith((" »", "\u00a0»")):
        return True
    closing = QUOTES.get(line[-1:])
    if closing is None:
        return False
    pair = _SMALL_PAIR.match(after)
    return after.startswith(tuple(closing)) or bool(pair and pair["close"] in closing)


def _stands_in_a_sentence(line: str, after: str, *, whole: bool) -> bool:
    """Whether it is next to a noun such as "tag", linked to another sign, or before the end of a sentence."""
    if _NOUN_BEFORE.search(line) or ((after or whole) and _LINKED_BEFORE.search(line) and not _is_glued(after)):
        return True
    noun = _NOUN_AFTER.match(after)
    # The noun may still become a longer word.
    if (noun and (whole or noun.end() < len(after))) or _LINKED_AFTER.match(after):
        return True
    return after.startswith(tuple(_PUNCTUATION)) and bool(_SPEAKS_ON.search(line))


def _of_special(line: str, after: str) -> bool | None:
    if not after:
        return None
    if _is_glued(after) or after[0] in "<\\&":
        return False
    return not line or line[-1].isspace() or line[-1] in QUOTES or line[-1] in ",:/=|-–—、，："


def _of_collapsed(line: str, after: str) -> bool | None:
    if not after:
        return None
    if line and line[-1] in QUOTES and after[0] in QUOTES[line[-1]]:
        return True
    return bool(line.strip()) and line[-1].isspace() and not _is_glued(after) and after[0] not in "<*#"


def _is_glued(after: str) -> bool:
    """Whether a word begins directly after the sign."""
    return after[:1].isascii() and after[:1].isalnum()
