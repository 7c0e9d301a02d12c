"""Reads the operator's TOML file of sign-in settings. An error message never quotes a value."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from chatui.accounts.sign_in_rules.header import HeaderRule
from chatui.accounts.sign_in_rules.provider import Provider
from chatui.env import environment

EVERYBODY, EMERGENCY = "everybody", "emergency"
MAX_PROVIDERS = 10


@dataclass(frozen=True, slots=True)
class SignInFile:
    """The content of the file.

    ``passwords``: for EVERYBODY, or only for the EMERGENCY accounts. Mistakes make it stricter, never more permissive.
    """

    providers: tuple[Provider, ...] = ()
    passwords: str = EVERYBODY
    emergency_accounts: tuple[str, ...] = ()
    header: HeaderRule | None = None
    problems: tuple[str, ...] = ()


def sign_in_file() -> SignInFile:
    """The file of CHATUI_SIGN_IN_FILE, read once. Without a file, everybody may use passwords."""
    path = environment().sign_in_file
    return SignInFile() if path is None else read_file(path)


@cache
def read_file(path: Path) -> SignInFile:
    """The file at ``path``. Never raises for its content."""
    try:
        return parsed(path.read_text(encoding="utf-8"), path.parent)
    except OSError as error:
        return _unusable(f"the file cannot be read ({os.strerror(error.errno or 0)})")
    except UnicodeDecodeError:
        return _unusable("the file is not UTF-8")


def parsed(text: str, base: Path) -> SignInFile:
    """As ``read_file``, from the text of the file. Relative paths are relative to ``base``."""
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Only the position: some messages quote the file, which may contain a credential by mistake.
        return _unusable(f"the file is not TOML: {str(error).rpartition('(')[2].rstrip(')')}")
    known = ("provider", "passwords", "emergency_accounts", "header")
    problems = [f"{key}: unknown setting; expected one of {', '.join(known)}" for key in settings if key not in known]
    passwords = settings.get("passwords", EVERYBODY)
    emergency = _names(settings.get("emergency_accounts", []))
    if passwords not in (EVERYBODY, EMERGENCY):
        problems.append(f"passwords: must be {EVERYBODY} or {EMERGENCY}")
    if emergency is None:
        problems.append("emergency_accounts: must be a list of names")
    if passwords != EVERYBODY and not emergency:
        problems.append("emergency_accounts: without one, nobody gets in while a provider is down")
    providers, wrong = _providers(settings, base)
    header, wrong_header = _header(settings, base)
    allowed = EVERYBODY if passwords == EVERYBODY else EMERGENCY
    return SignInFile(providers, allowed, emergency or (), header, (*problems, *wrong, *wrong_header))


def provider_of(key: str) -> Provider | None:
    """The provider with that key."""
    return next((each for each in sign_in_file().providers if each.key == key), None)


def _unusable(problem: str) -> SignInFile:
    # The file's rule for passwords is unknown, so nobody may use one.
    return SignInFile(passwords=EMERGENCY, problems=(problem,))


def _names(value: object) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list) and all(isinstance(name, str) and name for name in value) else None


def _providers(settings: Mapping[str, Any], base: Path) -> tuple[tuple[Provider, ...], list[str]]:
    tables = settings.get("provider", [])
    found: dict[str, Provider] = {}
    problems: list[str] = []
    for number, table in enumerate(tables if isinstance(tables, list) else [tables], start=1):
        where = f"[[provider]] {number}"
        try:
            provider = Provider.model_validate(table)
        except ValidationError as error:
            problems += [f"{where}: {problem}" for problem in _error_texts(error)]
            continue
        if provider.key in found or provider.issuer in {each.issuer for each in found.values()}:
            problems.append(f"{where}: the key or the issuer occurs twice; the first one is used")
        elif len(found) == MAX_PROVIDERS:
            problems.append(f"{where}: there are more than {MAX_PROVIDERS} providers")
        else:
            file = provider.client_secret_file
            found[provider.key] = provider.model_copy(update={"client_secret_file": file and base / file})
    return tuple(found.values()), problems


def _header(settings: Mapping[str, Any], base: Path) -> tuple[HeaderRule | None, list[str]]:
    if "header" not in settings:
        return None, []
    try:
        found = HeaderRule.model_validate(settings["header"])
    except ValidationError as error:
        return None, [f"[header]: {problem}" for problem in _error_texts(error)]
    return found.model_copy(update={"secret_file": found.secret_file and base / found.secret_file}), []


def _error_texts(error: ValidationError) -> Iterator[str]:
    for each in error.errors(include_input=False, include_url=False, include_context=False):
        place = ".".join(str(part) for part in each["loc"])
        yield f"{place}: {each['msg']}" if place else each["msg"]
