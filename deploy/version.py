"""The version of a wheel: hatchling reads ``__version__``.

Until a version is released, what ``make package`` builds is a development version with the time of the build: of a version that pip has
installed already, ``pip install --upgrade`` installs no other wheel.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_PRODUCT = Path(__file__).resolve().parents[1] / "chatui" / "__init__.py"


def built(released: str) -> str:
    """The version, with what CHATUI_PACKAGED_AT says (``make package``: the time in UTC, as digits)."""
    at = os.environ.get("CHATUI_PACKAGED_AT")
    return f"{released}.dev{at}" if at else released


(_of_the_product,) = re.findall('^__version__ = "(.+)"$', _PRODUCT.read_text(encoding="utf-8"), re.MULTILINE)
__version__ = built(_of_the_product)
