"""Cleans text from untrusted files: removes invisible and reordering characters, codes for terminals and inline pictures, and normalizes
Unicode. Knows the encodings that files may have (``inside.encodings`` decodes them).

Control tokens that are spelled out in the text are kept:
they are ordinary text, and are encoded as such when a prompt is built.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from renderer.characters import drop

ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16 (big-endian)",
    "utf-32-le": "UTF-32",
    "utf-32-be": "UTF-32 (big-endian)",
    "cp1252": "Windows-1252",
    "cp1250": "Windows-1250",
    "cp1251": "Windows-1251",
    "cp1253": "Windows-1253",
    "cp1254": "Windows-1254",
    "cp1255": "Windows-1255",
    "cp1256": "Windows-1256",
    "cp1257": "Windows-1257",
    "cp1258": "Windows-1258",
    "iso8859-2": "ISO 8859-2",
    "iso8859-3": "ISO 8859-3",
    "iso8859-4": "ISO 8859-4",
    "iso8859-5": "ISO 8859-5",
    "iso8859-6": "ISO 8859-6",
    "iso8859-7": "ISO 8859-7",
    "iso8859-8": "ISO 8859-8",
    "iso8859-9": "ISO 8859-9",
    "iso8859-10": "ISO 8859-10",
    "iso8859-13": "ISO 8859-13",
    "iso8859-14": "ISO 8859-14",
    "iso8859-15": "ISO 8859-15",
    "iso8859-16": "ISO 8859-16",
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "gb18030": "GB18030 (GBK)",
    "big5hkscs": "Big5",
    "cp932": "Shift JIS",
    "euc_jp": "EUC-JP",
    "iso2022_jp": "ISO-2022-JP",
    "cp949": "EUC-KR (CP949)",
    "cp874": "Windows-874",
    "cp437": "DOS 437",
    "cp850": "DOS 850",
    "cp852": "DOS 852",
    "cp866": "DOS 866",
    "mac-roman": "Mac Roman",
    "mac-cyrillic": "Mac Cyrillic",
}
"""The encodings that are read: Python's name, and the name for people."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of it
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\v\f\r")
_ASCII_LINE_ENDS = bytes.maketrans(b"\v\f\r", b"\n\n\n")


def mark_of(data: bytes) -> tuple[int, str]:
    """The length of a byte order mark, and the encoding that it stands for; 0 and nothing if there is none."""
    return next(((len(mark), encoding) for mark, encoding in _MARKS if data.startswith(mark)), (0, ""))


def marked(data: bytes) -> str | None:
    """The text of bytes that begin with a byte order mark; None for other bytes."""
    length, encoding = mark_of(data)
    return data[length:].decode(encoding, "replace") if encoding else None


def wide_encoding(data: bytes) -> str:
    """UTF-16 without a mark: every other byte of most Western text is zero."""
    pairs = len(data) // 2
    if pairs < 2 or b"\0" not in data:
        return ""
    even, odd = data[0 : 2 * pairs : 2].count(0), data[1 : 2 * pairs : 2].count(0)
    if max(even, odd) * 5 < 2 * pairs or min(even, odd) * 20 > max(even, odd):
        return ""
    return "utf-16-be" if even > odd else "utf-16-le"


_TERMINAL_CODES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\))")
"""Colours and titles for a terminal, as in logs."""
_INLINE_DATA = re.compile(rb"data:([\w.+-]{1,40})/([\w.+-]{1,80})(?:;[\w=.-]{1,80}){0,4};base64,([A-Za-z0-9+/=_%-]{60,})")


def without_noise(data: bytes) -> bytes:
    """ASCII text, or text in an encoding that contains it, without codes for terminals, and with a mark for each inline picture or file.
    Takes linear time."""
    if b"\x1b" in data:
        data = _TERMINAL_CODES.sub(b"", data)
    return _INLINE_DATA.sub(_mark, data) if b";base64," in data else data


def _mark(found: re.Match[bytes]) -> bytes:
    kind = b"Picture" if found[1] == b"image" else b"File"
    return b"[%b: %b, %d kB]" % (kind, found[2], max(len(found[3]) * 3 // 4 // 1000, 1))


def of_ascii(data: bytes, max_bytes: int) -> tuple[str, bool]:
    """The cleaned text of ASCII bytes, and whether it is cut. Takes about a millisecond per megabyte: each step is one call into C."""
    plain = without_noise(data)
    text = plain[:max_bytes].replace(b"\r\n", b"\n").translate(_ASCII_LINE_ENDS, _CONTROLS).decode("ascii")
    return text, len(plain) > max_bytes


_UTF_7 = re.compile(rb"[A-Za-z]\+A[A-Za-z0-9+/]{2,7}-")


def unreadable_in_ascii(data: bytes) -> int:
    """How many letters of ASCII text are probably in UTF-7, which is not read: it could hide markup from checks."""
    return len(_UTF_7.findall(data)) if b"+A" in data else 0


_RARE_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_PIECE = re.compile(r"[\s\S]{1,400}(?=[\x00-\x7f\u3000-\u3029\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]|\Z)|[\s\S]{1,400}")
"""A piece ends before a character that never combines with the previous one.

Sorting a run of combining characters takes quadratic time, so pieces are short.
"""


def clean(text: str) -> str:
    """The cleaned text, with ``\\n`` as line end, in Unicode normalization form C. Always takes linear time."""
    plain = drop(_RARE_LINE_ENDS.sub("\n", text))
    if plain.isascii():
        return plain
    return "".join(unicodedata.normalize("NFC", piece) for piece in _PIECE.findall(plain))
