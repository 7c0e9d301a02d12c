"""Decides which URLs a model may open: only those that the person wrote, or that a page or search result contained.

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


class AllowedAddresses:
    """The addresses that a model may open: those that it was ``shown``, and those in the ``questions``. ``found`` checks one."""

    def __init__(self, questions: Iterable[str]) -> None:
        self._known: dict[str, str] = {}
        for question in questions:
            for match in _WRITTEN.finditer(question):
                self.shown(_readings(match[0]))

    def shown(self, addresses: Iterable[str]) -> None:
        """The model was shown links to these."""
        for address in addresses:
            self._known.setdefault(_key(address), _bare(address))

    def found(self, address: str) -> str | None:
        """The address as it was written or shown; None where it may not be opened. Of how the model spells it only the scheme counts: in
        the number of slashes at its end alone, it could tell something."""
        known = self._known.get(_key(address))
        scheme = "http" if address.strip().lower().startswith("http://") else "https"
        return None if known is None else f"{scheme}://{known}"


def _readings(written: str) -> list[str]:
    """An address in a sentence, with and without the punctuation that may belong to the sentence."""
    return [written.rstrip(_TAIL), written]


def _key(address: str) -> str:
    """Addresses that differ in their scheme, their fragment, the case of their host or a slash at the end are one."""
    host, mark, rest = re.match(r"([^/?]*)([/?]?)(.*)", _bare(address).rstrip("/"), re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{host.lower()}{mark}{rest}"


def _bare(address: str) -> str:
    return re.sub(r"^https?://", "", address.strip(), flags=re.IGNORECASE).partition("#")[0]
