"""The errors of a fetch. Their messages do not distinguish a closed port from a silent one, so that a model cannot scan the network."""

from __future__ import annotations


class FetchError(Exception):
    """A page could not be fetched. The text is for the model, and reveals nothing about the network."""


class AddressRefusedError(FetchError):
    """The URL may not be requested."""

    def __init__(self) -> None:
        super().__init__("This address cannot be opened here.")


class NotLoadedError(FetchError):
    """The page could not be loaded. A forbidden network, an unknown name, and a refused, reset or slow connection all look the same."""

    def __init__(self) -> None:
        super().__init__("The page could not be loaded.")
