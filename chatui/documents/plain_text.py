"""Decodes text files, and cleans text from untrusted files: removes invisible and reordering characters, and normalizes Unicode.

Files are decoded by their byte order mark, else as UTF-8, else as Windows-1252. Control tokens that are spelled out in the text are kept:
they are ordinary text, and are encoded as such when a prompt is built.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from renderer.characters import drop

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of it
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FALLBACK = "cp1252"
_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\v\f\r")
_ASCII_LINE_ENDS = bytes.maketrans(b"\v\f\r", b"\n\n\n")


def prepare() -> None:
    """Load the codecs, because a confined process cannot open them."""
    for encoding in (*(encoding for _, encoding in _MARKS), _FALLBACK):
        codecs.lookup(encoding)


def decoded(data: bytes, max_bytes: int) -> str:
    """The text of a file's first bytes. Invalid bytes become U+FFFD. No other encoding is guessed, especially not UTF-7."""
    head = data[:max_bytes]
    if (text := marked(head)) is not None:
        return text
    try:
        # The last character of a truncated file may be incomplete.
        return codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) == len(data))
    except UnicodeDecodeError:
        return head.decode(_FALLBACK, "replace")


def marked(data: bytes) -> str | None:
    """The text of bytes that begin with a byte order mark; None for other bytes."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return None


def of_ascii(data: bytes) -> str:
    """The cleaned text of ASCII bytes. Takes about a millisecond per megabyte, because each step is one call into C."""
    return data.replace(b"\r\n", b"\n").translate(_ASCII_LINE_ENDS, _CONTROLS).decode("ascii")


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
