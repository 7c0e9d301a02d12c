"""Which addresses a model may open: those that the person wrote, and those that a page or a search showed it. It can compose none.

An address that is opened goes to a stranger's server, and one that is cited is shown: in an address of its own making, a model that was
talked into it could send away what it knows, reasoning included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WRITTEN = re.compile(
    r"(?:https?://|(?<![\w.-]))(?:[\w-]{1,63}\.){1,10}[^\W\d_]{2,24}(?![\w-])(?::\d{1,5})?(?:[/?#][^\s<>\"`|\\^{}【】]{0,2000})?",
    re.IGNORECASE,
)
"""Every part is bounded, and it begins only where a name can begin: a question may be very long."""
_TAIL = ".,;:!?)]}'\"*_~>»”’、。）】"


class Reach:
    """``allows`` an address that was ``shown`` before, or that stands in one of the ``questions``."""

    def __init__(self, questions: Iterable[str]) -> None:
        self._known = {_key(found) for question in questions for match in _WRITTEN.finditer(question) for found in _readings(match[0])}

    def shown(self, addresses: Iterable[str]) -> None:
        """The model was shown links to these."""
        self._known.update(map(_key, addresses))

    def allows(self, address: str) -> bool:
        """Whether it may be opened."""
        return _key(address) in self._known


def _readings(written: str) -> set[str]:
    """An address in a sentence, with and without the punctuation that may belong to the sentence."""
    return {written, written.rstrip(_TAIL)}


def _key(address: str) -> str:
    """Addresses that differ in their scheme, their fragment, the case of their host or a slash at the end are one."""
    bare = re.sub(r"^https?://", "", address.strip(), flags=re.IGNORECASE).partition("#")[0].rstrip("/")
    host, mark, rest = re.match(r"([^/?]*)([/?]?)(.*)", bare, re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{host.lower()}{mark}{rest}"
