"""The signs of raw model output in an answer: reasoning tags, special tokens, and the remains of stripped markers.

All of it is looked for in *folded* text, in which look-alikes are the characters that they look like, one for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

_ZERO = "\u200b"
_INVISIBLE = "\u200c\u200d\u2060\ufeff\u00ad\u180e\u200e\u200f\u2061\u2062\u2063\u2064"
_LOOKALIKES = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},  # full width
    **{ord(character): _ZERO for character in _INVISIBLE},
    **dict.fromkeys(map(ord, "\u2039\u3008\u27e8\ufe64\u2329"), "<"),
    **dict.fromkeys(map(ord, "\u203a\u3009\u27e9\ufe65\u232a"), ">"),
    **dict.fromkeys(map(ord, "\u2223\u2502\uffe8\u01c0\u2758"), "|"),
    ord("\u2581"): "_",
    ord("\u00a0"): " ",
}


def folded(text: str) -> str:
    """``text`` with each look-alike replaced; every character stays at its place."""
    return text if text.isascii() else text.translate(_LOOKALIKES)


def bare(text: str) -> str:
    """Folded text without invisible characters."""
    return text.replace(_ZERO, "")


class Kind(Enum):
    """What a sign says."""

    OPENING = auto()
    CLOSING = auto()
    SPECIAL = auto()
    """A special token, ``<|name|>``, whole or in pieces."""
    WRAPPER = auto()
    """Stands around the answer itself; it is left out, and hides nothing."""
    PLAIN = auto()
    """Opens what has the same ending as something around reasoning, and is none of it."""
    COLLAPSED = auto()
    """``assistantfinal`` and the like: what is left where markers were stripped."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign that stands in folded text from ``start`` to ``end``. ``name``: of the tag or token, in small letters."""

    kind: Kind
    name: str
    start: int
    end: int


class Wait:
    """It may become a sign with more text."""


WAIT = Wait()

NAMES = (
    *("think", "thinking", "thinks", "thought", "thoughts", "reasoning", "reason", "analysis", "scratchpad", "reflection"),
    *("chain_of_thought", "chain-of-thought", "cot", "inner_monologue", "inner_thoughts", "internal_monologue", "monologue"),
    *("thought_process", "thinking_process", "reasoning_process", "reasoning_content", "internal_thoughts", "deliberation"),
    *(
        "antthinking",
        "antml:thinking",
        "seed:think",
        "seed:cot_budget_reflect",
        "start_of_thinking",
        "end_of_thinking",
        "unused94",
        "unused95",
    ),
)
"""Tags that stand around reasoning, as models of many makes write them."""
_ENDINGS = {"end_of_thinking": "start_of_thinking", "unused95": "unused94"}
_BRACKETED = ("think", "thinking", "thought", "reasoning", "reason", "analysis")
HARMONY = ("start", "end", "message", "channel", "constrain", "return", "call")
_WRAPPERS = re.compile(r"(?:start|end|begin|begin_of|end_of)_(?:response|text|solution|answer)")
_ABOUT_REASONING = re.compile(r"think|thought|reasoning|scratchpad|analysis")
_IS_END = re.compile(r"/|end|close|stop")

_LT = r"\\{0,8}(?:<|&(?:amp;)?(?:lt|\#60|\#x3c);)"
_GT = r"\\?(?:>|&(?:amp;)?(?:gt|\#62|\#x3e);)"
_BAR = r"(?:\\?\||&(?:amp;)?(?:vert|\#124|\#x7c);)"
_Z = "\u200b{0,9}"


def _spread(word: str) -> str:
    return _Z.join(re.escape(letter) for letter in word)


_NAME = r"/?[\w.:/\u200b-]{1,60}?"
_KNOWN = "(?:" + "|".join(map(_spread, HARMONY)) + ")"
_SPECIAL = re.compile(
    rf"{_LT}{_Z}{_BAR}{_Z} ?(?P<a>{_NAME}) ?{_Z}{_BAR}?{_Z}{_GT}"
    rf"|{_LT}{_Z} ?(?P<b>{_NAME}) ?{_Z}{_BAR}{_Z}{_GT}"
    rf"|{_LT}{_Z}{_BAR}{_Z} ?(?P<c>{_KNOWN}) ?{_Z}{_BAR}"
    rf"|{_BAR}?{_Z}(?P<d>{_KNOWN}){_Z}{_BAR}{_Z}{_GT}",
    re.IGNORECASE,
)
_TAG = re.compile(
    rf"{_LT}{_Z}\s{{0,2}}(?P<slash>/?){_Z}\s{{0,2}}(?P<name>[a-z][\w:\u200b-]{{0,60}})"
    rf"(?:\s+[\w:-]+\s*=\s*(?:\"[^\"\n<>]{{0,80}}\"|'[^'\n<>]{{0,80}}'|[^\s<>\"']{{1,80}})){{0,6}}\s{{0,2}}/?{_GT}",
    re.IGNORECASE,
)
_BRACKET = re.compile(rf"\\?\[{_Z}\s?(?P<slash>/?){_Z}\s?(?P<name>[A-Z\u200b]{{3,20}}|(?i:think))\s?{_Z}\\?\]")
_TRIANGLE = re.compile(rf"◁{_Z}\s?(?P<slash>/?){_Z}\s?(?P<name>[a-z\u200b]{{3,20}})\s?{_Z}▷", re.IGNORECASE)
_COLLAPSED = re.compile(
    rf"{_spread('assistant')}(?P<line>{_Z}\s*\n\s*)?{_Z}(?P<name>{'|'.join(map(_spread, ('analysis', 'commentary', 'final')))})"
)
_DETAILS_OF_REASONING = re.compile(
    r"\s{0,4}<summary[^<>\n]{0,60}>[^<>\w]{0,12}(?:thinking|thoughts?\b|thought (?:process|for)|reasoning|chain of thought|raw reasoning)",
    re.IGNORECASE,
)
_DETAILS_MAYBE = re.compile(r"\s{0,4}(?:<(?:s[^>]{0,70}(?:>[^<>]{0,40})?)?)?\Z", re.IGNORECASE)

TRIGGER = re.compile(
    rf"[\n`]|\\{{0,3}}<|\\{{0,3}}&(?:amp;)?(?:lt|\#60|\#x3c);|\\?\[|◁|(?:{_BAR}{_Z})?{_KNOWN}(?={_Z}{_BAR}{_Z}{_GT})|{_spread('assistant')}(?=[acf\s\u200b]|\Z)",
    re.IGNORECASE,
)
"""Where a sign may begin, and what tells code from prose."""

_ENTITY = re.compile(r"\\+\Z|\\*&[\#\w]{0,8}(?:;[\#\w]{0,8})?\Z")
_PREFIXES = frozenset(
    prefix.lower()
    for word in (*(f"assistant{name}" for name in ("analysis", "commentary", "final")), *(f"{name}|>" for name in HARMONY))
    for prefix in (word[:length] for length in range(1, len(word) + 1))
)
_LONGEST = max(map(len, _PREFIXES))
_TAG_PREFIXES = frozenset(name[:length] for name in (*NAMES, *HARMONY, "details") for length in range(1, len(name) + 1))
_BRACKET_PREFIXES = frozenset(name[:length] for name in _BRACKETED for length in range(1, len(name) + 1))
_MOST_WAITING = 240


def undecided(text: str) -> int:
    """How many characters at the end of folded text may be the beginning of a sign for which there is no trigger yet."""
    end = text[-64:]
    if match := _ENTITY.search(end):
        return len(match[0])
    if _ZERO in end:
        word = re.search(r"[\w|\u200b]*\Z", end)
        return len(word[0]) if word and bare(word[0]).lower() in _PREFIXES | {""} else 0
    if end.endswith("|"):
        return 1 + undecided_word(end[:-1])
    return undecided_word(end)


def undecided_word(end: str) -> int:
    """How many of its last characters are the beginning of a word that a sign may begin with."""
    for length in range(min(_LONGEST, len(end)), 0, -1):
        if end[-length:].lower() in _PREFIXES:
            return length
    return 0


def sign_at(text: str, at: int, *, is_end: bool) -> Sign | Wait | None:
    """The sign that begins at a trigger, None where none does. ``is_end``: no more text comes."""
    first = text[at]
    if first == "◁" or first == "[" or text.startswith("\\[", at):
        return _bracket_at(text, at, is_end=is_end)
    if first in "aA" and (collapsed := _COLLAPSED.match(text, at)):
        return Sign(Kind.COLLAPSED, "\n" if collapsed["line"] else bare(collapsed["name"]), at, collapsed.end())
    if first in "aA":
        return WAIT if not is_end and _is_collapsed_begun(text[at : at + 60]) else None
    special = _SPECIAL.match(text, at)
    if special and not (special["c"] and special.end() == len(text) and not is_end):
        return _special(special)
    tag = _TAG.match(text, at)
    if tag:
        return _tag(text, tag, is_end=is_end)
    return WAIT if not is_end and _may_become_one(text[at : at + _MOST_WAITING]) else None


def signs_in(text: str) -> Iterator[Sign]:
    """All signs in a text that has ended, in order."""
    at = 0
    while trigger := TRIGGER.search(text, at):
        sign = sign_at(text, trigger.start(), is_end=True)
        at = trigger.end()
        if isinstance(sign, Sign):
            at = sign.end
            yield sign


def _is_collapsed_begun(text: str) -> bool:
    rest = bare(text)[len("assistant") :].lstrip()
    return len(text) < 60 and any(name.startswith(rest) for name in ("analysis", "commentary", "final"))


def _special(match: re.Match[str]) -> Sign | None:
    written = next(name for name in (match["a"], match["b"], match["c"], match["d"]) if name)
    name = bare(written).lower().strip("_ ")
    span = match.span()
    if name.strip("/") in HARMONY:
        return Sign(Kind.SPECIAL, name, *span)
    if _WRAPPERS.fullmatch(name):
        return Sign(Kind.WRAPPER, name, *span)
    if _ABOUT_REASONING.search(name):
        family = re.sub(r"/|begin_of_|end_of_|begin_|start_|end_|stop_|close_|open_", "", name)
        return Sign(Kind.CLOSING if _IS_END.match(name) else Kind.OPENING, f"|{family}", *span)
    return Sign(Kind.SPECIAL, name, *span) if len(name) > 1 and not match["b"] else None


def _tag(text: str, match: re.Match[str], *, is_end: bool) -> Sign | Wait | None:
    name = bare(match["name"]).lower()
    if name == "details":
        return _details(text, match, is_end=is_end)
    if name not in NAMES:
        return None
    is_closing = bool(match["slash"]) or name in _ENDINGS
    return Sign(Kind.CLOSING if is_closing else Kind.OPENING, _ENDINGS.get(name, name), *match.span())


def _details(text: str, match: re.Match[str], *, is_end: bool) -> Sign | Wait:
    if match["slash"]:
        return Sign(Kind.CLOSING, "details", *match.span())
    if re.search(r"reasoning|think|thought", match[0], re.IGNORECASE) or _DETAILS_OF_REASONING.match(text, match.end()):
        return Sign(Kind.OPENING, "details", *match.span())
    return WAIT if not is_end and _DETAILS_MAYBE.match(text, match.end()) else Sign(Kind.PLAIN, "details", *match.span())


def _bracket_at(text: str, at: int, *, is_end: bool) -> Sign | Wait | None:
    match = (_TRIANGLE if text[at] == "◁" else _BRACKET).match(text, at)
    if match:
        name = bare(match["name"]).lower()
        if name not in _BRACKETED:
            return None
        return Sign(Kind.CLOSING if match["slash"] else Kind.OPENING, f"{text[at] if text[at] == '◁' else '['}{name}", *match.span())
    begun = re.sub(r"[\s/\\\[◁]|\]", "", bare(text[at : at + 40])).lower()
    return WAIT if not is_end and len(text) - at < 40 and "\n" not in text[at:] and (not begun or begun in _BRACKET_PREFIXES) else None


_BEGUN = re.compile(rf"{_LT}\s{{0,2}}(?P<rest>.*)", re.DOTALL)
_BEGUN_SPECIAL = re.compile(rf"{_BAR} ?/?[\w.:/-]{{0,60}} ?(?:\\|&[\#\w]{{0,8}}|{_BAR})?(?:\\|&[\#\w]{{0,8}})?\Z")
_BEGUN_NAME = re.compile(r"/?\s{0,2}(?P<name>[a-z][\w:-]*)?(?P<more>.*)", re.IGNORECASE | re.DOTALL)


def _may_become_one(text: str) -> bool:
    if len(text) >= _MOST_WAITING:
        return False
    if re.fullmatch(r"\\*(?:<?|&[\#\w;]{0,12})", text):
        return True
    begun = _BEGUN.match(bare(text))
    if not begun:
        # A known word without its bracket: the trigger saw the end of it.
        return bool(re.fullmatch(rf"{_BAR}?{_KNOWN}{_BAR}?\\?", text, re.IGNORECASE))
    rest = begun["rest"]
    if not rest or rest in ("\\", "&") or _BEGUN_SPECIAL.match(rest):
        return True
    name = _BEGUN_NAME.match(rest)
    if not name or not name["name"]:
        return rest.strip() in ("", "/")
    if not name["more"]:
        return name["name"].lower() in _TAG_PREFIXES
    return _attributes_may_follow(name["name"].lower(), name["more"])


def _attributes_may_follow(name: str, more: str) -> bool:
    if name in HARMONY and re.fullmatch(r" ?\\?\|?\\?(?:&\w{0,3})?", more):
        return True
    return name in (*NAMES, "details") and re.fullmatch(r"\s*/?|&\w{0,3}|\\|\s+[\w:-]+(?:\s*=[^<>\n]*)?", more) is not None
