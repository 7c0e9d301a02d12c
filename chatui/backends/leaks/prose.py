"""Scans growing text for signs of raw output outside code and quotations, and releases the rest.

Code is found in growing Markdown line by line: fences, indented code and code spans. Whether an answer only mentions a marker or the model
emitted it is decided from the text around it. Adjacent special tokens are judged together: a header, an end before a start, an example of a
whole message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from enum import Enum, auto

from chatui.backends.leaks import patterns
from chatui.backends.leaks.patterns import Sign, SignKind, UndecidedSign, bare, folded

_LEAD_CHARS = 60
"""A line's beginning is read no further, whether or not more of it has arrived."""
_LEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)*")
_FENCE = re.compile(r"`{3,60}|~{3,60}")
_UNDECIDED = re.compile(rf"[ \t>*+.)\d-]{{0,{_LEAD_CHARS}}}(?:`{{0,40}}|~{{0,40}})\Z")
_INFO_CHARS = 120
_MAX_RUN = 80
MAX_SPAN_CHARS = 400
"""Longer code spans do not count: a stray backtick must not turn a whole page into code."""


class CodeTracker:
    """Tracks whether the current position is code. The caller reports each line's beginning, each run of backticks and each line end."""

    def __init__(self) -> None:
        self.fence = ""
        self.is_indented = False
        self.is_trusted = True
        """Fences count. False once one was not closed at the end of the text."""
        self._span = 0
        self._span_counts = True
        self._at_head = True
        self._has_lines = False
        """Whether a line with text came before. An indented first line is no code: raw output may begin with spaces, too."""
        self._after_blank = False
        self._in_list = False
        self.is_blank = True

    @property
    def needs_head(self) -> bool:
        """Whether a line begins here."""
        return self._at_head

    @property
    def place(self) -> str:
        """The kind of code at the current position: ``fence``, ``span`` or ``indent``; empty in prose."""
        if self.fence:
            return "fence"
        if self._span:
            return "span"
        return "indent" if self.is_indented else ""

    def head(self, text: str, at: int, *, is_end: bool) -> int | None:
        """Read the beginning of a line; returns where to continue, None if more text is needed."""
        lead = _LEAD.match(text, at, at + _LEAD_CHARS)
        if lead is None or (not is_end and _UNDECIDED.match(text, at)):
            return None
        fence = _FENCE.match(text, lead.end())
        if fence and self.is_trusted:
            rest = text[fence.end() : fence.end() + _INFO_CHARS]
            info, newline, _ = rest.partition("\n")
            if not newline and not is_end and len(rest) < _INFO_CHARS and "`" not in info:
                return None
            if self._takes_fence(fence[0], info):
                self._at_head = self.is_blank = False
                return fence.end()
        self._at_head = False
        self._see_line(lead[0], text[lead.end() : lead.end() + 1])
        return lead.end()

    def backticks(self, text: str, at: int, *, is_end: bool, before: str = " ") -> int | None:
        """Read a run of backticks; returns where it ends, None if more text is needed. ``before``: the character before ``text``."""
        run = text[at : at + _MAX_RUN]
        end = at + len(run) - len(run.lstrip("`"))
        if end >= len(text) - 1 and end - at < _MAX_RUN and not is_end:
            return None
        before, after = text[at - 1 : at] if at else before, text[end : end + 1]
        length = end - at
        if self._span == length:
            # A run that looks like the opening of another span does not close this one, which began with a stray backtick.
            if length > 1 or not (before.isspace() or before in "([{") or not after.isalnum():
                self._span = 0
        elif not self._span and self._span_counts and before != "\\" and (length > 1 or not (after.isspace() or not after)):
            self._span = length
        return end

    def end_line(self) -> None:
        """A line ends."""
        if self.is_blank:
            self._after_blank = self._has_lines
        self._has_lines = self._has_lines or not self.is_blank
        self._at_head, self.is_blank = True, True
        self._span, self._span_counts = 0, True

    def distrust(self, place: str) -> None:
        """Text that looked like code was not, and is read again from a sign in its line on. ``place``: the kind of code."""
        match place:
            case "fence":
                self.fence, self.is_trusted = "", False
            case "span":
                self._span_counts = False
            case _:
                self.is_indented = False
        # What was read after the sign says nothing about its place: a backtick there must not make it a code span.
        self._span = 0
        self._at_head = self.is_blank = self._after_blank = False

    def _takes_fence(self, run: str, info: str) -> bool:
        if self.fence:
            if run[0] == self.fence[0] and len(run) >= len(self.fence) and not info.strip():
                self.fence = ""
                return True
            return False
        if run[0] == "`" and "`" in info:
            return False
        self.fence = run
        self.is_indented = self._after_blank = False
        return True

    def _see_line(self, lead: str, first: str) -> None:
        if not first or first == "\n":
            return
        self.is_blank = False
        after_blank, self._after_blank = self._after_blank, False
        if self.fence:
            return
        is_item = bool(lead.strip(" \t>"))
        is_deep = not is_item and ">" not in lead and ("\t" in lead or len(lead) >= 4)
        self.is_indented = is_deep and not self._in_list and (after_blank or self.is_indented)
        # Without a blank line before it, text at the margin continues the item's paragraph.
        self._in_list = is_item or (self._in_list and (not after_blank or bool(lead.strip(">"))))


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
        case SignKind.SPECIAL | SignKind.WRAPPER:
            verdict = _of_special(line, after)
        case SignKind.COLLAPSED:
            verdict = _of_collapsed(line, after)
        case _:
            verdict = _of_tag(line, after, whole=whole)
            if sign.kind is SignKind.CLOSING and _SPOKEN_OF.search(line) and _GOES_ON.match(after):
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


class MarkerVerdict(Enum):
    """The kinds of special tokens."""

    WAIT = auto()
    MENTION = auto()
    EXAMPLE = auto()
    """It may begin an example of a whole message: more text is needed."""
    EMITTED = auto()


@dataclass(frozen=True, slots=True)
class Special:
    """A classified special token. ``end``: where a mention ends. ``withdraws``: a final message follows, so the text before it was not
    the answer."""

    verdict: MarkerVerdict
    end: int = 0
    withdraws: bool = False


_ENDINGS = ("end", "return", "call", "endoftext", "im_end", "eot_id", "eom_id", "end_of_turn", "eos", "eom", "eot", "end_message")
_MAX_EXAMPLE_CHARS = 2000
_HEADER_CHARS = 200
_CHANNEL_WORD = re.compile(r"[\s\u200b]{0,20}(analysis|commentary|final)(?![a-z])", re.IGNORECASE)
_CHANNEL_MAYBE = re.compile(r"[\s\u200b]{0,20}[a-z]{0,10}\Z", re.IGNORECASE)
_ROLE = re.compile(r"[\s\u200b]{0,20}(assistant|user|system|developer|tool|functions)", re.IGNORECASE)
_ROLE_MAYBE = re.compile(r"[\s\u200b]{0,20}[a-z]{0,9}\Z", re.IGNORECASE)
_SPEAKS_ON_BEFORE_MARKER = re.compile(r"[\w,]\s\Z")
_WHOLE_HEADER = re.compile(r"<\|start\|>\w+(?: ?to=[\w.]+)?(?:<\|channel\|>\w+(?: ?to=[\w.]+)?)?(?: ?<\|constrain\|>\w+)?<\|message\|>")
_GOES_ON_AFTER_MARKER = re.compile(r"\s[a-z]|[.,;:!?)]")
_BULLET_BEFORE_MARKER = re.compile(r"\s*(?:[-*+>•]|\d{1,3}[.)])?\s*\Z")
_WAITING = Special(MarkerVerdict.WAIT)
_EMITTED = Special(MarkerVerdict.EMITTED)


def judge_special(view: str, sign: Sign, line: str, *, has_text: bool, is_end: bool) -> Special:
    """``line``: the text before the sign in its line. ``has_text``: something was shown before."""
    if not has_text:
        return _EMITTED
    rest = view[sign.end : sign.end + _HEADER_CHARS]
    maybe = {"channel": _CHANNEL_MAYBE, "start": _ROLE_MAYBE}.get(sign.name)
    if maybe and not is_end and maybe.match(rest):
        return _WAITING
    if sign.name == "channel" and _CHANNEL_WORD.match(rest):
        return _of_header(view, sign, line, is_end=is_end)
    if sign.name == "start" and _ROLE.match(rest):
        if _may_be_example(line):
            return _quoted_header(view, sign, line, is_end=is_end) or Special(MarkerVerdict.EXAMPLE)
        if _SPEAKS_ON_BEFORE_MARKER.search(line) and (header := _spoken_header(view, sign, is_end=is_end)):
            return header
        return _of_header(view, sign, line, is_end=is_end)
    if sign.name in _ENDINGS:
        return _of_ending(view, sign, line, is_end=is_end)
    return _of_lone(view, sign, line, is_end=is_end)


def example_in(view: str, *, is_end: bool) -> int | None:
    """Where a complete example that begins here ends; 0 if it is not one, None if more text is needed."""
    body_at = ended_at = 0
    for sign in patterns.signs_in(view):
        if sign.kind is not SignKind.SPECIAL:
            continue
        if sign.name == "message" and not body_at:
            body_at = sign.end
        elif body_at and sign.name in ("end", "return", "call"):
            ended_at = sign.end
            break
        elif sign.start and (body_at or sign.name not in ("channel", "constrain")):
            return 0
    if not ended_at or ended_at > _MAX_EXAMPLE_CHARS:
        return 0 if is_end or len(view) > _MAX_EXAMPLE_CHARS else None
    has_text = _begins_with_text(view[ended_at:].lstrip(), is_end=is_end)
    if has_text is None:
        return None
    return ended_at if has_text else 0


def _begins_with_text(rest: str, *, is_end: bool) -> bool | None:
    """Whether text follows, rather than another token or nothing; None if more text is needed."""
    if not rest or re.fullmatch(r"\\+|&\w{0,4};?|<\|?\w{0,12}", rest):
        return False if is_end else None
    following = patterns.sign_at(rest, 0, is_end=is_end)
    if isinstance(following, patterns.UndecidedSign):
        return None
    return not (following and following.kind is SignKind.SPECIAL)


def begins_final(view: str) -> bool:
    """Whether the message that begins here is a final one, so that the text before it was not the answer."""
    tokens = [sign for sign in patterns.signs_in(view[:_HEADER_CHARS]) if sign.kind is SignKind.SPECIAL]
    word = _CHANNEL_WORD.match(view, tokens[1].end) if len(tokens) > 1 and tokens[1].name == "channel" else None
    return word is not None and word[1].lower() == "final"


def _may_be_example(line: str) -> bool:
    """Whether it is at the start of a line, or announced."""
    return bool(_BULLET_BEFORE_MARKER.fullmatch(line)) or line.rstrip().endswith(":") or line[-1:] in QUOTES


def _of_header(view: str, sign: Sign, line: str, *, is_end: bool) -> Special:
    return _quoted_header(view, sign, line, is_end=is_end) or _emitted(view, sign, is_end=is_end)


def _quoted_header(view: str, sign: Sign, line: str, *, is_end: bool) -> Special | None:
    """A header in quotation marks, with nothing after it."""
    closing = QUOTES.get(line[-1:])
    if not closing:
        return None
    inside = re.match(rf"[^\n]{{0,{_HEADER_CHARS}}}?(?=[{re.escape(closing)}])", view[sign.start : sign.start + _HEADER_CHARS])
    if inside is None:
        can_grow = not is_end and len(view) - sign.start < _HEADER_CHARS and "\n" not in view[sign.start :]
        return _WAITING if can_grow else None
    text = inside[0]
    ends_whole = bool(re.search(r"(?:[|>;]|analysis|commentary|final|assistant|user|system|developer)\Z", text))
    return Special(MarkerVerdict.MENTION, sign.start + inside.end()) if ends_whole else None


def _spoken_header(view: str, sign: Sign, *, is_end: bool) -> Special | None:
    """A whole header inside a sentence that continues after it, as no message body does."""
    header = _WHOLE_HEADER.match(view, sign.start, sign.start + _HEADER_CHARS)
    if header:
        rest = view[header.end() : header.end() + 2]
        if len(rest) < 2 and not is_end:
            return _WAITING
        return Special(MarkerVerdict.MENTION, header.end()) if _GOES_ON_AFTER_MARKER.match(rest) else None
    can_grow = not is_end and len(view) - sign.start < _HEADER_CHARS and "\n" not in view[sign.start :]
    return _WAITING if can_grow else None


def _of_ending(view: str, sign: Sign, line: str, *, is_end: bool) -> Special:
    rest = view[sign.end : sign.end + _HEADER_CHARS]
    beginning = rest.lstrip("\u200b \t\r\n")
    if not beginning:
        if not is_end and len(rest) < _HEADER_CHARS:
            return _WAITING
        # A stop token that a server left at the end of the answer, unless the last sentence mentions it.
        return Special(MarkerVerdict.MENTION, sign.end) if line[-1:] == " " and line.strip() else _EMITTED
    if not is_end and "start".startswith(beginning):
        return _WAITING
    if beginning[0] in "<\\&|" or beginning.startswith("start"):
        following = patterns.sign_at(beginning, 0, is_end=is_end)
        if isinstance(following, patterns.UndecidedSign):
            return _WAITING
        if following and following.kind is SignKind.SPECIAL:
            return _emitted(view, sign, is_end=is_end)
    return _of_lone(view, sign, line, is_end=is_end)


def _of_lone(view: str, sign: Sign, line: str, *, is_end: bool) -> Special:
    mention = is_mention(sign, line, view[sign.end : sign.end + LOOK_AHEAD], is_end=is_end)
    if mention is None:
        return _WAITING
    return Special(MarkerVerdict.MENTION, sign.end) if mention else _emitted(view, sign, is_end=is_end)


def _emitted(view: str, sign: Sign, *, is_end: bool) -> Special:
    """If a final message follows, the text before it was not the answer and is withdrawn."""
    at, limit = sign.start, sign.start + _HEADER_CHARS
    while (match := patterns.TRIGGER.search(view, at, limit)) is not None:
        found = patterns.sign_at(view, match.start(), is_end=is_end)
        if isinstance(found, patterns.UndecidedSign):
            return _WAITING
        at = found.end if found else match.end()
        if found and found.kind is SignKind.ANSWER:
            return Special(MarkerVerdict.EMITTED, withdraws=True)
        if found and found.name == "message":
            return _EMITTED
        if found and found.name == "channel":
            word = _CHANNEL_WORD.match(view, at)
            if not is_end and _CHANNEL_MAYBE.match(view, at):
                return _WAITING
            return Special(MarkerVerdict.EMITTED, withdraws=word is not None and word[1].lower() == "final")
    return _WAITING if not is_end and len(view) - sign.start < _HEADER_CHARS else _EMITTED


_LINE_CHARS = 240


@dataclass(frozen=True, slots=True)
class EmittedSign:
    """A sign that was emitted, not mentioned.

    ``rest``: the text from the sign on. ``length``: the sign's own. ``withdraws``: the text before it was not the answer.
    """

    kind: SignKind
    name: str
    length: int
    rest: str = field(repr=False)
    withdraws: bool = False


@dataclass(slots=True)
class _Doubt:
    """A sign in apparent code, or in an apparent example, and the text after it until that is certain. ``before``: the character before."""

    place: str
    before: str = " "
    parts: list[str] = field(default_factory=list)
    size: int = 0


class Prose:
    """Text in; releasable text out, with the first sign. After a sign, feed the text that follows it."""

    def __init__(self, kinds: Container[SignKind] = frozenset(SignKind)) -> None:
        """``kinds``: the signs to find; None for all."""
        self._kinds = kinds
        self._buffer = ""
        self._before = " "
        """The character before the buffer: a backslash there escapes a backtick at its beginning."""
        self._line = ""
        self._code = CodeTracker()
        self._doubt: _Doubt | None = None
        self._out: list[str] = []
        self._plain: Counter[str] = Counter()
        self.has_text = False

    def feed(self, text: str, *, is_end: bool = False) -> tuple[str, EmittedSign | None]:
        """More text. ``is_end``: no more comes, and nothing is buffered."""
        self._buffer += text
        found = self._scan(is_end=is_end)
        while found is None and is_end and (self._doubt or self._buffer):
            found = self._scan_doubtful_end()
        out, self._out = "".join(self._out), []
        return out, found

    def _scan(self, *, is_end: bool) -> EmittedSign | None:
        """Read from the beginning of the buffer until more text is needed."""
        view = folded(self._buffer)
        at = 0
        while True:
            step = self._step(view, at, is_end=is_end)
            if isinstance(step, EmittedSign):
                return step
            if step is None:
                return None
            if step < 0:
                # The buffer starts over.
                view, at = folded(self._buffer), 0
            else:
                at = step

    def _step(self, view: str, at: int, *, is_end: bool) -> EmittedSign | int | None:
        """The position at which to continue; None if more text is needed, -1 if the buffer has changed."""
        if self._doubt and self._doubt.place == "example":
            return self._look_at_example(is_end=is_end)
        if self._code.needs_head:
            # Unfolded text: in Markdown, look-alikes of spaces, backticks and list markers have no meaning.
            past = self._code.head(self._buffer, at, is_end=is_end) if at < len(view) else None
            if past is None:
                return self._stop(at)
            return self._at_head(at, past)
        trigger = patterns.TRIGGER.search(view, at)
        if trigger is None:
            end = len(view) if is_end else len(view) - patterns.undecided(view[at:])
            return self._stop(end)
        return self._at_trigger(view, trigger, is_end=is_end)

    def _at_head(self, at: int, past: int) -> int:
        doubt = self._doubt
        if doubt and doubt.place == "fence" and not self._code.fence:
            self._take(past)
            return self._believe()
        if doubt and doubt.place == "indent" and not self._code.is_indented:
            self._take(at)
            return self._believe() if _is_balanced("".join(doubt.parts)) else self._distrust()
        return past

    def _at_trigger(self, view: str, trigger: re.Match[str], *, is_end: bool) -> EmittedSign | int | None:
        at = trigger.start()
        if view[at] == "\n":
            return self._at_line_end(at)
        if view[at] == "`":
            return self._at_backticks(at, is_end=is_end)
        sign = patterns.sign_at(view, at, is_end=is_end)
        if isinstance(sign, UndecidedSign):
            return self._stop(at)
        if sign is None or sign.kind not in self._kinds or self._doubt:
            return sign.end if sign else trigger.end()
        if place := self._code.place:
            self._take(at)
            self._doubt = _Doubt(place, self._before)
            return -1
        return self._judge(view, sign, is_end=is_end)

    def _at_line_end(self, at: int) -> int:
        self._code.end_line()
        return self._distrust() if self._doubt and self._doubt.place == "span" else at + 1

    def _at_backticks(self, at: int, *, is_end: bool) -> int | None:
        if self._buffer[at] != "`":
            return at + 1
        past = self._code.backticks(self._buffer, at, is_end=is_end, before=self._before)
        if past is None:
            return self._stop(at)
        if self._doubt and self._doubt.place == "span" and self._code.place != "span":
            is_long = self._doubt.size + at > MAX_SPAN_CHARS
            self._take(past)
            return self._distrust() if is_long else self._believe()
        return past

    def _judge(self, view: str, sign: Sign, *, is_end: bool) -> EmittedSign | int | None:
        line = self._line_before(view, sign.start)
        if sign.kind is SignKind.SPECIAL:
            special = judge_special(view, sign, line, has_text=self.has_text or _has_text(view[: sign.start]), is_end=is_end)
            if special.verdict is MarkerVerdict.WAIT:
                return self._stop(sign.start)
            if special.verdict is MarkerVerdict.MENTION:
                return special.end
            if special.verdict is MarkerVerdict.EXAMPLE:
                self._take(sign.start)
                self._doubt = _Doubt("example")
                return -1
            return self._found(sign, withdraws=special.withdraws)
        if sign.kind is SignKind.PLAIN or (sign.kind is SignKind.CLOSING and self._plain[sign.name]):
            self._plain[sign.name] += 1 if sign.kind is SignKind.PLAIN else -1
            return sign.end
        mention = is_mention(sign, line, view[sign.end : sign.end + LOOK_AHEAD], is_end=is_end)
        if mention is None:
            return self._stop(sign.start)
        return sign.end if mention else self._found(sign, withdraws=sign.kind in (SignKind.CLOSING, SignKind.COLLAPSED))

    def _found(self, sign: Sign, *, withdraws: bool) -> EmittedSign:
        self._take(sign.start)
        rest, self._buffer, self._before = self._buffer, "", " "
        return EmittedSign(sign.kind, sign.name, sign.end - sign.start, rest, withdraws)

    # Releasing and buffering

    def _stop(self, at: int) -> int | None:
        """Undecided: the text up to ``at`` is released, the rest stays buffered."""
        self._take(at)
        doubt = self._doubt
        if doubt and doubt.place == "span" and doubt.size > MAX_SPAN_CHARS:
            return self._distrust()
        return None

    def _take(self, at: int) -> None:
        """Consume the buffer up to ``at``."""
        text, self._buffer = self._buffer[:at], self._buffer[at:]
        if not text:
            return
        self._before = text[-1]
        if self._doubt:
            self._doubt.parts.append(text)
            self._doubt.size += len(text)
        else:
            self._release(text)

    def _release(self, text: str) -> None:
        self._out.append(text)
        self.has_text = self.has_text or _has_text(folded(text))
        self._line = (self._line + folded(text[-_LINE_CHARS:])).rpartition("\n")[2][-_LINE_CHARS:]

    def _believe(self) -> int:
        """It was code, or an example: release all of it."""
        if self._doubt:
            parts, self._doubt = self._doubt.parts, None
            self._release("".join(parts))
        return -1

    def _distrust(self) -> int:
        """It was neither: the sign counts, and the text is read again as prose."""
        if self._doubt:
            doubt, self._doubt = self._doubt, None
            self._buffer, self._before = "".join(doubt.parts) + self._buffer, doubt.before
            self._code.distrust(doubt.place)
        return -1

    def _scan_doubtful_end(self) -> EmittedSign | None:
        """The text ended inside apparent code."""
        doubt = self._doubt
        if doubt is None:
            return self._scan(is_end=True)
        self._take(len(self._buffer))
        if doubt.place == "indent" and _is_balanced("".join(doubt.parts)):
            self._believe()
        else:
            self._distrust()
        return self._scan(is_end=True)

    def _look_at_example(self, *, is_end: bool) -> EmittedSign | int | None:
        doubt = self._doubt
        self._take(len(self._buffer))
        text = "".join(doubt.parts) if doubt else ""
        view = folded(text)
        end = example_in(view, is_end=is_end)
        if end is None:
            return None
        self._doubt = None
        if end:
            self._buffer, self._before = text[end:], text[end - 1]
            self._release(text[:end])
            return -1
        self._buffer = text
        return self._found(next(patterns.signs_in(view)), withdraws=begins_final(view))

    def _line_before(self, view: str, at: int) -> str:
        here = view[max(at - _LINE_CHARS, 0) : at]
        return here.rpartition("\n")[2] if "\n" in here else (self._line + here)[-_LINE_CHARS:]


def _has_text(view: str) -> bool:
    """Whether a person sees anything in folded text."""
    return bool(bare(view).strip())


def _is_balanced(text: str) -> bool:
    """Whether everything opened in a block of code is closed in it."""
    open_names: list[str] = []
    for sign in patterns.signs_in(folded(text)):
        if sign.kind is SignKind.OPENING:
            open_names.append(sign.name)
        elif sign.kind is SignKind.CLOSING and (not open_names or open_names.pop() != sign.name):
            return False
    return not open_names
