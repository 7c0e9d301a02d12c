"""SCIM errors. Each has a status and, where RFC 7644 defines one, an error type."""

from __future__ import annotations


class ScimError(Exception):
    """``detail`` is a sentence of ours, for the directory's administrator. It never quotes what was sent."""

    status = 400

    def __init__(self, detail: str, kind: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.kind = kind


class NoSuchResourceError(ScimError):
    """This provider has no resource of that id. Other providers' resources look the same."""

    status = 404

    def __init__(self) -> None:
        super().__init__("There is no such resource.")


class TakenError(ScimError):
    """The resource exists already: a repeated create, or another one's name."""

    status = 409

    def __init__(self) -> None:
        super().__init__("There is one with this userName, externalId or displayName already.", "uniqueness")


class OutOfReachError(ScimError):
    """A directory may not change this account."""

    status = 403

    def __init__(self) -> None:
        super().__init__("This account is out of reach of the directory.")
