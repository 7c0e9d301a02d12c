"""What the operator's file says about signing in: providers, passwords, and a proxy that names people in a header."""

from pathlib import Path
from typing import Any

import pytest

from chatui.accounts import header_sign_in, sign_in_settings
from chatui.accounts.header_sign_in import ForgedHeaderError as ForgedHeaderError
from chatui.accounts.sign_in_settings import HeaderRule, Provider, SignInFile
from tests.support.environment import change

_read = sign_in_settings.read_file


def read(path: Path) -> SignInFile:
    """The file at this path, as the product reads it when it starts."""
    _read.cache_clear()
    return _read(path)


def configure(patch: pytest.MonkeyPatch, *providers: dict[str, Any], header: dict[str, Any] | None = None, **fields: Any) -> None:
    """What the file says from now on."""
    rule = HeaderRule.model_validate(header) if header else None
    file = SignInFile(tuple(Provider.model_validate(table) for table in providers), header=rule, **fields)
    change(patch, {"sign_in_file": Path("/no/such/file")})
    patch.setattr(sign_in_settings, "read_file", lambda path: file)


def only_rule(patch: pytest.MonkeyPatch, header: dict[str, Any]) -> None:
    """Let the file have this rule for the header only while a name is read from one."""
    patch.setattr(header_sign_in, "rule", lambda: HeaderRule.model_validate(header))
