"""The errors of a fetch. Their messages do not tell a closed port from a silent one, or a model could scan the network."""

from __future__ import annotations


class FetchError(Exception):
    """A page could not be fetched. The text is for the model, and reveals nothing about the network."""


class AddressRefusedError(FetchError):
    """The URL is not allowed, wherever it leads."""

    def __init__(self) -> None:
        super().__init__("This address cannot be opened here.")


class NotLoadedError(FetchError):
    """The page could not be loaded. A forbidden network, an unknown name, a refused, reset or late connection all look the same."""

    def __init__(self) -> None:
        super().__init__("The page could not be loaded.")
