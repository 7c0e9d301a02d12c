"""The ceremonies of WebAuthn (level 3, sections 7.1 and 7.2): their options, and how a browser's response is verified.

The host and origin that passkeys are valid for come from the operator's settings, never from a request alone.

The ``webauthn`` package is imported at the first ceremony: with cryptography it takes 9 MB, and many deployments have no passkeys. Passkeys
here are discoverable and require user verification (fingerprint, face or PIN) each time, so a passkey counts as both factors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host

from chatui.env import environment
from chatui.models.passkeys import Passkey
from chatui.models.user import User
from chatui.proxies import address_of, is_this_computer
from chatui.site.brand import brand

if TYPE_CHECKING:
    from webauthn.helpers.structs import AuthenticationCredential, PublicKeyCredentialDescriptor
    from webauthn.registration.verify_registration_response import VerifiedRegistration


@dataclass(frozen=True, slots=True)
class Site:
    """The host and origin for passkeys."""

    host: str
    """WebAuthn's RP ID, such as chat.example.org."""
    origin: str
    """With the scheme, and with a port that is not the default."""


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

    read = read_response(credential, helpers.parse_registration_credential_json)
    challenge = challenge_of(read.response.client_data_json, "webauthn.create", challenges)
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


def verify_use(site: Site, row: Passkey, read: AuthenticationCredential, challenge: bytes) -> int:
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


def read_response(credential: str, parse: Callable[[str], _Result]) -> _Result:
    """A browser's response as ``parse``, a function of the package, reads it. Raises RefusedPasskeyError."""
    if len(credential) > MAX_CHARS:
        raise RefusedPasskeyError("too large")
    with _refusing("malformed"):
        return parse(credential)


def challenge_of(client_data: bytes, kind: str, challenges: Iterable[bytes]) -> bytes:
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
