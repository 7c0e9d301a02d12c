"""Decides which URLs a model may open: only those that the person wrote, or that a page or search result contained.

Opening an address sends it to somebody else's server, and citing it shows it. With freely chosen addresses, a model under prompt injection
could leak everything that it knows, including its reasoning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WRITTEN = re.compile(
    r"(?:https?://|(?<![\w.-]))(?:[\w-]{1,63}\.){1,10}[^\W\d_]{2,24}(?![\w-])(?::\d{1,5})?(?:[/?#][^\s<>\"`|\\^{}【】]{0,2000})?",
    re.IGNORECASE,
)
"""Every part is bounded, and a match begins only where a name can begin, because a question may be very long."""
_TAIL = ".,;:!?)]}'\"*_~>»”’、。）】"


class AllowedAddresses:
    """The addresses that a model may open: those in the ``questions``, and those that ``allow`` adds. ``permitted`` checks an address."""

    def __init__(self, questions: Iterable[str]) -> None:
        self._known: dict[str, str] = {}
        for question in questions:
            for match in _WRITTEN.finditer(question):
                self.allow(_readings(match[0]))

    def allow(self, addresses: Iterable[str]) -> None:
        """Add the addresses of links that the model is shown."""
        for address in addresses:
            self._known.setdefault(_key(address), _bare(address))

    def permitted(self, address: str) -> str | None:
        """The address as it was written or shown; None if it may not be opened.

        Only the scheme is taken from the model's spelling: even the number of trailing slashes could leak data.
        """
        known = self._known.get(_key(address))
        scheme = "http" if address.strip().lower().startswith("http://") else "https"
        return None if known is None else f"{scheme}://{known}"


def _readings(written: str) -> list[str]:
    """The possible readings of an address in a sentence, with and without the sentence's punctuation."""
    return [written.rstrip(_TAIL), written]


def _key(address: str) -> str:
    """A key that is the same for addresses that differ only in scheme, fragment, case of the host or trailing slashes."""
    host, mark, rest = re.match(r"([^/?]*)([/?]?)(.*)", _bare(address).rstrip("/"), re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{host.lower()}{mark}{rest}"


def _bare(address: str) -> str:
    return re.sub(r"^https?://", "", address.strip(), flags=re.IGNORECASE).partition("#")[0]
