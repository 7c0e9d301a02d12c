"""WebAuthn ceremonies: creates the browser's options for registering or using a passkey, and verifies its response (level 3, sections 7.1
and 7.2).

The ``webauthn`` package is imported at the first ceremony: with cryptography it takes 9 MB, and many deployments have no passkeys.
Passkeys here are discoverable and require user verification (fingerprint, face or PIN) each time, so a passkey counts as both factors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from chatui.accounts.second_factor.relying_party import Site
from chatui.branding.brand import brand
from chatui.models import User

MAX_CHARS = 16_000
"""The longest accepted response of a browser: twice the length of one with the longest id and the largest key."""
MAX_ID_BYTES = 1023
MAX_KEY_BYTES = 1200
TIMEOUT_SECONDS = 600
"""How long a challenge is valid, and how long the browser waits for the person."""

_Result = TypeVar("_Result")
_Encoded = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=12_000)]


class RefusedPasskeyError(Exception):
    """The passkey is not accepted. ``why`` is a fixed text for the audit log; it never quotes what was sent."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """The data of a new passkey to store. ``public_key`` is a COSE key."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


@dataclass(frozen=True, slots=True)
class Assertion:
    """A browser's response, parsed but not verified: nothing in it is trusted until ``verify_assertion`` has checked the signature."""

    credential_id: bytes
    user_handle: bytes
    challenge: bytes
    credential: dict[str, Any] = field(repr=False)


class _Response(BaseModel):
    clientDataJSON: _Encoded  # noqa: N815 - the names of WebAuthn
    attestationObject: _Encoded = ""  # noqa: N815
    authenticatorData: _Encoded = ""  # noqa: N815
    signature: _Encoded = ""
    userHandle: _Encoded | Literal[""] | None = None  # noqa: N815


class _Credential(BaseModel):
    id: _Encoded
    rawId: _Encoded  # noqa: N815
    type: Literal["public-key"]
    response: _Response


class _ClientData(BaseModel):
    type: str
    challenge: _Encoded
    origin: str
    crossOrigin: bool = False  # noqa: N815
    topOrigin: str | None = Field(None)  # noqa: N815


def handle_of(person: User) -> bytes:
    """The user handle that authenticators store. It reveals nothing about the person."""
    return person.pk.bytes


def registration_options(site: Site, person: User, taken: Iterable[bytes], challenge: bytes) -> str:
    """The options for creating a passkey, in JSON. ``taken``: the ids of the person's passkeys, so that no device creates a second one."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_registration_options(
        rp_id=site.host,
        rp_name=brand().name,
        user_name=person.get_username(),
        user_id=handle_of(person),
        challenge=challenge,
        timeout=TIMEOUT_SECONDS * 1000,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED, user_verification=structs.UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=[structs.PublicKeyCredentialDescriptor(id=each) for each in taken],
    )
    return webauthn.options_to_json(options)


def authentication_options(site: Site, only: Iterable[bytes], challenge: bytes) -> str:
    """The options for using a passkey, in JSON. ``only``: the accepted ids; empty to let the person choose."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_authentication_options(
        rp_id=site.host,
        challenge=challenge,
        timeout=TIMEOUT_SECONDS * 1000,
        allow_credentials=[structs.PublicKeyCredentialDescriptor(id=each) for each in only],
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return webauthn.options_to_json(options)


def verify_registration(site: Site, credential: str, challenges: Iterable[bytes]) -> NewPasskey:
    """Verify the response to a registration. Raises RefusedPasskeyError."""
    import webauthn
    from webauthn import helpers
    from webauthn.helpers.structs import AttestationFormat

    read, challenge = _read(credential), _challenge(credential, "webauthn.create", challenges)

    def check() -> NewPasskey:
        statement = helpers.parse_attestation_object(helpers.base64url_to_bytes(read.response.attestationObject))
        # No attestation was requested, so certificates are refused; self attestation is accepted.
        if statement.fmt != AttestationFormat.NONE and (statement.fmt != AttestationFormat.PACKED or statement.att_stmt.x5c):
            raise RefusedPasskeyError("unrequested attestation")
        found = webauthn.verify_registration_response(
            credential=read.model_dump(exclude_none=True),
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            require_user_verification=True,
        )
        helpers.decoded_public_key_to_cryptography(helpers.decode_credential_public_key(found.credential_public_key))
        return NewPasskey(found.credential_id, found.credential_public_key, found.sign_count)

    new = _checked(check)
    if not len(new.credential_id) <= MAX_ID_BYTES or not len(new.public_key) <= MAX_KEY_BYTES:
        raise RefusedPasskeyError("too large")
    return new


def read_assertion(credential: str, challenges: Iterable[bytes]) -> Assertion:
    """The browser's response to one of these challenges, not verified yet. Raises RefusedPasskeyError."""
    read, challenge = _read(credential), _challenge(credential, "webauthn.get", challenges)
    response = read.response
    if not response.authenticatorData or not response.signature:
        raise RefusedPasskeyError("malformed")
    return Assertion(_bytes(read.rawId), _bytes(response.userHandle or ""), challenge, read.model_dump(exclude_none=True))


def verify_assertion(site: Site, assertion: Assertion, public_key: bytes) -> int:
    """Verify the signature and all signed data. Returns the authenticator's signature counter. Raises RefusedPasskeyError."""
    import webauthn

    def check() -> int:
        # The caller compares the counter with the stored one, and so can record a distinct reason.
        found = webauthn.verify_authentication_response(
            credential=assertion.credential,
            expected_challenge=assertion.challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            credential_public_key=public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
        return found.new_sign_count

    return _checked(check)


def _read(credential: str) -> _Credential:
    if len(credential) > MAX_CHARS:
        raise RefusedPasskeyError("too large")
    try:
        return _Credential.model_validate_json(credential)
    except ValidationError:
        raise RefusedPasskeyError("malformed") from None


def _challenge(credential: str, kind: str, challenges: Iterable[bytes]) -> bytes:
    """The challenge that the browser signed. It must be one of ``challenges``, and come from our page, not in another site's frame."""
    try:
        data = _ClientData.model_validate_json(_bytes(_read(credential).response.clientDataJSON))
    except ValidationError:
        raise RefusedPasskeyError("malformed") from None
    challenge = _bytes(data.challenge)
    if challenge not in challenges:
        raise RefusedPasskeyError("unknown or expired challenge")
    if data.type != kind:
        raise RefusedPasskeyError("of another ceremony")
    if data.crossOrigin or data.topOrigin is not None:
        raise RefusedPasskeyError("in a frame of another site")
    return challenge


def _bytes(encoded: str) -> bytes:
    from webauthn import helpers

    try:
        return helpers.base64url_to_bytes(encoded)
    except ValueError:
        raise RefusedPasskeyError("malformed") from None


def _checked(check: Callable[[], _Result]) -> _Result:
    try:
        return check()
    except RefusedPasskeyError:
        raise
    except Exception:  # noqa: BLE001 - the package's parsers raise many types of exceptions; each means that verification failed
        raise RefusedPasskeyError("not valid") from None


def as_dict(options: str) -> dict[str, Any]:
    """The options as a dictionary, for a JSON response."""
    found: dict[str, Any] = json.loads(options)
    return found
