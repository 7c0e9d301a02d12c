"""A person's passkeys: adds, lists and removes them, verifies the browser's responses, and finds the owner of one that was used.

The host and origin that passkeys are valid for come from the operator's settings, never from a request alone.

The ceremonies are those of WebAuthn (level 3, sections 7.1 and 7.2). The ``webauthn`` package is imported at the first one: with
cryptography it takes 9 MB, and many deployments have no passkeys. Passkeys here are discoverable and require user verification
(fingerprint, face or PIN) each time, so a passkey counts as both factors.

Each change and refusal is recorded.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from chatui.accounts import second_factor, sessions, sign_in, sign_in_settings
from chatui.accounts.sign_in_settings import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.limits import MustWaitError
from chatui.models.sign_in import OutsideIdentity, Passkey
from chatui.models.user import User
from chatui.permissions.access import NotFoundError, person_of
from chatui.site.brand import brand


@dataclass(frozen=True, slots=True)
class Site:
    """The host and origin for passkeys.

    ``host`` is WebAuthn's RP ID, such as chat.example.org; ``origin`` has the scheme, and a port that is not the default.
    """

    host: str
    origin: str


def site_of(scheme: str, host: str) -> Site | None:
    """The site for a request to this host (``host`` as Django has checked it).

    None where browsers do not support passkeys (IP addresses, and http except on this machine), and if our hosts are not configured.
    """
    requested, public = f"{scheme}://{host}", environment().origins
    if not public and "*" in settings.ALLOWED_HOSTS:
        return None
    # The host only selects one of our configured origins.
    origin = requested if not public or requested in public else public[0]
    parts = urlsplit(origin)
    name = parts.hostname or ""
    is_here = name == "localhost" or name.endswith(".localhost")
    if not name or _is_address(name) or (parts.scheme != "https" and not is_here):
        return None
    return Site(name, origin)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


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


MAX_PASSKEYS = 20
"""The most passkeys of one person."""
MAX_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class OwnPasskey:
    """A passkey as the page shows it. ``is_removable``: another sign-in method (and second factor, if required) would remain."""

    id: UUID
    name: str
    made_at: datetime
    last_used_at: datetime | None
    is_removable: bool


def may_have(person: User) -> bool:
    """Whether this person may add passkeys: as with one-time codes, only people with a password. For others, the provider decides."""
    return sign_in_settings.may_use(person) and person.has_usable_password()


def passkeys_of(person: User) -> list[OwnPasskey]:
    """The person's passkeys, the oldest first."""
    rows = Passkey.objects.filter(user=person).order_by("made_at", "pk")
    return [OwnPasskey(row.pk, row.name, row.made_at, row.last_used_at, _may_remove(person, row.pk)) for row in rows]


def ids_of(person: User, site: Site) -> list[bytes]:
    """The credential ids of the person's passkeys for this site."""
    return [bytes(each) for each in Passkey.objects.filter(user=person, site=site.host).values_list("credential_id", flat=True)]


def add(visitor: Visitor, person: User, site: Site, new: NewPasskey, name: str) -> tuple[Passkey, list[str]]:
    """Add a passkey that ``verify_registration`` has checked. Recorded.

    Returns it, and recovery codes, which are shown once; none if the person already has some.

    Raises:
        RefusedPasskeyError: it is already known, the person may have none, or they have too many.
    """
    with transaction.atomic():
        added = _add(User.objects.select_for_update(no_key=True).get(pk=person.pk), site, new, name)
        record("passkey added", visitor, person.get_username())
        second_factor.notify(person, "passkey-added")
        return added, second_factor.create_first_codes(person)


def record_not_added(visitor: Visitor, person: User, error: RefusedPasskeyError) -> None:
    """Record a refused passkey, after the transaction that tried to add it was rolled back."""
    record("passkey not added", visitor, person.get_username(), detail=error.why)


def _add(locked: User, site: Site, new: NewPasskey, name: str) -> Passkey:
    if not may_have(locked) or Passkey.objects.filter(user=locked).count() >= MAX_PASSKEYS:
        raise RefusedPasskeyError("not for this account, or too many")
    try:
        with transaction.atomic():
            return Passkey.objects.create(
                user=locked,
                name=_cleaned_name(name),
                site=site.host,
                credential_id=new.credential_id,
                digest=_digest(new.credential_id),
                public_key=new.public_key,
                sign_count=new.sign_count,
            )
    except IntegrityError:
        raise RefusedPasskeyError("already known") from None


@transaction.atomic
def remove(visitor: Visitor, passkey_id: UUID, current_key: str | None) -> None:
    """Remove one of the visitor's own passkeys, and end the sessions that it began, except the current one. Recorded, and told.

    Raises NotFoundError if it is not theirs or may not be removed.
    """
    person = person_of(visitor)
    User.objects.select_for_update(no_key=True).get(pk=person.pk)  # the second of two simultaneous removals must see the first
    row = Passkey.objects.filter(pk=passkey_id, user=person).first()
    if row is None or not _may_remove(person, row.pk):
        raise NotFoundError
    record("passkey removed", visitor, person.get_username())
    second_factor.notify(person, "passkey-removed")
    sessions.end_begun_with(person, str(row.pk), current_key)
    row.delete()
    second_factor.delete_unneeded_codes(person)


def rename(visitor: Visitor, person: User, passkey_id: UUID, name: str) -> None:
    """Rename one of the visitor's own passkeys. Recorded, without the names. Raises NotFoundError if it is not theirs."""
    with transaction.atomic():
        if not Passkey.objects.filter(pk=passkey_id, user=person).update(name=_cleaned_name(name)):
            raise NotFoundError
        record("passkey renamed", visitor, person.get_username())


def find_owner(visitor: Visitor, site: Site, credential: str, challenges: Collection[bytes], device: str) -> Passkey:
    """The passkey that was used to sign in, with its owner. A refusal is recorded. ``device``: as for ``sign_in.admit``.

    Raises:
        RefusedPasskeyError: the passkey is not accepted, for any reason; people see the same message for all.
        MustWaitError: too many were tried.
    """
    row = None
    try:
        guess = sign_in.admit_passkey(visitor, device)
        assertion = read_assertion(credential, challenges)
        row = _row_of(assertion, site)
        # Nobody is known yet, so the authenticator's user handle must match the owner of the passkey.
        if not hmac.compare_digest(assertion.user_handle, handle_of(row.user)):
            raise RefusedPasskeyError("of another account")
        _use(row, site, assertion)
    except (RefusedPasskeyError, MustWaitError) as error:
        sign_in.record_passkey_refused(visitor, row.user if row else None, _reason(error))
        raise
    guess.succeeded()
    return row


def check(visitor: Visitor, person: User, site: Site, credential: str, challenges: Collection[bytes]) -> Passkey:
    """The passkey that was used in the step after the password: it must be this person's. Raises and records as ``find_owner``."""
    try:
        guess = second_factor.admit(visitor, person)
        assertion = read_assertion(credential, challenges)
        row = _row_of(assertion, site)
        if row.user_id != person.pk or (assertion.user_handle and assertion.user_handle != handle_of(person)):
            raise RefusedPasskeyError("of another account")
        _use(row, site, assertion)
    except (RefusedPasskeyError, MustWaitError) as error:
        sign_in.record_passkey_refused(visitor, person, _reason(error))
        raise
    guess.succeeded()
    return row


def _reason(error: RefusedPasskeyError | MustWaitError) -> str:
    return f"passkey: {error.why if isinstance(error, RefusedPasskeyError) else 'had to wait'}"


def _row_of(assertion: Assertion, site: Site) -> Passkey:
    found = Passkey.objects.select_related("user").filter(digest=_digest(assertion.credential_id), site=site.host)
    row: Passkey | None = found.first()
    if row is None:
        raise RefusedPasskeyError("unknown")
    return row


def _use(row: Passkey, site: Site, assertion: Assertion) -> None:
    if not row.user.is_active:
        raise RefusedPasskeyError("closed account")
    if not sign_in_settings.may_use(row.user):
        raise RefusedPasskeyError("this account needs a provider's sign-in")
    count = verify_assertion(site, assertion, bytes(row.public_key))
    # The condition is in the statement: of two simultaneous uses with the same counter, one is by a copy of the passkey.
    later = Q(sign_count__lt=count) if count else Q(sign_count=0)
    if not Passkey.objects.filter(later, pk=row.pk).update(sign_count=count, last_used_at=timezone.now()):
        raise RefusedPasskeyError("its counter did not increase, so there may be a copy")


def _may_remove(person: User, passkey_id: UUID) -> bool:
    others = Passkey.objects.filter(user=person).exclude(pk=passkey_id).exists()
    if second_factor.is_required(person) and not others and not second_factor.has_app(person):
        return False
    if sign_in_settings.may_use(person) and (others or person.has_usable_password()):
        return True
    issuers = [provider.issuer for provider in sign_in_file().providers]
    return OutsideIdentity.objects.filter(user=person, issuer__in=issuers).exists()


def _cleaned_name(name: str) -> str:
    """The name as it is stored: one line, without characters that reorder the text around it."""
    plain = "".join(sign if sign.isprintable() else " " for sign in name)
    return " ".join(plain.split())[:MAX_NAME_CHARS] or "Passkey"


def _digest(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()
