"""Encrypts what is stored with, or given to, somebody who must not read it: authenticated, and bound to what it is for.

Each token has its own key, derived from the server's sealing key and 32 random bytes, so that no key is used too often, however many
tokens there are. A token that is forged, or was sealed for something else, opens to nothing, without saying which of these was the reason.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

from chatui.env import environment

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_BEGINS = "cus1."
_SALT_BYTES, _KEY_BYTES, _NONCE_BYTES = 32, 32, 12


def seal(content: bytes, bound: bytes) -> str:
    """A token that contains ``content`` and opens only with the same ``bound``: what it is for, and whose it is."""
    salt = secrets.token_bytes(_SALT_BYTES)
    cipher, nonce = _cipher(_keys()[0], salt)
    return _BEGINS + urlsafe_b64encode(salt + cipher.encrypt(nonce, content, bound)).decode().rstrip("=")


def unseal(token: str, bound: bytes) -> bytes | None:
    """The content of a token that this server sealed for ``bound``, decrypted with the first of its keys that fits; otherwise None."""
    if not token.startswith(_BEGINS) or not token.isascii():
        return None
    body = token.removeprefix(_BEGINS)
    try:
        data = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return None
    from cryptography.exceptions import InvalidTag  # as in ``_cipher``

    for secret in _keys():
        cipher, nonce = _cipher(secret, data[:_SALT_BYTES])
        try:
            return cipher.decrypt(nonce, data[_SALT_BYTES:], bound)
        except InvalidTag:
            continue
    return None


def _keys() -> list[str]:
    """The key that seals new tokens, followed by older keys that only open them."""
    env = environment()
    return [env.sealing_key or env.signing_key(), *env.sealing_keys_before]


def _cipher(secret: str, salt: bytes) -> tuple[AESGCM, bytes]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # ``cryptography`` takes 6 MB, only for those who need it
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(SHA256(), _KEY_BYTES + _NONCE_BYTES, salt, b"chatui sealed token 1").derive(secret.encode())
    return AESGCM(derived[:_KEY_BYTES]), derived[_KEY_BYTES:]
