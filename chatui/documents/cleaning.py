"""Cleans text from untrusted files: removes invisible and reordering characters, and normalizes Unicode.

Control tokens that are spelled out in the text are kept: they are ordinary text, and are encoded as such when a prompt is built.
"""

from __future__ import annotations

import re
import unicodedata

_RARE_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PIECE = re.compile(r"[\s\S]{1,400}(?=[\x00-\x7f\u3000-\u3029\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]|\Z)|[\s\S]{1,400}")
"""A piece ends before a character that never combines with the previous one.

Sorting a run of combining characters takes quadratic time, so pieces are short.
"""


def clean(text: str) -> str:
    """The cleaned text, with ``\\n`` as line end, in Unicode normalization form C. Always takes linear time."""
    plain = _INVISIBLE.sub("", _RARE_LINE_ENDS.sub("\n", text))
    if plain.isascii():
        return plain
    return "".join(unicodedata.normalize("NFC", piece) for piece in _PIECE.findall(plain))


def has_no_invisible(text: str) -> bool:
    """Whether the text contains nothing that ``clean`` removes."""
    return _INVISIBLE.search(text) is None
