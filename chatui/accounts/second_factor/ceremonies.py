"""WebAuthn: the options that a browser needs to create or use a passkey, and the checks of its response (level 3, sections 7.1 and 7.2).

The ``webauthn`` package is imported at the first ceremony: with cryptography it takes 9 MB, and many deployments have no passkeys.
A passkey here is discoverable, asks for the person (a finger, a face, a PIN) each time, and so is both factors at once.
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

MOST_CHARS = 16_000
"""Of what a browser sends: with the longest id and the largest key it is half of that."""
MOST_ID_BYTES = 1023
MOST_KEY_BYTES = 1200
LASTS_SECONDS = 600
"""How long a challenge is good, and how long the browser waits for the person."""

_Given = TypeVar("_Given")
_Encoded = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=12_000)]


class RefusedPasskeyError(Exception):
    """The passkey is not accepted. ``why`` is for the audit log: a few words of ours, and nothing that was sent."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """The stored data of a newly created passkey. ``public_key`` is a COSE key."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A browser's response, parsed but not verified: nothing in it can be trusted until ``count_of`` has checked the signature."""

    credential_id: bytes
    user_handle: bytes
    challenge: bytes
    said: dict[str, Any] = field(repr=False)


class _Response(BaseModel):
    clientDataJSON: _Encoded  # noqa: N815 - the names of WebAuthn
    attestationObject: _Encoded = ""  # noqa: N815
    authenticatorData: _Encoded = ""  # noqa: N815
    signature: _Encoded = ""
    userHandle: _Encoded | Literal[""] | None = None  # noqa: N815


class _Said(BaseModel):
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
    """What authenticators know the person by: it says nothing to whoever reads it there."""
    return person.pk.bytes


def to_make(site: Site, person: User, taken: Iterable[bytes], challenge: bytes) -> str:
    """The options for making one, in JSON. ``taken``: ids of those that the person has, so that no device makes a second one."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_registration_options(
        rp_id=site.host,
        rp_name=brand().name,
        user_name=person.get_username(),
        user_id=handle_of(person),
        challenge=challenge,
        timeout=LASTS_SECONDS * 1000,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED, user_verification=structs.UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=[structs.PublicKeyCredentialDescriptor(id=each) for each in taken],
    )
    return webauthn.options_to_json(options)


def to_use(site: Site, only: Iterable[bytes], challenge: bytes) -> str:
    """The options for using one, in JSON. ``only``: the ids that will do; none for whichever the person chooses."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_authentication_options(
        rp_id=site.host,
        challenge=challenge,
        timeout=LASTS_SECONDS * 1000,
        allow_credentials=[structs.PublicKeyCredentialDescriptor(id=each) for each in only],
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return webauthn.options_to_json(options)


def made(site: Site, said: str, challenges: Iterable[bytes]) -> NewPasskey:
    """Check what a browser made. Raises RefusedPasskeyError."""
    import webauthn
    from webauthn import helpers
    from webauthn.helpers.structs import AttestationFormat

    read, challenge = _read(said), _challenge(said, "webauthn.create", challenges)

    def check() -> NewPasskey:
        statement = helpers.parse_attestation_object(helpers.base64url_to_bytes(read.response.attestationObject))
        # None was asked for, so a device's certificate is not wanted; what a device says of itself alone (self attestation) may stay.
        if statement.fmt != AttestationFormat.NONE and (statement.fmt != AttestationFormat.PACKED or statement.att_stmt.x5c):
            raise RefusedPasskeyError("an attestation that nobody asked for")
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
    if not len(new.credential_id) <= MOST_ID_BYTES or not len(new.public_key) <= MOST_KEY_BYTES:
        raise RefusedPasskeyError("too large")
    return new


def answer_in(said: str, challenges: Iterable[bytes]) -> Answer:
    """What a browser says that was signed, with one of these challenges. Raises RefusedPasskeyError."""
    read, challenge = _read(said), _challenge(said, "webauthn.get", challenges)
    response = read.response
    if not response.authenticatorData or not response.signature:
        raise RefusedPasskeyError("not of the right form")
    return Answer(_bytes(read.rawId), _bytes(response.userHandle or ""), challenge, read.model_dump(exclude_none=True))


def count_of(site: Site, answer: Answer, public_key: bytes) -> int:
    """Check the signature and all that is signed; returns what the authenticator has counted. Raises RefusedPasskeyError."""
    import webauthn

    def check() -> int:
        # The count of before is compared where the row is: here it would be one more error without a name.
        found = webauthn.verify_authentication_response(
            credential=answer.said,
            expected_challenge=answer.challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            credential_public_key=public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
        return found.new_sign_count

    return _checked(check)


def _read(said: str) -> _Said:
    if len(said) > MOST_CHARS:
        raise RefusedPasskeyError("too large")
    try:
        return _Said.model_validate_json(said)
    except ValidationError:
        raise RefusedPasskeyError("not of the right form") from None


def _challenge(said: str, kind: str, challenges: Iterable[bytes]) -> bytes:
    """The challenge that was signed, which has to be one of ours, on a page of ours that is in no frame of another site."""
    try:
        data = _ClientData.model_validate_json(_bytes(_read(said).response.clientDataJSON))
    except ValidationError:
        raise RefusedPasskeyError("not of the right form") from None
    challenge = _bytes(data.challenge)
    if challenge not in challenges:
        raise RefusedPasskeyError("no challenge of ours, or an old one")
    if data.type != kind:
        raise RefusedPasskeyError("made for something else")
    if data.crossOrigin or data.topOrigin is not None:
        raise RefusedPasskeyError("within a page of another site")
    return challenge


def _bytes(encoded: str) -> bytes:
    from webauthn import helpers

    try:
        return helpers.base64url_to_bytes(encoded)
    except ValueError:
        raise RefusedPasskeyError("not of the right form") from None


def _checked(check: Callable[[], _Given]) -> _Given:
    try:
        return check()
    except RefusedPasskeyError:
        raise
    except Exception:  # noqa: BLE001 - its parsers of CBOR and keys raise what they meet; whatever it is, nothing was proved
        raise RefusedPasskeyError("not valid") from None


def as_json(options: str) -> dict[str, Any]:
    """Options, for an answer in JSON."""
    found: dict[str, Any] = json.loads(options)
    return found
