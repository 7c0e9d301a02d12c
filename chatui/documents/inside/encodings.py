"""Decodes a text file by its byte order mark, by what it declares, as UTF-8, or else in the encoding that ``chardet`` finds likely.

A language makes its usual encodings likelier. A file in UTF-8 with a few bad bytes loses only these: one bad byte spoils one character.
UTF-7 is never read: it could hide markup from checks.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.kinds import UnreadThing
from chatui.documents.plain_text import ENCODINGS, mark_of, wide_encoding

_DECLARED = re.compile(
    rb"<\?xml[^>]{0,100}\sencoding\s*=\s*[\"']([\w.-]{2,40})|<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.-]{2,40})"
    rb"|\A(?:[^\n]*\n)?[ \t\f]*(?:#|//|/\*|;|--|%)[^\n]{0,200}coding[:=][ \t]*([\w.-]{2,40})"
    rb"|\A@charset \"([\w.-]{2,40})\"|Content-Type: text/plain; charset=([\w.-]{2,40})\\n",
    re.IGNORECASE,
)
"""What XML, HTML, source code, style sheets and catalogues of translations declare."""
_DECLARATION_BYTES = 4096
_USUAL = {
    "de": ("cp1252",),
    "en": ("cp1252",),
    "ko": ("cp949",),
    "zh-hans": ("gb18030",),
}
"""The usual encodings of the languages of our pages."""
_OLD = {"cp437": 0.4, "cp850": 0.5, "cp852": 0.5, "cp866": 0.7, "mac-roman": 0.5, "mac-cyrillic": 0.5}
_PRIOR = 2.0
_SAMPLE_BYTES = 60_000
_DOUBT = 0.7
"""A guess is doubtful if another one is this likely, compared with it, and gives another text."""
_FEW_BYTES = 24
"""Fewer bytes than these beside ASCII are not enough for a detector: "订单" in GBK is as good a word in Big5."""
_COMMON = {"gb18030": ("gb2312", re.compile(rb"[\xa1-\xa3\xb0-\xd7]")), "cp949": ("euc_kr", re.compile(rb"[\xa1-\xa3\xb0-\xc8]"))}
"""The part of an encoding with its common letters, and how their bytes begin."""
_SCRIPTS = ("cp1252", "cp1251", "cp1253", "cp1255", "cp1256", "gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
"""An encoding for each script and region: what few bytes can be as well."""
_WORD = re.compile(r"[^\W\d_]+")
_NOT_LATIN = re.compile("[\u0370-\u1cff\u1f00-\u1fff\u3040-\ud7a3\uff66-\uffdc]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_SIGNS_IN_WORDS = re.compile("[^\\W\\d_][\u00a1-\u00bf\u02b0-\u02ff\u0591-\u05c7\u064b-\u065f\u2010-\u2bff][^\\W\\d_]")
_STRANGE = re.compile("[\x80-\x9f\ufffd\ue000-\uf8ff]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text in its encoding."""

    text: str = field(repr=False)
    encoding: str
    is_doubtful: bool = False
    """Whether another encoding is nearly as likely."""
    unreadable: int = 0
    """How many bytes are no characters."""


def prepare(data: bytes) -> None:
    """Load the detector and the codecs, because a confined process cannot open them."""
    for encoding in ENCODINGS:
        codecs.lookup(encoding)
    if not data.isascii():
        import chardet

        for sample in ("Grüße und Maße", "Привет, мир", "合同编号", "カタカナ"):
            chardet.detect_all(sample.encode("utf-16")[2:], ignore_threshold=True)
            for encoding in ("cp1252", "cp1251", "gb18030", "cp932"):
                chardet.detect_all(sample.encode(encoding, "ignore"), ignore_threshold=True)


def read(data: bytes, collector: TextCollector) -> str:
    """The text of a file's first bytes. Notes the encoding, and how many characters could not be read."""
    found = decoded(data, collector.max_bytes, collector.language, collector.encoding)
    collector.encoding, collector.is_encoding_doubtful = found.encoding, found.is_doubtful
    collector.count(UnreadThing.CHARACTER, found.unreadable)
    return found.text


def decoded(data: bytes, max_bytes: int, language: str = "", chosen: str = "") -> Decoded:
    """The text of a file's first bytes. ``language``: that of the person. ``chosen``: the encoding that the person says it has."""
    head = data[:max_bytes]
    is_whole = len(head) == len(data)
    if chosen in ENCODINGS:
        return _in(chosen, head[mark_of(head)[0] if mark_of(head)[1] == chosen else 0 :])
    length, marked = mark_of(head)
    if marked:
        return _in(marked, head[length:])
    if (declared := _declared(head)) and declared != "utf-8":
        return _in(declared, head)
    if b"\x1b$" in head and head.isascii():
        return _in("iso2022_jp", head)
    try:
        # The last character of a truncated file may be incomplete.
        return Decoded(codecs.getincrementaldecoder("utf-8")().decode(head, final=is_whole), "utf-8")
    except UnicodeDecodeError:
        pass
    if wide := wide_encoding(head):
        return _in(wide, head)
    text = head.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if sum(ord(each) > 0x7F for each in text) - bad >= bad:
        return Decoded(text, "utf-8", unreadable=bad)
    encoding, is_doubtful = _guess(head, language)
    return _in(encoding, head, is_doubtful)


def _in(encoding: str, data: bytes, is_doubtful: bool = False) -> Decoded:
    text = data.decode(encoding, "replace")
    return Decoded(text, encoding, is_doubtful, text.count("\ufffd"))


def _declared(data: bytes) -> str:
    """The encoding that a file declares, if it is a known one."""
    found = _DECLARED.search(data[:_DECLARATION_BYTES])
    name = next((each for each in found.groups() if each), b"") if found else b""
    return known(name.decode("ascii"))


_ALIASES = {
    "ascii": "utf-8",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "shift_jis_2004": "cp932",
    "euc_kr": "cp949",
    "johab": "",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "utf-16": "utf-16-le",
    "cp1125": "cp866",
    "cp936": "gb18030",
    "cp950": "big5hkscs",
    "cp51932": "euc_jp",
    "hkscs": "big5hkscs",
}
"""Encodings that are read as a larger one that contains them."""


def known(name: str) -> str:
    """The name of an encoding in ``ENCODINGS``; empty if it is not read."""
    try:
        plain = codecs.lookup(name).name if name else ""
    except LookupError:
        return ""
    plain = _ALIASES.get(plain, plain)
    return plain if plain in ENCODINGS else ""


def _guess(data: bytes, language: str) -> tuple[str, bool]:
    """The likeliest encoding, and whether that is doubtful."""
    sample = b"\n".join(_lines(data))
    is_short = sum(byte > 0x7F for byte in sample) < _FEW_BYTES
    if is_short and (own := next((each for each in _USUAL.get(language, ()) if _is_common(sample, each)), "")):
        return own, _could_be_another(sample, own)
    ranked = sorted(_weighted(sample, language), reverse=True)
    if not ranked:
        return "cp1252", True
    best, encoding = ranked[0]
    text = sample.decode(encoding, "replace")
    others = (name for weight, name in ranked[1:] if weight >= best * _DOUBT)
    is_doubtful = any(sample.decode(each, "replace") != text for each in others)
    return encoding, is_doubtful or (is_short and _could_be_another(sample, encoding))


def _could_be_another(sample: bytes, encoding: str) -> bool:
    """Whether a sample has words in the encoding of another script as well."""
    text = sample.decode(encoding, "replace")
    return any(_has_words(other) for each in _SCRIPTS if (other := sample.decode(each, "replace")) != text)


def _is_common(sample: bytes, encoding: str) -> bool:
    """Whether a sample has only common letters of an encoding beside ASCII."""
    inner, begin = _COMMON.get(encoding, ("", None))
    try:
        return begin is not None and all(begin.match(each.encode(inner)) for each in sample.decode(inner) if not each.isascii())
    except UnicodeError:
        return False


def _has_words(text: str) -> bool:
    return _sense(text) == 1 and any(len(word) > 1 and not word.isascii() for word in _WORD.findall(text))


def _lines(data: bytes) -> Iterator[bytes]:
    """The first lines that are not ASCII: the others say nothing."""
    bytes_left = _SAMPLE_BYTES
    for line in data.split(b"\n"):
        if not line.isascii():
            yield line[:bytes_left]
            bytes_left -= len(line) + 1
            if bytes_left <= 0:
                return


def _weighted(sample: bytes, language: str) -> Iterator[tuple[float, str]]:
    """The weights of the encodings that are possible."""
    import chardet

    seen: dict[str, float] = {}
    for each in chardet.detect_all(sample, ignore_threshold=True):
        encoding = known(each["encoding"] or "")
        if encoding and not encoding.startswith("utf"):
            seen[encoding] = max(seen.get(encoding, 0.0), float(each["confidence"]))
    for encoding in _USUAL.get(language, ()):
        seen.setdefault(encoding, 0.01)
    for encoding, confidence in seen.items():
        weight = confidence * _OLD.get(encoding, 0.9 if encoding.startswith("iso") else 1.0) * _sense(sample.decode(encoding, "replace"))
        yield weight * (_PRIOR if encoding in _USUAL.get(language, ()) else 1.0), encoding


def _sense(text: str) -> float:
    """How far a text looks as if it were written by people: no words with letters of two scripts or with signs in them, no controls."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    mixed = sum(bool(_NOT_LATIN.search(word) and _LATIN.search(word)) for word in words)
    capitals = sum(word[1:] != word[1:].lower() and word != word.upper() for word in words)
    faults = 2 * mixed + capitals + 2 * len(_SIGNS_IN_WORDS.findall(text)) + 2 * len(_STRANGE.findall(text))
    return float(1 / (1 + 4 * faults / max(len(words), 1)))
