"""The format of an API key: ``cu_``, eight public characters, the secret, and a checksum that catches typing errors.

The secret has 256 random bits, so a fast digest protects it as well as a slow one would. Secret scanners can find a leaked key by its
pattern.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib

PREFIX_CHARS = 11
"""The length of a key's prefix, which identifies the key on pages and in the audit log."""
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_PATTERN = re.compile(r"cu_[a-z0-9]{8}_[A-Za-z0-9_-]{43}[0-9a-f]{8}")


def new() -> str:
    """A new key."""
    name = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    body = f"cu_{name}_{secrets.token_urlsafe(32)}"
    return body + _check_sum(body)


def prefix_of(text: str) -> str | None:
    """The prefix of a text that looks like a key; None for anything else."""
    if not _PATTERN.fullmatch(text) or _check_sum(text[:-8]) != text[-8:]:
        return None
    return text[:PREFIX_CHARS]


def digest_of(text: str) -> str:
    """The stored form of a key: its SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _check_sum(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"
