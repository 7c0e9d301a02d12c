"""Parses a title from a model's reply. A reply that is not clearly a title yields none."""

from __future__ import annotations

import re
import unicodedata

from renderer.summary.disguises import folded, has_invisible_characters

MAX_CHARS = 60
MAX_WORDS = 8
_MAX_REPLY_CHARS = 400
_MIN_LETTERS = 2

# Scripts that need joiners between letters keep them; ``has_invisible_characters`` rejects joiners anywhere else.
_JOINERS = "\u200c\u200d"
_LABEL = re.compile(
    r"\A(?:(?:chat |conversation )?title|titel|titre|t[i\u00ed]tulo|titolo|tytu\u0142"
    r"|\u0437\u0430\u0433\u043e\u043b\u043e\u0432\u043e\u043a|\u6807\u9898|\u6a19\u984c|\u30bf\u30a4\u30c8\u30eb|\uc81c\ubaa9)"
    r"\s*[:\uff1a]\s*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\A(?:[-*+\u2022\u2013>]|\d{1,2}[.)]|#{1,6})\s+")
_EMPHASIS = re.compile(r"\*+|~~|`+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")
_QUOTES = "\"'\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u00ab\u00bb\u2039\u203a\u300c\u300d\u300e\u300f\u300a\u300b"
_ENDINGS = " .,;:\u3002\uff0c\uff1b\uff1a"

_MARKERS = re.compile(
    r"[<>|{}\[\]\\]|\b[a-z][a-z0-9+.-]*:(?=\S)|\bwww\.|\w@\w|\w\.\w+/|\w\.(?:com|org|net|info|biz|io|dev|app|xyz|co|me)\b"
    r"|(?:\d[ ()/.-]{0,2}){9}|assistant ?(?:final|analysis|commentary)|\b(?:analysis|final|commentary) ?(?:channel|message)"
)
# How reasoning, or a sentence addressed to the reader, begins. "World War I" and "Where do I start" do not begin like this.
_BEGINS = re.compile(
    r"(?:i|i'm|i'll|i've|i'd|we|we're|we'll|let me|let's|let us|lets|here is|here are|here's|sure|okay|ok|hmm+|sorry|please|certainly"
    r"|wait|maybe|perhaps|probably"
    r"|(?:the )?asker|needs? to|must not|should not|(?:the )?policy (?:forbids|prohibits|allows|requires|says)"
    r"|(?:the )?system (?:prompt|message)|(?:the )?developer message"
    r"|of course|absolutely|you|your title|this (?:is|conversation|title)|the (?:question|answer|conversation|title) (?:is|asks|was|says)"
    r"|ich|wir|hier ist|gerne|bitte|tut mir|je|j'ai|nous|voici|desole|yo|nosotros|aqui (?:esta|tienes)|claro|lo siento|noi|ecco|scusa"
    r"|\u044f|\u043c\u044b|\u0432\u043e\u0442)(?![\w/-])"
    r"|\u6211|\u597d\u7684|\u62b1\u6b49|\u7528\u6237|\u7528\u6236|\u30e6\u30fc\u30b6\u30fc|\uc0ac\uc6a9\uc790"
)
_HOLDS = re.compile(
    r"\busers? (?:asks?|asked|wants?|wanted|says?|said|is|has|needs?|greets?|requests?|requested|seems|writes?|wrote|provided|gave)\b"
    r"|\b(?:short|new|good|possible|concise|suitable|conversation|chat|your) title\b|\bas an ai\b"
    r"|\b(?:ignore|disregard) (?:all|any|previous|the)\b|\b(?:we|i) (?:need|should|must|cannot|can't|will|think|have to)\b"
    r"|\b(?:der|die|das) (?:nutzer|nutzerin|benutzer|anwender) (?:fragt|mochte|will|hat)\b"
    r"|\bl'utilisateur (?:demande|veut)\b|\bel usuario (?:pregunta|quiere)\b|\bl'utente (?:chiede|vuole)\b"
    r"|\bo usuario (?:pergunta|quer)\b|\b\u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b\u044c \w+\u0435\u0442\b"
)
_NONE = frozenset({"none", "nothing", "null", "untitled", "new conversation", "title", "n/a"})


def read(reply: str) -> str:
    """The title in a reply, safe to show on a page: one line of at most MAX_CHARS characters and MAX_WORDS words.

    Quotation marks, Markdown, a label, and control or invisible characters are removed. Empty if that leaves no title: the text is empty,
    too long or several lines, contains something like a marker or an address, reads like reasoning, or addresses the reader.
    """
    if len(reply) > _MAX_REPLY_CHARS or len(reply.strip().splitlines()) != 1:
        return ""
    title = _undecorated(" ".join(_printable(" ".join(reply.split())).split()))
    return title if _is_title(title) else ""


def _printable(text: str) -> str:
    """``text`` without control and format characters: line breaks, direction marks, zero-width characters."""
    printable = (
        each
        for each in unicodedata.normalize("NFC", text)
        if each in _JOINERS or unicodedata.category(each) not in ("Cc", "Cf", "Zl", "Zp")
    )
    return "".join(printable)


def _undecorated(line: str) -> str:
    """The line without what models put around a title. Repeated until nothing changes, because such decorations can be nested."""
    before = None
    while line != before:
        before = line
        line = _EMPHASIS.sub("", _LABEL.sub("", _BULLET.sub("", line)))
        line = _unquoted(line.strip().rstrip(_ENDINGS))
    return line


def _unquoted(line: str) -> str:
    is_quoted = len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES
    return line[1:-1].strip() if is_quoted else line


def _is_title(title: str) -> bool:
    if len(title) > MAX_CHARS or len(title.split()) > MAX_WORDS or has_invisible_characters(title):
        return False
    # Folding also replaces Cyrillic letters with the Latin letters that they resemble.
    plain = folded(title).replace("\u2019", "'")
    if sum(map(str.isalnum, title)) < _MIN_LETTERS or plain in _NONE:
        return False
    return not any(_MARKERS.search(line) or _BEGINS.match(line) or _HOLDS.search(line) for line in (plain, title.casefold()))
