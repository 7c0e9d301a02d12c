"""Encrypts backups for the operator's keys, in the age format (https://age-encryption.org/v1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import pyrage

from chatui.backups.files import BackupError, private_file

_BEGINNINGS = (b"age-encryption.org/v1", b"-----BEGIN AGE ENCRYPTED FILE-----")


def is_encrypted(path: Path) -> bool:
    """Whether a file is encrypted in the age format. Raises OSError."""
    with path.open("rb") as file:
        return file.read(64).startswith(_BEGINNINGS)


def new_key(path: Path) -> str:
    """Create a private key in a new file, like age-keygen. Returns the public key, which encrypts backups. Raises OSError."""
    identity = pyrage.x25519.Identity.generate()
    public = str(identity.to_public())
    with private_file(path) as file:
        file.write(f"# public key: {public}\n{identity}\n".encode())
    return public


def recipients(named: list[str]) -> list[Any]:
    """Parse public keys of age or SSH, or names of files with one on each line. Raises BackupError, which never quotes a private key."""
    keys: list[Any] = []
    for name in named:
        lines = _lines(Path(name)) if not name.startswith(("age1", "ssh-")) else [name]
        keys += [_recipient(line) for line in lines]
        if not keys:
            raise BackupError(f"{name} contains no public key.")
    return keys


def identities(path: Path) -> list[Any]:
    """The private keys in a file: any number of age, or one of SSH. Raises BackupError."""
    lines = _lines(path)
    try:
        if lines and lines[0].startswith("-----BEGIN"):
            return [pyrage.ssh.Identity.from_buffer(path.read_bytes())]
        found = [pyrage.x25519.Identity.from_str(line) for line in lines]
    except (pyrage.IdentityError, OSError):
        found = []
    if not found:
        raise BackupError(f"{path} contains no readable private key (AGE-SECRET-KEY-1…, or an SSH key without a password).")
    return found


def encrypt(source: BinaryIO, target: BinaryIO, keys: list[Any]) -> None:
    """Encrypt a stream, in constant memory."""
    pyrage.encrypt_io(source, target, keys)


def decrypt(source: BinaryIO, target: BinaryIO, keys: list[Any]) -> None:
    """Decrypt a stream, in constant memory. Raises BackupError if no key fits, or the file is truncated or changed."""
    try:
        pyrage.decrypt_io(source, target, keys)
    except (pyrage.DecryptError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the file system
        raise BackupError("The file cannot be decrypted: it is encrypted for another key, or it is damaged.") from error


def _recipient(line: str) -> Any:
    try:
        return pyrage.ssh.Recipient.from_str(line) if line.startswith("ssh-") else pyrage.x25519.Recipient.from_str(line)
    except pyrage.RecipientError:
        raise BackupError("A public key cannot be read. It must look like age1…, ssh-ed25519 … or ssh-rsa ….") from None


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BackupError(f"{path} is neither a public key nor a readable file.") from None
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
