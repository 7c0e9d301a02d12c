"""Classifies adjacent special tokens: a header, an end before a start, an example of a whole message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from chatui.backends.leaks import leak_patterns
from chatui.backends.leaks.leak_patterns import Kind, Sign
from chatui.backends.leaks.mentions import LOOK_AHEAD, QUOTES, is_mention


class Verdict(Enum):
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

    verdict: Verdict
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
_WAITING = Special(Verdict.WAIT)
_EMITTED = Special(Verdict.EMITTED)


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
            return _quoted_header(view, sign, line, is_end=is_end) or Special(Verdict.EXAMPLE)
        if _SPEAKS_ON_BEFORE_MARKER.search(line) and (header := _spoken_header(view, sign, is_end=is_end)):
            return header
        return _of_header(view, sign, line, is_end=is_end)
    if sign.name in _ENDINGS:
        return _of_ending(view, sign, line, is_end=is_end)
    return _of_lone(view, sign, line, is_end=is_end)


def example_in(view: str, *, is_end: bool) -> int | None:
    """Where a complete example that begins here ends; 0 if it is not one, None if more text is needed."""
    body_at = ended_at = 0
    for sign in leak_patterns.signs_in(view):
        if sign.kind is not Kind.SPECIAL:
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
    following = leak_patterns.sign_at(rest, 0, is_end=is_end)
    if isinstance(following, leak_patterns.Wait):
        return None
    return not (following and following.kind is Kind.SPECIAL)


def begins_final(view: str) -> bool:
    """Whether the message that begins here is a final one, so that the text before it was not the answer."""
    tokens = [sign for sign in leak_patterns.signs_in(view[:_HEADER_CHARS]) if sign.kind is Kind.SPECIAL]
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
    return Special(Verdict.MENTION, sign.start + inside.end()) if ends_whole else None


def _spoken_header(view: str, sign: Sign, *, is_end: bool) -> Special | None:
    """A whole header inside a sentence that continues after it, as no message body does."""
    header = _WHOLE_HEADER.match(view, sign.start, sign.start + _HEADER_CHARS)
    if header:
        rest = view[header.end() : header.end() + 2]
        if len(rest) < 2 and not is_end:
            return _WAITING
        return Special(Verdict.MENTION, header.end()) if _GOES_ON_AFTER_MARKER.match(rest) else None
    can_grow = not is_end and len(view) - sign.start < _HEADER_CHARS and "\n" not in view[sign.start :]
    return _WAITING if can_grow else None


def _of_ending(view: str, sign: Sign, line: str, *, is_end: bool) -> Special:
    rest = view[sign.end : sign.end + _HEADER_CHARS]
    beginning = rest.lstrip("\u200b \t\r\n")
    if not beginning:
        if not is_end and len(rest) < _HEADER_CHARS:
            return _WAITING
        # A stop token that a server left at the end of the answer, unless the last sentence mentions it.
        return Special(Verdict.MENTION, sign.end) if line[-1:] == " " and line.strip() else _EMITTED
    if not is_end and "start".startswith(beginning):
        return _WAITING
    if beginning[0] in "<\\&|" or beginning.startswith("start"):
        following = leak_patterns.sign_at(beginning, 0, is_end=is_end)
        if isinstance(following, leak_patterns.Wait):
            return _WAITING
        if following and following.kind is Kind.SPECIAL:
            return _emitted(view, sign, is_end=is_end)
    return _of_lone(view, sign, line, is_end=is_end)


def _of_lone(view: str, sign: Sign, line: str, *, is_end: bool) -> Special:
    mention = is_mention(sign, line, view[sign.end : sign.end + LOOK_AHEAD], is_end=is_end)
    if mention is None:
        return _WAITING
    return Special(Verdict.MENTION, sign.end) if mention else _emitted(view, sign, is_end=is_end)


def _emitted(view: str, sign: Sign, *, is_end: bool) -> Special:
    """If a final message follows, the text before it was not the answer and is withdrawn."""
    at, limit = sign.start, sign.start + _HEADER_CHARS
    while (match := leak_patterns.TRIGGER.search(view, at, limit)) is not None:
        found = leak_patterns.sign_at(view, match.start(), is_end=is_end)
        if isinstance(found, leak_patterns.Wait):
            return _WAITING
        at = found.end if found else match.end()
        if found and found.kind is Kind.ANSWER:
            return Special(Verdict.EMITTED, withdraws=True)
        if found and found.name == "message":
            return _EMITTED
        if found and found.name == "channel":
            word = _CHANNEL_WORD.match(view, at)
            if not is_end and _CHANNEL_MAYBE.match(view, at):
                return _WAITING
            return Special(Verdict.EMITTED, withdraws=word is not None and word[1].lower() == "final")
    return _WAITING if not is_end and len(view) - sign.start < _HEADER_CHARS else _EMITTED
