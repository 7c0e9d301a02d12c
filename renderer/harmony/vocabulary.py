"""The o200k_harmony tokenizer: text to token ids and back.

Text never becomes a control token. The rank file is the public ``o200k_base.tiktoken``, which ``make run`` and ``manage.py
fetch_vocabulary`` download. Nothing here opens a connection or reads an environment variable.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from renderer.tokens import Token

FILE_NAME = "o200k_base.tiktoken"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
MARKER_IDS: dict[Token, int] = {
    Token.RETURN: 200002,
    Token.CONSTRAIN: 200003,
    Token.CHANNEL: 200005,
    Token.START: 200006,
    Token.END: 200007,
    Token.MESSAGE: 200008,
    Token.CALL: 200012,
}
ORDINARY_IDS = range(199_998)
SPECIAL_IDS = range(199_998, 201_089)
"""Special ids, which are not text. Those that are not Harmony markers have other names, or are reserved."""

_NAMES = {199_998: "<|startoftext|>", 199_999: "<|endoftext|>", **{number: str(token) for token, number in MARKER_IDS.items()}}
_MARK = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_SMALL = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_BEFORE = r"[^\r\n\p{L}\p{N}]?"
# How text is split before byte-pair encoding. Part of the vocabulary: another pattern gives other ids.
_PATTERN = "|".join(
    (
        f"{_BEFORE}{_MARK}*{_SMALL}+{_CONTRACTION}",
        f"{_BEFORE}{_MARK}+{_SMALL}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
# A run of a million spaces makes the regex engine abort, in openai-harmony too. So a run is split at half of that.
_LONG_SPACE = re.compile(r"\s{500000}")


class VocabularyError(Exception):
    """The rank file is missing or not the expected one; the message is a sentence for the operator."""


class Vocabulary:
    """The tokenizer. Create one and share it: it takes about 80 MB and half a second. Encoding releases the GIL."""

    def __init__(self, ranks: bytes) -> None:
        """``ranks`` is the content of the rank file.

        Raises:
            VocabularyError: it is not the expected file.
        """
        if hashlib.sha256(ranks).hexdigest() != SHA256:
            raise VocabularyError(f"This is not the vocabulary of gpt-oss: the content of {FILE_NAME} has another digest.")
        try:
            # Imported here, not above: reading and writing text needs no tokenizer.
            import tiktoken
        except ImportError as error:
            raise VocabularyError("Token ids need the package tiktoken, which is not installed.") from error
        parsed = _parsed(ranks)
        self._encoding = tiktoken.Encoding("o200k_harmony", pat_str=_PATTERN, mergeable_ranks=parsed, special_tokens={})
        self.bytes_of: tuple[bytes, ...] = tuple(sorted(parsed, key=parsed.__getitem__))
        """The bytes of each ordinary id. They may begin or end inside a character."""

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        """Load the vocabulary from a rank file. Raises VocabularyError if that cannot be read."""
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise VocabularyError(f"The vocabulary cannot be read: {error.strerror or error}.") from error

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, ordinary ones only: the text of a marker is encoded like any other text."""
        ids: list[int] = []
        for part in _cut(text):
            ids += self._encoding.encode_ordinary(part)
        return ids

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of ordinary ids."""
        return b"".join(map(self.bytes_of.__getitem__, ids))


def marker_name(number: int) -> str | None:
    """The name of a special id, as in ``<|end|>``; None for an ordinary id and for one that does not exist."""
    if number not in SPECIAL_IDS:
        return None
    return _NAMES.get(number) or f"<|reserved_{number}|>"


def _parsed(ranks: bytes) -> dict[bytes, int]:
    try:
        return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in ranks.splitlines())}
    except (ValueError, binascii.Error) as error:
        raise VocabularyError(f"{FILE_NAME} cannot be read.") from error


def _cut(text: str) -> Iterator[str]:
    position = 0
    for match in _LONG_SPACE.finditer(text):
        yield text[position : match.end()]
        position = match.end()
    if position < len(text):
        yield text[position:]
