"""Imports Daphne without Twisted's TLS and Autobahn's WAMP, which ``serve`` does not use: saves 14 MB of OpenSSL and cryptography.

A proxy before it ends TLS, and WAMP is a protocol that nobody speaks here. Nor are colours for a terminal needed, where a
developer has them: 1 MB. To be imported before anything of Daphne, Twisted or Autobahn.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Unused(ModuleType):
    """Has every name that Autobahn passes on to those who import it."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})  # each a class of its own, as some have subclasses


def _unused_package(name: str) -> Any:
    """The same for a package: its modules are found, and imported, as far as they do not stand beside it."""
    unused, found = _Unused(name), find_spec(name.partition(".")[0])
    folders = found.submodule_search_locations if found else None
    unused.__path__ = [f"{folder}/{name.partition('.')[2]}" for folder in folders or ()]
    return unused


_WAMP = "autobahn.wamp"
_wamp = _unused_package(_WAMP)
_wamp.websocket = _Unused(f"{_WAMP}.websocket")
_LEFT_OUT: dict[str, ModuleType | None] = {
    # Twisted does without these two, as where they are not installed.
    "OpenSSL": None,
    "service_identity": None,
    # Its checks of passwords would import cryptography.
    "autobahn.twisted.wamp": _Unused("autobahn.twisted.wamp"),
    # Its messages take most of the memory. WebSockets only need ``autobahn.wamp.types``.
    _WAMP: _wamp,
    f"{_WAMP}.websocket": _wamp.websocket,
    # Autobahn does without it, as where it is not installed.
    "click": None,
}

# A process that has one of them already, such as that of tests, saves nothing by it.
_absent = {} if _LEFT_OUT.keys() & sys.modules.keys() else _LEFT_OUT
_modules: Any = sys.modules  # its type does not know None, which Python takes for a module that is not there
_modules.update(_absent)
try:
    import_module("daphne.server")
finally:
    for _name in _absent:
        del sys.modules[_name]  # who needs one later imports it then: a passkey, OpenSSL
