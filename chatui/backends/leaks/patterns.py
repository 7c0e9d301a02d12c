"""The signs of raw model output in an answer: reasoning tags, special tokens, and headers of which the tokens were stripped.

Tag and token names mark raw output around reasoning, around tool calls and around the answer. All signs are matched in *folded* text, in
which look-alike characters and escapes become the characters that a reader sees, with their positions. Each pattern also says what may
still become a sign: while text is coming, a partial match is undecided. So every pattern has a bound.
"""

from __future__ import annotations

import html
import re
import string
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

import regex

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
BEGINS_ANSWER = re.compile(
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


class _LookCache(dict[int, str]):
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


_LOOKS = _LookCache(
    {
        **dict.fromkeys(map(ord, _ANGLES_OPEN), "<"),
        **dict.fromkeys(map(ord, _ANGLES_CLOSE), ">"),
        **dict.fromkeys(map(ord, _BARS), "|"),
        ord("\u2581"): "_",
    }
)
# A letter of another script inside a Latin word; words of that script are not changed.
_FOREIGN = re.compile(r"(?<=[A-Za-z])[{0}]+|(?<![{0}])[{0}]+(?=[A-Za-z])".format("".join(_CYRILLIC)))
# Neither line ends nor backticks: only literal characters delimit code.
_UNESCAPED = frozenset(string.ascii_letters + string.digits + "<>|/[]{}_:=\"'-().")
# Longer names first: the semicolon at the end may be missing.
_NAMES = "lt|gt|VerticalLine|verbar|vert|sol|lsqb|rsqb|lbrack|rbrack|lowbar|colon"
_ESCAPE = regex.compile(
    rf"&(?:amp;){{0,4}}(?P<named>{_NAMES}|\#0{{0,6}}\d{{2,3}}|\#x0{{0,6}}[0-9a-f]{{2}});?"
    r"|\\{1,8}(?:u00|x)(?P<hexadecimal>[2-7][0-9a-f])",
    regex.IGNORECASE,
)
_LONGEST_ESCAPE = 48
_PLAIN = re.compile(r"[^&\\\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*")


def folded(text: str) -> str:
    """``text`` with each look-alike and each escape replaced; positions do not change."""
    if text.isascii() and _PLAIN.fullmatch(text):
        return text
    plain: str = _ESCAPE.sub(_unescaped, _FOREIGN.sub(_latin, text.translate(_LOOKS)))
    return plain


def _latin(match: re.Match[str]) -> str:
    return "".join(_CYRILLIC[letter] for letter in match[0])


def bare(text: str) -> str:
    """Folded text without invisible characters."""
    return text.replace(ZERO, "")


def readable(text: str) -> int:
    """How much of a text that is growing can be folded: more may complete an escape, or a Latin word around a foreign letter."""
    begin: int = max(len(text) - _LONGEST_ESCAPE, 0)
    if "&" in (tail := text[begin:]) or "\\" in tail:
        for found in _ESCAPE.finditer(tail, partial=True):
            if found.partial or found.end() == len(tail):
                return begin + int(found.start())
    return len(text) - (text[-1:] in _CYRILLIC)


def _unescaped(match: regex.Match[str]) -> str:
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
    HEADER = auto()
    """The same, where nobody speaks of it: with a recipient, or glued to the end of one text and to the beginning of the next."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign in folded text, from ``start`` to ``end``. ``name``: the tag's or token's, in lower case."""

    kind: SignKind
    name: str
    start: int
    end: int


_Z = "\u200b{0,16}"
ENDS = ".!?…。！？"
"""They end a sentence."""
PARTICLES = "는란를"
"""Korean particles. With a space behind it, none begins a text."""
_LT = r"\\{0,8}<"
_GT = rf"\\{{0,8}}>{_Z}"
_BAR = r"\\{0,8}\|"


def _spread(word: str) -> str:
    return _Z.join(re.escape(letter) for letter in word)


_NAME = r"/?[\w.:/|\u200b-]{1,60}?"
_KNOWN = "(?:" + "|".join(map(_spread, HARMONY)) + ")"
_SPECIAL = regex.compile(
    rf"{_LT}{_Z}{_BAR}{_Z} ?(?P<a>{_NAME}) ?{_Z}{_BAR}?{_Z}{_GT}"
    rf"|{_LT}{_Z} ?(?P<b>{_NAME}) ?{_Z}{_BAR}{_Z}{_GT}"
    rf"|{_LT}{_Z}{_BAR}{_Z} ?(?P<c>{_KNOWN}) ?{_Z}{_BAR}"
    rf"|{_BAR}?{_Z}(?P<d>{_KNOWN}){_Z}{_BAR}{_Z}{_GT}",
    re.IGNORECASE,
)
_VALUE = r"(?:\"[^\"\n<>]{0,80}\"|'[^'\n<>]{0,80}'|[^\s<>\"']{1,80})"
_TAG = regex.compile(
    rf"{_LT}{_Z}\s{{0,2}}(?P<slash>/?){_Z}\s{{0,2}}(?P<name>[a-z][\w.:|\u200b-]{{0,60}}(?:=[\w.:\u200b-]{{1,60}})?)"
    rf"(?:\s+(?:[\w:-]+\s*=\s*{_VALUE}|open|hidden)){{0,6}}\s{{0,2}}/?{_GT}",
    re.IGNORECASE,
)
_BRACKET = regex.compile(rf"(?:\\?\[|◁){_Z}\s?(?P<slash>/?){_Z}\s?(?P<name>[A-Za-z][\w \u200b]{{2,40}}?)\s?{_Z}(?:\\?\]{_Z}|▷)")
_GAP = r"[\s\u200b]{0,4}"
_HIDDEN_CHANNEL = f"(?:{_spread('analysis')}|{_spread('commentary')})"
_COLLAPSED = regex.compile(rf"{_spread('assistant')}(?:{_Z}\s*\n\s*)?{_Z}(?:{_HIDDEN_CHANNEL}|{_spread('final')})")
_LINE_BEGINS = r"(?:\A|\n)[ \t\u200b]{0,8}"
_ROLE = f"(?:{_spread('assistant')}{_GAP}(?:{_HIDDEN_CHANNEL}{_GAP})?|{_HIDDEN_CHANNEL}{_GAP})"
_TOOL = r"(?:functions\.[\w.-]{1,60}|browser\.(?:search|open|find)|(?:container|multi_tool_use)\.\w{1,20})"
"""Names of tools that gpt-oss was trained with; ``functions`` has those that a request offers."""
_BODY = r"[\s:]{0,4}"
_CODE_OF_PYTHON = rf"(?<={_LINE_BEGINS})(?-i:python) ?code[ \t]{{0,9}}\n"
_CALL = regex.compile(
    rf"(?P<by>{_ROLE})?to=(?P<to>[a-z_][\w./-]{{0,60}})(?P<value>[@&;])?"
    rf"|(?:{_ROLE}(?:{_TOOL}{_BODY})?|{_TOOL}{_BODY})json\s{{0,20}}(?=\{{)|{_ROLE}{_TOOL}\s{{0,4}}(?=\{{)"
    rf"|(?:{_TOOL}|(?:{_spread('assistant')}{_GAP})?{_HIDDEN_CHANNEL}){_BODY}(?:code\s{{0,20}})?(?=\{{\s{{0,20}}[\"'])|{_CODE_OF_PYTHON}",
    regex.IGNORECASE,
)
"""A header that names the recipient of a call, with or without ``to=``, or has lost the name: then its body is an object."""
_CALL_BODY = regex.compile(
    rf"(?P<kind>\s?(?=\\{{0,8}}<{_Z}{_BAR})|\s?(?:analysis|commentary)?\s{{0,4}}(?:json|code)(?=\w\w|\s{{0,4}}(?:[^\s\w.,;:!?)]|\n)))"
    r"|(?:[ \t]+\w{1,20}){0,3}\s{0,20}(?=\{)",
    regex.IGNORECASE,
)
"""What stands between the recipient and the body: a token, the kind of the body, or nothing where the body is an object."""
ATTACHED = regex.compile(r"(?:(?<=[^\s\"'“‘«„「『(\[{\\])|(?<=[^\s(\[{][\"'“‘«]))(?=<|\\{1,8}<|assistant)")
"""Glued to anything but an opening quotation mark or bracket."""
BEGINNING = rf"(?<={_LINE_BEGINS}|[{ENDS}]\s{{0,2}})"
_BEGINS = regex.compile(rf"{BEGINNING}(?<!\?)")
"""A beginning: of the text, of a line, or behind a sentence, but not in an address. A recipient there needs nothing else."""
_OPENING = "\"'“‘«„「『([{\\"
_GLUED_CHANNEL = regex.compile(
    rf"(?<={_LINE_BEGINS}|[{ENDS}]){_HIDDEN_CHANNEL}(?=[^\W\d_{PARTICLES}]|[{PARTICLES}]\S)"
    rf"|(?<=[\p{{L}}\p{{N}}]){_HIDDEN_CHANNEL}(?=\p{{Lu}})|(?<=\s){_spread('assistant')}{_HIDDEN_CHANNEL}[ \t]{{0,4}}(?=\p{{Lu}})"
    rf"|(?<=[\p{{N}}\p{{So}}\p{{Sk}}]|\w[*)\]]{{1,3}}){_HIDDEN_CHANNEL}(?=[\p{{Lu}}\p{{Lo}}\p{{IsCyrillic}}])"
)
"""The name of a channel between two texts, which no space keeps apart, or with its role before a sentence."""
GLUED = rf"{_HIDDEN_CHANNEL}(?=[^\s.,:;!?'’)/_{PARTICLES}-]|-\s|[{PARTICLES}]\S)"
"""The name of a channel at the beginning of a text that does not go on as a sentence about it."""
HIDDEN_BEGINS = regex.compile(rf"{GLUED}|{_HIDDEN_CHANNEL}(?:[ \t]{{0,9}}\n|[ \t]{{1,9}}(?=\p{{Lu}}))")
"""The same, or alone in its line or before a sentence: then the whole text decides."""
_XTML = regex.compile(
    rf"{_LT}{_Z}{_BAR}{_Z} ?(?P<step>{_spread('open')}|{_spread('close')}) ?{_Z}{_BAR}?{_Z}{_GT}"
    rf"{_Z}\s?(?P<name>[a-z\u200b]{{1,20}}){_Z}\s?{_LT}{_Z}{_BAR}{_Z}sep{_Z}{_BAR}{_Z}{_GT}",
    re.IGNORECASE,
)
"""``<|open|>think<|sep|>``: three tokens that form one tag."""
_CHANNEL = regex.compile(rf"{_Z}\s?(?:analysis|commentary|final)", re.IGNORECASE)
_LINKS = regex.compile(r"[(\[:]|\Z")
_DETAILS_OF_REASONING = regex.compile(
    r"\s{0,4}<summary[^<>\n]{0,60}>[^<>\w]{0,12}(?:thinking|thoughts?\b|reasoning|chain of thought|raw reasoning)",
    re.IGNORECASE,
)
HEADER = regex.compile(
    r"<\|(?:(?:end|return|call)\|>\s{0,4}<\|start|start\|>\s{0,4}\w{1,20}\s{0,4}<\|channel"
    r"|channel\|>\s{0,4}(?:analysis|commentary|final)\s{0,4}<\|message)\|>"
)
"""A whole header is one wherever it stands."""
LEAVES_CODE = regex.compile(rf"(?<=\n[ \t]{{0,8}}|[^\s{re.escape(_OPENING)}=]){HEADER.pattern}")
"""It is no code either, unless its block begins with it or has other tokens before it: the model ended its answer inside the block."""
BEGIN_CODE = ("<", "[", "\\", "◁")
"""An indented line that begins like this is about the sign there."""
HEADER_BEGINS = (
    rf"<\||{_spread('assistant')}(?=[acfjt\s\u200b])"
    rf"|{_HIDDEN_CHANNEL}(?=[^\W\d_]|{_BODY}(?:\{{|to=|json|code|{_TOOL}))|(?<![^\s{ENDS}])to=[a-z_]|{_TOOL}"
)
"""Where a header may begin, wherever that is."""
TRIGGER = re.compile(
    rf"\\{{0,8}}<|\\?\[|◁|(?:{_BAR}{_Z})?{_KNOWN}(?={_Z}{_BAR}{_Z}{_GT})|{HEADER_BEGINS}|python ?code",
    regex.IGNORECASE,
)
"""Characters and words where a sign may begin."""


class UndecidedError(Exception):
    """More text may change what is found."""


def matched(pattern: regex.Pattern[str], text: str, at: int, *, may_grow: bool = False) -> regex.Match[str] | None:
    """What a pattern finds at a place. May the text grow, a match that reaches its end is undecided."""
    found = pattern.match(text, at, partial=may_grow)
    if found and may_grow and (found.partial or found.end() == len(text)):
        raise UndecidedError
    return found


_Found = tuple[SignKind, str] | None
_Look = Callable[[regex.Pattern[str], int], regex.Match[str] | None]


def _special(look: _Look, match: regex.Match[str]) -> _Found:
    written = next(name for name in (match["a"], match["b"], match["c"], match["d"]) if name)
    name = bare(written).lower().strip("_ ")
    if match["b"] and name == "channel" and not look(_CHANNEL, match.end()):
        # It closes Gemma's reasoning, unless a channel name follows.
        return SignKind.CLOSING, "|channel"
    if name.strip("/") in HARMONY or name in ("open", "close"):
        return SignKind.SPECIAL, name
    if BEGINS_ANSWER.fullmatch(name):
        return SignKind.ANSWER, name
    if _AROUND_ANSWER.fullmatch(name):
        return SignKind.WRAPPER, name
    if _ABOUT_REASONING.search(name):
        return SignKind.CLOSING if _IS_END.match(name) else SignKind.OPENING, f"|{_BEGIN_OR_END.sub('', name)}"
    return (SignKind.SPECIAL, name) if len(name) > 1 and not match["b"] else None


def _xtml(_: _Look, match: regex.Match[str]) -> _Found:
    step, inner = bare(match["step"]).lower(), bare(match["name"]).lower()
    if inner == "think":
        return SignKind.OPENING if step == "open" else SignKind.CLOSING, "|open think"
    if inner in ("response", "message"):
        return SignKind.ANSWER if step == "open" and inner == "response" else SignKind.WRAPPER, inner
    return SignKind.SPECIAL, step


def _tag(look: _Look, match: regex.Match[str]) -> _Found:
    name = bare(match["name"]).lower()
    if name == "details" and not match["slash"]:
        names_reasoning = re.search(r"reasoning|think|thought", match[0], re.IGNORECASE) or look(_DETAILS_OF_REASONING, match.end())
        return SignKind.OPENING if names_reasoning else SignKind.PLAIN, name
    if name == "channel" and not match["slash"]:
        return (SignKind.SPECIAL, name) if look(_CHANNEL, match.end()) else None
    if _TOKEN.fullmatch(name):
        return None if match["slash"] else (SignKind.SPECIAL, name)
    opening = _CLOSES.get(name, name)
    if not (name == "details" or _OF_REASONING.fullmatch(opening) or _OF_TOOLS.fullmatch(opening)):
        return None
    return SignKind.CLOSING if match["slash"] or name in _CLOSES else SignKind.OPENING, opening.partition("=")[0]


def _bracket(look: _Look, match: regex.Match[str]) -> _Found:
    name = bare(match["name"])
    if alone := _BRACKETED_ALONE.get(name.lower()):
        # The one that opens and the one that closes have different names, and only the same name closes what was opened.
        return SignKind[alone], "[alone"
    if _BRACKETED_TOKENS.fullmatch(name):
        return SignKind.SPECIAL, name.lower()
    # ``[thinking](…)`` is a link.
    is_triangle = match[0][0] == "◁"
    is_link = not match["slash"] and not is_triangle and look(_LINKS, match.end())
    is_sign = _BRACKETED.fullmatch(name.upper() if is_triangle else name) or (_BRACKETED_SMALL.fullmatch(name) and not is_link)
    return (SignKind.CLOSING if match["slash"] else SignKind.OPENING, f"{'◁' if is_triangle else '['}{name.lower()}") if is_sign else None


def _call(look: _Look, match: regex.Match[str]) -> _Found:
    by, name, at = match["by"], match["to"], match.start()
    before = match.string[at - 1 : at]
    if name is None:
        return SignKind.HEADER, "json"
    is_call = bool(by or not match["value"]) and (look(_BEGINS, at) or (by and not before.isspace() and before not in _OPENING))
    if not is_call and (body := look(_CALL_BODY, match.end())):
        is_call = by or "." in name or body["kind"] is not None
    return (SignKind.HEADER, "to") if is_call else None


_FORMS: tuple[tuple[str, regex.Pattern[str], Callable[[_Look, regex.Match[str]], _Found]], ...] = (
    ("◁[\\", _BRACKET, _bracket),
    ("aAbBcCfFmMpPtT", _CALL, _call),
    ("ac", _GLUED_CHANNEL, lambda *_: (SignKind.HEADER, "channel")),
    ("aA", _COLLAPSED, lambda *_: (SignKind.COLLAPSED, "assistant")),
    ("<\\", _XTML, _xtml),
    ("<\\|semcrSEMCR", _SPECIAL, _special),
    ("<\\", _TAG, _tag),
)
"""The first characters of a form, its pattern, and what it says."""


def sign_at(text: str, at: int, *, may_grow: bool = False) -> Sign | None:
    """The sign that begins at a trigger in folded text, None if there is none."""

    def look(pattern: regex.Pattern[str], place: int) -> regex.Match[str] | None:
        return matched(pattern, text, place, may_grow=may_grow)

    for begins, pattern, read in _FORMS:
        if text[at] in begins and (match := look(pattern, at)) and (found := read(look, match)):
            return Sign(*found, *match.span())
    return None
