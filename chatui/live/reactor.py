"""Daphne with Twisted's reactor, loaded without Twisted's TLS, which takes 6 MB of each process.

A proxy in front speaks https, and other servers are asked with Python's own ``ssl``. Twisted has its TLS where pyOpenSSL can be imported,
and here that is installed for passkeys. A name that is None in ``sys.modules`` cannot be imported (Python's reference, *The module cache*).
"""

from __future__ import annotations

import sys

_is_hidden = "OpenSSL" not in sys.modules
if _is_hidden:
    sys.modules["OpenSSL"] = None  # type: ignore[assignment] # as the reference says

from daphne.cli import CommandLineInterface  # noqa: E402
from daphne.server import twisted_loop  # noqa: E402

if _is_hidden:
    del sys.modules["OpenSSL"]

__all__ = ["CommandLineInterface", "twisted_loop"]
