"""The API keys of model servers: where they are stored, and the one origin that each may be sent to.

A key that staff enter on the page of a model server is stored encrypted for the origin of its address (``model_servers.connected``).
A key that they only name, for example ACME, is in the environment (``CHATUI_KEY_ACME``) or in the file ``keys/ACME`` of the data directory,
as ``https://api.example.org sk-…``: the origin, then the key. Somebody who can change an address could point it at their own server; the
key would not be sent there, because they cannot change its origin.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from chatui.backends.spec import BackendSpec
from chatui.outbound.addresses import origin

VARIABLE_PREFIX = "CHATUI_KEY_"
DIRECTORY = "keys"
_MAX_CHARS = 16_384
# Other characters could end the header that holds the key, and the error about that would quote them.
_KEY = re.compile(r"[\x21-\x7e]+")


class KeyUnusableError(Exception):
    """The key is not available, or not for this server: nothing is sent. The message is for the operator and quotes no key."""


def key_of(spec: BackendSpec, data_dir: Path) -> str | None:
    """The key that may be sent to the server of ``spec``; None if it needs none. Read again each time.

    Raises:
        KeyUnusableError: it is missing, is not a valid key, or is bound to another origin.
    """
    if spec.key_env:
        return checked(os.environ.get(spec.key_env, ""), f"the variable {spec.key_env}")
    if spec.key_file:
        return checked(_read(Path(spec.key_file), f"the file {spec.key_file}"), f"the file {spec.key_file}")
    if spec.key_name:
        return _bound(spec.key_name, spec.url, data_dir)
    return None


def checked(value: str, place: str) -> str:
    """A key without white space around it.

    Raises:
        KeyUnusableError: it is empty, or contains characters that cannot be sent.
    """
    key = value.strip()
    if not key:
        raise KeyUnusableError(f"{place} holds no key")
    if not _KEY.fullmatch(key):
        raise KeyUnusableError(f"{place} holds more than one word, or characters that no key has")
    return key


def _bound(name: str, url: str, data_dir: Path) -> str:
    variable = VARIABLE_PREFIX + name
    file = data_dir / DIRECTORY / name
    if variable in os.environ:
        stored, place = os.environ[variable], f"the variable {variable}"
    elif file.is_file():
        stored, place = _read(file, f"the file {DIRECTORY}/{name} of the data directory"), f"the file {DIRECTORY}/{name}"
    else:
        raise KeyUnusableError(f"there is no key {name}: neither a variable {variable} nor a file {DIRECTORY}/{name} in the data directory")
    words = stored.split()
    if len(words) != 2:
        raise KeyUnusableError(f"{place} must hold an origin and a key with a space between them")
    try:
        target = origin(words[0])
    except ValueError:
        raise KeyUnusableError(f"{place} does not begin with an origin such as https://api.example.org") from None
    if target != origin(url):
        # Without the origin that it is for: people who may write a row must not learn where the operator's keys belong.
        raise KeyUnusableError(f"the key {name} is bound to another origin than this address, so it is not sent there")
    return checked(words[1], place)


def _read(path: Path, place: str) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_MAX_CHARS)
    except OSError as error:
        raise KeyUnusableError(f"{place} cannot be read ({os.strerror(error.errno or 0)})") from None
    except UnicodeDecodeError:
        raise KeyUnusableError(f"{place} is not text") from None
