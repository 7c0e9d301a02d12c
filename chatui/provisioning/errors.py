"""SCIM errors. Each has a status and, where RFC 7644 defines one, an error type."""

from __future__ import annotations


class ScimError(Exception):
    """A SCIM error. ``detail`` is a fixed sentence for the directory's administrator, which never quotes the request."""

    status = 400

    def __init__(self, detail: str, kind: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.kind = kind


class NoSuchResourceError(ScimError):
    """This provider has no resource with that id. The error is the same for other providers' resources."""

    status = 404

    def __init__(self) -> None:
        super().__init__("There is no such resource.")


class TakenError(ScimError):
    """The resource exists already: the request is repeated, or another resource has the name or id."""

    status = 409

    def __init__(self) -> None:
        super().__init__("A resource with this userName, externalId or displayName exists already.", "uniqueness")


class ForbiddenAccountError(ScimError):
    """A directory may not change this account."""

    status = 403

    def __init__(self) -> None:
        super().__init__("The directory may not change this account.")
