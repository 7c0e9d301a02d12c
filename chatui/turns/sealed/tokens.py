"""Seals texts into tokens and opens them: authenticated encryption, bound to a person, a purpose and a time.

Each token has a key of its own, derived from the server's and from 32 random bytes, so that no number of tokens uses a key up. What is
sealed is filled up to one of a few lengths. A token that is not ours, is somebody else's, serves another purpose or is too old opens to
nothing, and nobody is told which of these it was.
"""

from __future__ import annotations

import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from chatui.env import environment

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SMALLEST, LARGEST = 2**11, 2**18
"""Bytes before encryption, with time and length: each length is twice the one before."""
MOST_CHARS = 4 * LARGEST // 3 + 1024
"""A longer token is not looked at."""

_BEGINS = "cus1."
_SALT_BYTES, _KEY_BYTES, _NONCE_BYTES = 32, 32, 12
_AHEAD_SECONDS = 60
"""The clocks of two servers may differ by so much."""


class Purpose(StrEnum):
    """What is sealed: the model's reasoning, or what a conversation was compacted to."""

    REASONING = "reasoning"
    COMPACTION = "compaction"


LASTS_SECONDS = {Purpose.REASONING: 24 * 60 * 60, Purpose.COMPACTION: 30 * 24 * 60 * 60}
"""Reasoning is only needed for the calls that belong to it; a later continuation works without. It does not work without its messages."""


def seal(person: UUID, purpose: Purpose, texts: Sequence[str]) -> str | None:
    """A token that holds the texts; None where they are too long for one."""
    content = json.dumps(list(texts), ensure_ascii=False).encode("utf-8", "replace")
    head = int(time.time()).to_bytes(8, "big") + len(content).to_bytes(4, "big")
    size = SMALLEST
    while size < len(head) + len(content):
        size *= 2
    if size > LARGEST:
        return None
    salt = secrets.token_bytes(_SALT_BYTES)
    plain = (head + content).ljust(size, b"\0")
    cipher, nonce = _cipher(_keys()[0], salt)
    return _BEGINS + urlsafe_b64encode(salt + cipher.encrypt(nonce, plain, _bound(person, purpose))).decode().rstrip("=")


def opened(person: UUID, purpose: Purpose, token: str) -> tuple[str, ...]:
    """The texts of a token that this server sealed for this very person and purpose, not long ago; else none."""
    plain = next(_plain(person, purpose, token), b"")
    age = time.time() - int.from_bytes(plain[:8], "big")
    if not plain or not -_AHEAD_SECONDS <= age <= LASTS_SECONDS[purpose]:
        return ()
    return tuple(json.loads(plain[12 : 12 + int.from_bytes(plain[8:12], "big")]))


def _plain(person: UUID, purpose: Purpose, token: str) -> Iterator[bytes]:
    """What is in a token, by the first of the server's keys that opens it."""
    if not token.startswith(_BEGINS) or len(token) > MOST_CHARS or not token.isascii():
        return
    body = token.removeprefix(_BEGINS)
    try:
        data = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return
    from cryptography.exceptions import InvalidTag  # as in ``_cipher``

    for secret in _keys():
        cipher, nonce = _cipher(secret, data[:_SALT_BYTES])
        try:
            yield cipher.decrypt(nonce, data[_SALT_BYTES:], _bound(person, purpose))
        except InvalidTag:
            continue


def _keys() -> list[str]:
    """The key that seals, and then those that only open."""
    env = environment()
    return [env.sealing_key or env.signing_key(), *env.sealing_keys_before]


def _cipher(secret: str, salt: bytes) -> tuple[AESGCM, bytes]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 6 MB with cryptography, for programs alone
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(SHA256(), _KEY_BYTES + _NONCE_BYTES, salt, b"chatui sealed token 1").derive(secret.encode())
    return AESGCM(derived[:_KEY_BYTES]), derived[_KEY_BYTES:]


def _bound(person: UUID, purpose: Purpose) -> bytes:
    return f"{purpose.value} {person.hex}".encode()
