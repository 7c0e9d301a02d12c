"""What can be wrong with a fetch. No text tells a port that is closed from one that is silent: a model could look around with it."""

from __future__ import annotations


class FetchError(Exception):
    """A page could not be had. The text is for the model, and says nothing of the network."""


class AddressRefusedError(FetchError):
    """The address may not be asked, wherever it leads."""

    def __init__(self) -> None:
        super().__init__("This address cannot be opened here.")


class NotLoadedError(FetchError):
    """It could not be loaded: a forbidden network, no such name, refused, reset, late, or no HTTP: all the same."""

    def __init__(self) -> None:
        super().__init__("The page could not be loaded.")
