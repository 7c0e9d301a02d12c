"""The host and origin that passkeys are valid for. They come from the operator's settings, never from a request alone."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from chatui.env import environment


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
