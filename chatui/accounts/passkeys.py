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
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.http.request import validate_host
from django.utils import timezone

from chatui.accounts import second_factor, sessions, sign_in, sign_in_notices, sign_in_settings
from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.guesses import GuessLimit, MustWaitError, Scope
from chatui.models.passkeys import Passkey
from chatui.models.user import User
from chatui.permissions.access import NotFoundError, person_of
from chatui.proxies import address_of, is_this_computer
from chatui.site.brand import brand
from renderer.characters import one_line

if TYPE_CHECKING:
    from webauthn.helpers.structs import AuthenticationCredential, PublicKeyCredentialDescriptor
    from webauthn.registration.verify_registration_response import VerifiedRegistration


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
    if not name or address_of(name) is not None or (parts.scheme != "https" and not is_this_computer(name)):
        return None
    return Site(name, origin)


def named_origin(scheme: str, host: str) -> str | None:
    """The origin under which passkeys work on this machine, if ``host`` is an address of this machine in digits, such as 127.0.0.1:8000.

    None for any other host, and where passkeys do not work under the name either.
    """
    parts = urlsplit(f"{scheme}://{host}")
    address = address_of(parts.hostname or "")
    if address is None or not (is_this_computer(parts.hostname or "") or address.is_unspecified):
        return None
    named = f"localhost:{parts.port}" if parts.port else "localhost"
    site = site_of(scheme, named) if validate_host("localhost", settings.ALLOWED_HOSTS) else None
    return site.origin if site is not None and site.host == "localhost" else None


MAX_CHARS = 16_000
"""The longest accepted response of a browser: twice the length of one with the longest id and the largest key."""
MAX_ID_BYTES = 1023
MAX_KEY_BYTES = 1200
TIMEOUT_SECONDS = 600
"""How long a challenge is valid, and how long the browser waits for the person."""

_Result = TypeVar("_Result")
# Nobody can guess a signature, so a valid one is never refused. Each other attempt costs time and a log line.
_attempts = GuessLimit("passkey", address=Scope(free=20, longest=300, window=3600))


class RefusedPasskeyError(Exception):
    """The passkey is not accepted. ``why`` is a fixed text for the audit log; it never quotes what was sent."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def handle_of(person: User) -> bytes:
    """The user handle that authenticators store. It reveals nothing about the person."""
    return person.pk.bytes


def registration_options(site: Site, person: User, challenge: bytes) -> dict[str, Any]:
    """The options for creating a passkey, with the ids of the person's passkeys, so that no device creates a second one."""
    import webauthn
    from webauthn.helpers import options_to_json_dict, structs

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
        exclude_credentials=_descriptors(site, person),
    )
    return options_to_json_dict(options)


def authentication_options(site: Site, person: User | None, challenge: bytes) -> dict[str, Any]:
    """The options for using a passkey: one of this person's, or (None) any."""
    import webauthn
    from webauthn.helpers import options_to_json_dict, structs

    options = webauthn.generate_authentication_options(
        rp_id=site.host,
        challenge=challenge,
        timeout=TIMEOUT_SECONDS * 1000,
        allow_credentials=_descriptors(site, person) if person else [],
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


def _descriptors(site: Site, person: User) -> list[PublicKeyCredentialDescriptor]:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    ids = Passkey.objects.filter(user=person, site=site.host).values_list("credential_id", flat=True)
    return [PublicKeyCredentialDescriptor(id=bytes(each)) for each in ids]


def verify_registration(site: Site, credential: str, challenges: Iterable[bytes]) -> VerifiedRegistration:
    """Verify the response to a registration. Raises RefusedPasskeyError."""
    import webauthn
    from webauthn import helpers
    from webauthn.helpers.structs import AttestationFormat

    read = _read(credential, helpers.parse_registration_credential_json)
    challenge = _challenge(read.response.client_data_json, "webauthn.create", challenges)
    with _refusing("not valid"):
        statement = helpers.parse_attestation_object(read.response.attestation_object)
        # No attestation was requested, so certificates are refused; self attestation is accepted.
        if statement.fmt != AttestationFormat.NONE and (statement.fmt != AttestationFormat.PACKED or statement.att_stmt.x5c):
            raise RefusedPasskeyError("unrequested attestation")
        new = webauthn.verify_registration_response(
            credential=read,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            require_user_verification=True,
        )
        helpers.decoded_public_key_to_cryptography(helpers.decode_credential_public_key(new.credential_public_key))
    if len(new.credential_id) > MAX_ID_BYTES or len(new.credential_public_key) > MAX_KEY_BYTES:
        raise RefusedPasskeyError("too large")
    return new


def _verify_use(site: Site, row: Passkey, read: AuthenticationCredential, challenge: bytes) -> int:
    """Verify the signature and all signed data. Returns the authenticator's counter, which the caller compares with the stored one."""
    import webauthn

    with _refusing("not valid"):
        found = webauthn.verify_authentication_response(
            credential=read,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            credential_public_key=bytes(row.public_key),
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    return found.new_sign_count


def _read(credential: str, parse: Callable[[str], _Result]) -> _Result:
    if len(credential) > MAX_CHARS:
        raise RefusedPasskeyError("too large")
    with _refusing("malformed"):
        return parse(credential)


def _challenge(client_data: bytes, kind: str, challenges: Iterable[bytes]) -> bytes:
    """The challenge that the browser signed. It must be one of ``challenges``, and come from our page, not in another site's frame."""
    from webauthn import helpers

    with _refusing("malformed"):
        data = {"crossOrigin": False, "topOrigin": None} | json.loads(client_data)
        challenge = helpers.base64url_to_bytes(data["challenge"])
    if challenge not in challenges:
        raise RefusedPasskeyError("unknown or expired challenge")
    if data.get("type") != kind:
        raise RefusedPasskeyError("of another ceremony")
    if data["crossOrigin"] or data["topOrigin"] is not None:
        raise RefusedPasskeyError("in a frame of another site")
    return challenge


@contextmanager
def _refusing(why: str) -> Iterator[None]:
    try:
        yield
    except RefusedPasskeyError:
        raise
    except Exception:  # noqa: BLE001 - the package's parsers raise many types of exceptions; each means that verification failed
        raise RefusedPasskeyError(why) from None


MAX_PASSKEYS = 20
"""The most passkeys of one person."""
MAX_NAME_CHARS = 60


def may_have(person: User) -> bool:
    """Whether this person may add passkeys: as with one-time codes, only people with a password. For others, the provider decides."""
    return sign_in_settings.may_use(person) and person.has_usable_password()


def passkeys_of(person: User) -> QuerySet[Passkey]:
    """The person's passkeys, the oldest first."""
    return Passkey.objects.filter(user=person).order_by("made_at", "pk")


def may_remove_one(person: User) -> bool:
    """Whether another sign-in method, and second factor if one is required, would remain without one of the person's passkeys."""
    has_others = passkeys_of(person).count() > 1
    if second_factor.is_required(person) and not has_others and not second_factor.has_app(person):
        return False
    has_own_way = sign_in_settings.may_use(person) and (has_others or person.has_usable_password())
    return has_own_way or sign_in_settings.has_outside_way(person)


def add(visitor: Visitor, person: User, site: Site, new: VerifiedRegistration, name: str) -> tuple[Passkey, list[str]]:
    """Add a passkey that ``verify_registration`` has checked. Recorded.

    Returns it, and recovery codes, which are shown once; none if the person already has some. Raises RefusedPasskeyError if it is already
    known, the person may have none, or they have too many.
    """
    with transaction.atomic():
        added = _add(User.objects.select_for_update(no_key=True).get(pk=person.pk), site, new, name)
        record("passkey added", visitor, person.get_username())
        sign_in_notices.notify(person, "passkey-added")
        return added, second_factor.create_first_codes(person)


def record_not_added(visitor: Visitor, person: User, error: RefusedPasskeyError) -> None:
    """Record a refused passkey, after the transaction that tried to add it was rolled back."""
    record("passkey not added", visitor, person.get_username(), detail=error.why)


def _add(locked: User, site: Site, new: VerifiedRegistration, name: str) -> Passkey:
    if not may_have(locked) or passkeys_of(locked).count() >= MAX_PASSKEYS:
        raise RefusedPasskeyError("not for this account, or too many")
    try:
        with transaction.atomic():
            return Passkey.objects.create(
                user=locked,
                name=_cleaned_name(name),
                site=site.host,
                credential_id=new.credential_id,
                digest=_digest(new.credential_id),
                public_key=new.credential_public_key,
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
    if row is None or not may_remove_one(person):
        raise NotFoundError
    record("passkey removed", visitor, person.get_username())
    sign_in_notices.notify(person, "passkey-removed")
    sessions.end_begun_with(person, str(row.pk), current_key)
    row.delete()
    second_factor.delete_unneeded_codes(person)


def rename(visitor: Visitor, person: User, passkey_id: UUID, name: str) -> None:
    """Rename one of the visitor's own passkeys. Recorded, without the names. Raises NotFoundError if it is not theirs."""
    with transaction.atomic():
        if not Passkey.objects.filter(pk=passkey_id, user=person).update(name=_cleaned_name(name)):
            raise NotFoundError
        record("passkey renamed", visitor, person.get_username())


def use(visitor: Visitor, site: Site, credential: str, challenges: Collection[bytes], person: User | None = None) -> Passkey:
    """The passkey that was used to sign in, with its owner; in the step after the password, it must be this ``person``'s.

    Each use is counted, and a refusal recorded.

    Raises:
        RefusedPasskeyError: the passkey is not accepted, for any reason; people see the same message for all.
        MustWaitError: too many were tried.
    """
    from webauthn.helpers import parse_authentication_credential_json

    owner = person
    try:
        guess = second_factor.admit(visitor, person) if person else None
        read = _read(credential, parse_authentication_credential_json)
        challenge = _challenge(read.response.client_data_json, "webauthn.get", challenges)
        row = Passkey.objects.select_related("user").filter(digest=_digest(read.raw_id), site=site.host).first()
        if row is None:
            raise RefusedPasskeyError("unknown")
        owner = person or row.user
        # The authenticator's user handle may be missing only if somebody is known already.
        handle = read.response.user_handle or (handle_of(owner) if person else b"")
        if row.user_id != owner.pk or not hmac.compare_digest(handle, handle_of(owner)):
            raise RefusedPasskeyError("of another account")
        if not row.user.is_active:
            raise RefusedPasskeyError("closed account")
        if not sign_in_settings.may_use(row.user):
            raise RefusedPasskeyError("this account needs a provider's sign-in")
        _count_use(row, _verify_use(site, row, read, challenge))
    except (RefusedPasskeyError, MustWaitError) as error:
        refused = _counted(visitor, error) if person is None else error
        why = refused.why if isinstance(refused, RefusedPasskeyError) else "had to wait"
        sign_in.record_way_refused(visitor, owner, f"passkey: {why}", "passkey refused")
        raise refused from None
    if guess is not None:
        guess.succeeded()
    return row


def _counted(visitor: Visitor, refused: RefusedPasskeyError | MustWaitError) -> RefusedPasskeyError | MustWaitError:
    try:
        _attempts.miss(visitor.address)
    except MustWaitError as wait:
        return wait
    return refused


def _count_use(row: Passkey, count: int) -> None:
    # The condition is in the statement: of two simultaneous uses with the same counter, one is by a copy of the passkey.
    later = Q(sign_count__lt=count) if count else Q(sign_count=0)
    if not Passkey.objects.filter(later, pk=row.pk).update(sign_count=count, last_used_at=timezone.now()):
        raise RefusedPasskeyError("its counter did not increase, so there may be a copy")


def _cleaned_name(name: str) -> str:
    """The name as it is stored: one line, without characters that reorder the text around it."""
    return one_line(name)[:MAX_NAME_CHARS] or "Passkey"


def _digest(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()
