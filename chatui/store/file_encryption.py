"""Encrypts the bytes of files, piece by piece, if the operator sets a key.

AES-GCM, with a derived key for each piece that binds it to its content and position. Extracted text is not encrypted: it is part of
transcripts, like everything that people write.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from chatui.env import environment
from chatui.models.files import FileContent

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


_SALT_BYTES, _KEY_BYTES, _NONCE_BYTES = 32, 32, 12


class NoKeyError(Exception):
    """A file is encrypted with a key that is not in the settings, or it was modified."""


def is_on() -> bool:
    """Whether new files are encrypted."""
    return bool(environment().file_key)


def encrypted(content: FileContent, number: int, plain: bytes) -> bytes:
    """The stored form of a piece. ``content``: the one that it belongs to, with its ``sha256``."""
    salt = secrets.token_bytes(_SALT_BYTES)
    cipher, nonce = _cipher(environment().file_key, salt)
    return salt + cipher.encrypt(nonce, plain, _bound(content, number))


def decrypted(content: FileContent, number: int, stored: bytes) -> bytes:
    """The piece that ``encrypted`` was given. Raises NoKeyError."""
    from cryptography.exceptions import InvalidTag  # as in ``_cipher``

    for secret in filter(None, [environment().file_key, *environment().file_keys_before]):
        cipher, nonce = _cipher(secret, stored[:_SALT_BYTES])
        try:
            return cipher.decrypt(nonce, stored[_SALT_BYTES:], _bound(content, number))
        except InvalidTag:
            continue
    raise NoKeyError("a file cannot be decrypted with CHATUI_FILE_KEY, nor with CHATUI_FILE_KEYS_BEFORE")


def _cipher(secret: str, salt: bytes) -> tuple[AESGCM, bytes]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # imported here: it takes 6 MB, needed only with a key
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(SHA256(), _KEY_BYTES + _NONCE_BYTES, salt, b"chatui piece of a file 1").derive(secret.encode())
    return AESGCM(derived[:_KEY_BYTES]), derived[_KEY_BYTES:]


def _bound(content: FileContent, number: int) -> bytes:
    """Binds a piece to its content and position, so that pieces cannot be swapped.

    The owner is not included, because transfers change it.
    """
    return f"{content.sha256} {number}".encode()
