"""The signs of raw model output in an answer: reasoning tags, special tokens, and the remains of stripped markers.

Tag and token names mark raw output around reasoning, around tool calls and around the answer. All signs are matched in *folded* text, in
which look-alike characters and escapes become the characters that a reader sees, with their positions.
"""

from __future__ import annotations

import html
import re
import string
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from renderer.characters import is_invisible

HARMONY = ("start", "end", "message", "channel", "constrain", "return", "call")
_OF_REASONING = re.compile(
    r"thinks|reason|analysis|internal|reflect|rationale|deliberation|commentary|antthinking|start_of_thinking|unused94"
    r"|(?:.*[_:.|-])?(?:think|thinking|thoughts?|reasoning|reflection|monologue|scratch_?pad|cot)(?:[_:.|-].*)?"
)
"""Names of tags around reasoning, as many models write them."""
_OF_TOOLS = re.compile(
    r"(?:\w+[_:|])?(?:tool_?calls?|tool_responses?|tool_results?|function_calls?|function_results?)|function(?:=.+)?|(?:\w+:)?invoke"
)
_CLOSES = {"end_of_thinking": "start_of_thinking", "unused95": "unused94"}
"""Tags that close another one, without a slash."""
_TOKEN = re.compile(r"(?:start|end)_of_turn|special_\d+|unused(?!9[45])\d+")
"""Special tokens in the form of a tag."""

_BRACKETED = re.compile(r"THINK(?:ING)?|THOUGHT|REASON(?:ING)?|ANALYSIS")
_BRACKETED_SMALL = re.compile(r"think(?:ing)?|thought|reasoning", re.IGNORECASE)
_BRACKETED_TOKENS = re.compile(r"TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|INST|SYSTEM_PROMPT")
_BRACKETED_ALONE = {"unused16": "OPENING", "unused17": "CLOSING", "begin final response": "ANSWER", "end final response": "WRAPPER"}

_AROUND_ANSWER = re.compile(r"(?:start|end|begin|begin_of|end_of)_(?:response|text|solution|answer)")
_BEGINS_ANSWER = re.compile(
    r"(?:start|begin|begin_of)_(?:response|solution|answer)|start_text|content(?:_text)?|(?:assistant_)?final|response|solution"
)
_ABOUT_REASONING = re.compile(r"think|thought|reasoning|scratchpad|analysis|inner_(?:prefix|suffix)")
_IS_END = re.compile(r"/|(?:.*[_:.])?(?:end|close|stop|suffix)(?:[_:.].*)?\Z")
_BEGIN_OR_END = re.compile(r"(?<![a-z])(?:begin|start|open|end|stop|close|of|prefix|suffix)(?![a-z])|[/_:.]")

ZERO = "\u200b"
"""Replaces invisible characters, and pads longer escapes so that positions stay the same."""

_ANGLES_OPEN = "\u2039\u3008\u27e8\ufe64\u2329\u276c\u276e\u2770"
_ANGLES_CLOSE = "\u203a\u3009\u27e9\ufe65\u232a\u276d\u276f\u2771"
_BARS = "\u2223\u2502\uffe8\u01c0\u2758"
_MAX_CACHED = 20_000
_CYRILLIC = dict(zip("\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0455\u04bb\u0501\u03bf\u03bd", "aeopcxyishdov", strict=True))


class _Looks(dict[int, str]):
    """The character that each character looks like, computed at its first use."""

    def __missing__(self, code: int) -> str:
        looks = _look(chr(code))
        if len(self) < _MAX_CACHED:
            self[code] = looks
        return looks


def _look(character: str) -> str:
    if character in "\t\n\r\u2028\u2029":
        return character
    if unicodedata.category(character) in ("Mn", "Me") or is_invisible(character):
        return ZERO
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 and plain.isascii() else character


_LOOKS = _Looks(
    {
        **dict.fromkeys(map(ord, _ANGLES_OPEN), "<"),
        **dict.fromkeys(map(ord, _ANGLES_CLOSE), ">"),
        **dict.fromkeys(map(ord, _BARS), "|"),
        ord("\u2581"): "_",
    }
)
# A letter of another script inside a Latin word; words of that script are not changed.
_FOREIGN = re.compile(rf"(?<=[A-Za-z])[{''.join(_CYRILLIC)}]+|[{''.join(_CYRILLIC)}]+(?=[A-Za-z])")
# Neither line ends nor backticks: only literal characters delimit code.
_UNESCAPED = frozenset(string.ascii_letters + string.digits + "<>|/[]{}_:=\"'-().")
# Longer names first: the semicolon at the end may be missing.
_NAMES = "lt|gt|VerticalLine|verbar|vert|sol|lsqb|rsqb|lbrack|rbrack|lowbar|colon"
_ESCAPE = re.compile(
    rf"&(?:amp;){{0,4}}(?P<named>{_NAMES}|\#0{{0,6}}\d{{2,3}}|\#x0{{0,6}}[0-9a-f]{{2}});?"
    r"|\\{1,8}(?:u00|x)(?P<hexadecimal>[2-7][0-9a-f])",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[^&\\\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*")


def folded(text: str) -> str:
    """``text`` with each look-alike and each escape replaced; positions do not change."""
    if text.isascii() and _PLAIN.fullmatch(text):
        return text
    return _ESCAPE.sub(_unescaped, _FOREIGN.sub(_latin, text.translate(_LOOKS)))


def _latin(match: re.Match[str]) -> str:
    return "".join(_CYRILLIC[letter] for letter in match[0])


def bare(text: str) -> str:
    """Folded text without invisible characters."""
    return text.replace(ZERO, "")


def _unescaped(match: re.Match[str]) -> str:
    if named := match["named"]:
        known = named if named == "VerticalLine" else named.lower()
        character = html.unescape(f"&{known};")
    else:
        character = chr(int(match["hexadecimal"], 16))
    return character + ZERO * (len(match[0]) - 1) if character in _UNESCAPED else match[0]


class SignKind(Enum):
    """The kinds of signs."""

    OPENING = auto()
    CLOSING = auto()
    SPECIAL = auto()
    """A special token, ``<|name|>``, whole or in pieces."""
    WRAPPER = auto()
    """Surrounds the answer itself; it is dropped, and hides nothing."""
    ANSWER = auto()
    """Begins the answer: the text before it was not part of it."""
    PLAIN = auto()
    """Opens an element with the same closing sign as reasoning, without being reasoning."""
    COLLAPSED = auto()
    """``assistantfinal`` and the like: the remains of stripped markers."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign in folded text, from ``start`` to ``end``. ``name``: the tag's or token's, in lower case."""

    kind: SignKind
    name: str
    start: int
    end: int


_Z = "\u200b{0,16}"
_LT = r"\\{0,8}<"
_GT = rf"\\{{0,8}}>{_Z}"
_BAR = r"\\{0,8}\|"


def _spread(word: str) -> str:
    return _Z.join(re.escape(letter) for letter in word)


_NAME = r"/?[\w.:/|\u200b-]{1,60}?"
_KNOWN = "(?:" + "|".join(map(_spread, HARMONY)) + ")"
_SPECIAL = re.compile(
    rf"{_LT}{_Z}{_BAR}{_Z} ?(?P<a>{_NAME}) ?{_Z}{_BAR}?{_Z}{_GT}"
    rf"|{_LT}{_Z} ?(?P<b>{_NAME}) ?{_Z}{_BAR}{_Z}{_GT}"
    rf"|{_LT}{_Z}{_BAR}{_Z} ?(?P<c>{_KNOWN}) ?{_Z}{_BAR}"
    rf"|{_BAR}?{_Z}(?P<d>{_KNOWN}){_Z}{_BAR}{_Z}{_GT}",
    re.IGNORECASE,
)
_VALUE = r"(?:\"[^\"\n<>]{0,80}\"|'[^'\n<>]{0,80}'|[^\s<>\"']{1,80})"
_TAG = re.compile(
    rf"{_LT}{_Z}\s{{0,2}}(?P<slash>/?){_Z}\s{{0,2}}(?P<name>[a-z][\w.:|\u200b-]{{0,60}}(?:=[\w.:\u200b-]{{1,60}})?)"
    rf"(?:\s+(?:[\w:-]+\s*=\s*{_VALUE}|open|hidden)){{0,6}}\s{{0,2}}/?{_GT}",
    re.IGNORECASE,
)
_BRACKET = re.compile(rf"\\?\[{_Z}\s?(?P<slash>/?){_Z}\s?(?P<name>[A-Za-z][\w \u200b]{{2,40}}?)\s?{_Z}\\?\]{_Z}")
_TRIANGLE = re.compile(rf"◁{_Z}\s?(?P<slash>/?){_Z}\s?(?P<name>[a-z\u200b]{{3,40}})\s?{_Z}▷", re.IGNORECASE)
_COLLAPSED = re.compile(
    rf"{_spread('assistant')}(?P<line>{_Z}\s*\n\s*)?{_Z}(?P<name>{'|'.join(map(_spread, ('analysis', 'commentary', 'final')))})"
)
_CALLER = r"(?:assistant\s?(?:analysis|commentary)|assistant|analysis|commentary)"
_BODY = r"(?:json|code)(?!\w?[.,;:!?)]|\w?[ \t]+[a-z])"
_CALL = re.compile(
    rf"(?:{_CALLER}\s{{0,4}})?to=[\w./-]{{1,60}}(?:\s?(?:analysis|commentary))?\s{_BODY}"
    rf"|{_CALLER}\s{{0,4}}to=[\w./-]{{1,60}}"
    rf"(?:\s?(?:json|code)(?!\w)|\s?(?={_LT}{_Z}{_BAR}{_Z}constrain)|(?:[ \t]+\w{{1,20}}){{0,3}}\s*(?=\{{))"
    rf"|{_CALLER}\s?json\s*(?=\{{)",
    re.IGNORECASE,
)
"""A header that names the recipient of a call, or has lost the name; then the body, whatever it is."""
CALL = "to"
"""The name of this sign. Nobody speaks of a call like this: it is hidden wherever it stands outside code."""
_XTML = re.compile(
    rf"{_LT}{_Z}{_BAR}{_Z} ?(?P<step>{_spread('open')}|{_spread('close')}) ?{_Z}{_BAR}?{_Z}{_GT}"
    rf"{_Z}\s?(?P<name>[a-z\u200b]{{1,20}}){_Z}\s?{_LT}{_Z}{_BAR}{_Z}sep{_Z}{_BAR}{_Z}{_GT}",
    re.IGNORECASE,
)
"""``<|open|>think<|sep|>``: three tokens that form one tag."""
_CHANNEL = re.compile(rf"{_Z}\s?(?:analysis|commentary|final)", re.IGNORECASE)
_DETAILS_OF_REASONING = re.compile(
    r"\s{0,4}<summary[^<>\n]{0,60}>[^<>\w]{0,12}(?:thinking|thoughts?\b|reasoning|chain of thought|raw reasoning)",
    re.IGNORECASE,
)
TRIGGER = re.compile(
    rf"\\{{0,8}}<|\\?\[|◁|(?:{_BAR}{_Z})?{_KNOWN}(?={_Z}{_BAR}{_Z}{_GT})|{_spread('assistant')}(?=[acft\s\u200b])"
    r"|(?:commentary|analysis)(?=\s{0,4}to=|\s?json)|(?<!\S)to=",
    re.IGNORECASE,
)
"""Characters and words where a sign may begin."""


_Found = tuple[SignKind, str] | None


def _special(text: str, match: re.Match[str]) -> _Found:
    written = next(name for name in (match["a"], match["b"], match["c"], match["d"]) if name)
    name = bare(written).lower().strip("_ ")
    if match["b"] and name == "channel" and not _CHANNEL.match(text, match.end()):
        # It closes Gemma's reasoning, unless a channel name follows.
        return SignKind.CLOSING, "|channel"
    if name.strip("/") in HARMONY or name in ("open", "close"):
        return SignKind.SPECIAL, name
    if _BEGINS_ANSWER.fullmatch(name):
        return SignKind.ANSWER, name
    if _AROUND_ANSWER.fullmatch(name):
        return SignKind.WRAPPER, name
    if _ABOUT_REASONING.search(name):
        return SignKind.CLOSING if _IS_END.match(name) else SignKind.OPENING, f"|{_BEGIN_OR_END.sub('', name)}"
    return (SignKind.SPECIAL, name) if len(name) > 1 and not match["b"] else None


def _xtml(_: str, match: re.Match[str]) -> _Found:
    step, inner = bare(match["step"]).lower(), bare(match["name"]).lower()
    if inner == "think":
        return SignKind.OPENING if step == "open" else SignKind.CLOSING, "|open think"
    if inner in ("response", "message"):
        return SignKind.ANSWER if step == "open" and inner == "response" else SignKind.WRAPPER, inner
    return SignKind.SPECIAL, step


def _tag(text: str, match: re.Match[str]) -> _Found:
    name = bare(match["name"]).lower()
    if name == "details" and not match["slash"]:
        names_reasoning = re.search(r"reasoning|think|thought", match[0], re.IGNORECASE) or _DETAILS_OF_REASONING.match(text, match.end())
        return SignKind.OPENING if names_reasoning else SignKind.PLAIN, name
    if name == "channel" and not match["slash"]:
        return (SignKind.SPECIAL, name) if _CHANNEL.match(text, match.end()) else None
    if _TOKEN.fullmatch(name):
        return None if match["slash"] else (SignKind.SPECIAL, name)
    opening = _CLOSES.get(name, name)
    if not (name == "details" or _OF_REASONING.fullmatch(opening) or _OF_TOOLS.fullmatch(opening)):
        return None
    return SignKind.CLOSING if match["slash"] or name in _CLOSES else SignKind.OPENING, opening.partition("=")[0]


def _triangle(_: str, match: re.Match[str]) -> _Found:
    name = bare(match["name"]).lower()
    kind = SignKind.CLOSING if match["slash"] else SignKind.OPENING
    return (kind, f"◁{name}") if _BRACKETED.fullmatch(name.upper()) else None


def _bracket(text: str, match: re.Match[str]) -> _Found:
    name = bare(match["name"])
    if alone := _BRACKETED_ALONE.get(name.lower()):
        # The one that opens and the one that closes have different names, and only the same name closes what was opened.
        return SignKind[alone], "[alone"
    if _BRACKETED_TOKENS.fullmatch(name):
        return SignKind.SPECIAL, name.lower()
    # ``[thinking](…)`` is a link.
    is_link = not match["slash"] and text[match.end() : match.end() + 1] in ("", *"([:")
    is_sign = _BRACKETED.fullmatch(name) or (_BRACKETED_SMALL.fullmatch(name) and not is_link)
    return (SignKind.CLOSING if match["slash"] else SignKind.OPENING, f"[{name.lower()}") if is_sign else None


_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[str, re.Match[str]], _Found]], ...] = (
    ("◁", _TRIANGLE, _triangle),
    ("[\\", _BRACKET, _bracket),
    ("aAcCtT", _CALL, lambda *_: (SignKind.COLLAPSED, CALL)),
    ("aA", _COLLAPSED, lambda _, match: (SignKind.COLLAPSED, "\n" if match["line"] else bare(match["name"]))),
    ("", _XTML, _xtml),
    ("", _SPECIAL, _special),
    ("", _TAG, _tag),
)
"""The first characters of a form, any if empty; its pattern; and what it says."""


def sign_at(text: str, at: int) -> Sign | None:
    """The sign that begins at a trigger in folded text, None if there is none."""
    for begins, pattern, read in _FORMS:
        if (not begins or text[at] in begins) and (match := pattern.match(text, at)):
            found = read(text, match)
            return Sign(*found, *match.span()) if found else None
    return None


def begins_code(line: str, at: int = 0) -> bool:
    """Whether an indented line, which begins at ``at``, is about the sign that it begins with."""
    return line.startswith(("<", "[", "\\", "◁"), at)


def signs_in(text: str, at: int = 0) -> Iterator[Sign]:
    """All signs in a complete text from ``at`` on, in order."""
    while trigger := TRIGGER.search(text, at):
        sign = sign_at(text, trigger.start())
        at = trigger.end()
        if sign:
            at = sign.end
            yield sign
