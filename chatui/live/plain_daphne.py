"""Imports Daphne without Twisted's TLS and Autobahn's WAMP, which ``serve`` does not use. This saves 14 MB for OpenSSL and cryptography.

TLS ends at a proxy in front of this server, and nothing here speaks WAMP. Two more are left out, of 1 MB each: the tool with which
Autobahn's C functions were compiled, and terminal colors, if a developer has installed them. Import this module before anything of Daphne,
Twisted or Autobahn.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Unused(ModuleType):
    """A stand-in module that has any name, because Autobahn re-exports some."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})  # each a separate class, because some are subclassed


def _unused_package(name: str) -> Any:
    """The same for a package. Its submodules can still be imported, unless they are replaced too."""
    unused, found = _Unused(name), find_spec(name.partition(".")[0])
    folders = found.submodule_search_locations if found else None
    unused.__path__ = [f"{folder}/{name.partition('.')[2]}" for folder in folders or ()]
    return unused


class _CompiledFFI:
    """Stands in for ``cffi.FFI``, with which Autobahn declares C functions. They were compiled when it was installed, so the compiled
    module is all that is needed to call them; ``cffi`` would parse their declarations again at every start."""

    _module = ""

    def cdef(self, _declarations: str) -> None:
        """See cffi. The compiled module contains them."""

    def set_source(self, module: str, _source: str, **_options: Any) -> None:
        """See cffi. Only the name of the module is needed."""
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module).ffi, name)


_WAMP = "autobahn.wamp"
_wamp = _unused_package(_WAMP)
_wamp.websocket = _Unused(f"{_WAMP}.websocket")
_cffi: Any = _Unused("cffi")
_cffi.FFI, _cffi.__version__ = _CompiledFFI, ""
_LEFT_OUT: dict[str, ModuleType | None] = {
    # Twisted works without these two, as if they were not installed.
    "OpenSSL": None,
    "service_identity": None,
    # Its password checks would import cryptography.
    "autobahn.twisted.wamp": _Unused("autobahn.twisted.wamp"),
    # Its message classes take most of the memory. WebSockets only need ``autobahn.wamp.types``.
    _WAMP: _wamp,
    f"{_WAMP}.websocket": _wamp.websocket,
    "cffi": _cffi,
    # Autobahn works without it, as if it were not installed.
    "click": None,
}

# A process that has already imported one of them, such as a test process, would save nothing.
_absent = {} if _LEFT_OUT.keys() & sys.modules.keys() else _LEFT_OUT
_modules: Any = sys.modules  # its type does not allow None, which makes Python treat a module as missing
_modules.update(_absent)
try:
    import_module("daphne.server")
finally:
    for _name in _absent:
        del sys.modules[_name]  # so that code that needs one later can import it: passkeys need OpenSSL
