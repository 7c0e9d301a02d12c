"""The errors of a sign-in with a provider. Each has a code, whose message people see."""

from __future__ import annotations

from chatui.codes import ProductCode


class SingleSignOnError(Exception):
    """The sign-in failed. ``why`` is a fixed text for the audit log; it never quotes what the provider or a visitor sent."""

    code = ProductCode.SIGN_IN_FAILED
    status = 400

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ProviderUnavailableError(SingleSignOnError):
    """The provider does not respond, or its response is unusable."""

    code = ProductCode.SIGN_IN_AWAY
    status = 503


class BadSignInError(SingleSignOnError):
    """The response does not match the request: forged, replayed, expired, or refused by the provider."""


class NotAdmittedError(SingleSignOnError):
    """The provider knows this person, but the operator does not admit them."""

    code = ProductCode.SIGN_IN_REFUSED
    status = 403


class ClosedAccountError(SingleSignOnError):
    """The account is not active."""

    code = ProductCode.ACCOUNT_CLOSED
    status = 403


class LinkedElsewhereError(SingleSignOnError):
    """The identity is linked to another account, or the account already has an identity at this provider."""

    code = ProductCode.LINKED_ELSEWHERE
    status = 409
