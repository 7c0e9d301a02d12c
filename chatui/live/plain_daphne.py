"""Imports Daphne without the TLS of Twisted and the WAMP of Autobahn, 12 MB with OpenSSL and cryptography, neither of which ``serve`` uses.

A proxy before it ends TLS, and WAMP is a protocol that nobody speaks here. To be imported before anything of Daphne, Twisted or Autobahn.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Unused(ModuleType):
    """Has every name that Autobahn passes on to those who import it."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return object


_WAMP = "autobahn.twisted.wamp"
_LEFT_OUT: dict[str, ModuleType | None] = {
    # Twisted does without these two, as where they are not installed.
    "OpenSSL": None,
    "service_identity": None,
    # Its checks of passwords would import cryptography.
    _WAMP: _Unused(_WAMP),
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
