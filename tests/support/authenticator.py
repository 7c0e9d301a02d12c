"""A software authenticator and the browser around it: creates passkeys and signs with them, correctly or with any fault."""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

ES256, EDDSA, RS256 = -7, -8, -257
_PRESENT, _VERIFIED, _HAS_KEY = 0x01, 0x04, 0x40


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def decoded(value: str) -> bytes:
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))


@dataclass
class Authenticator:
    """One passkey. Tests change its fields to make it sign or report something wrong."""

    algorithm: int = ES256
    origin: str = "http://localhost"
    host: str = ""
    count: int = 0
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    handle: bytes = b""
    is_present: bool = True
    is_verified: bool = True
    cross_origin: bool = False
    kind: str = ""
    attestation: dict[str, Any] = field(default_factory=lambda: {"fmt": "none", "attStmt": {}})

    def __post_init__(self) -> None:
        self.key: Any = {
            ES256: lambda: ec.generate_private_key(ec.SECP256R1()),
            EDDSA: ed25519.Ed25519PrivateKey.generate,
            RS256: lambda: rsa.generate_private_key(65537, 2048),
        }[self.algorithm]()

    def make(self, options: dict[str, Any]) -> str:
        """The browser's response after ``navigator.credentials.create``."""
        self.handle = self.handle or decoded(options["user"]["id"])
        self.host = self.host or options["rp"]["id"]
        place = self.credential_id
        attested = bytes(16) + len(place).to_bytes(2, "big") + place + cbor2.dumps(self.public_key())
        data = self._data(_HAS_KEY) + attested
        return self._sent({"attestationObject": cbor2.dumps(self.attestation | {"authData": data})}, "webauthn.create", options)

    def use(self, options: dict[str, Any]) -> str:
        """The browser's response after ``navigator.credentials.get``."""
        self.host = self.host or options["rpId"]
        client, data = self._client("webauthn.get", options), self._data(0)
        signed = data + hashlib.sha256(client).digest()
        response = {"authenticatorData": data, "signature": self.sign(signed), "userHandle": self.handle}
        return self._sent(response, "webauthn.get", options)

    def public_key(self) -> dict[int, Any]:
        """As a COSE key."""
        key = self.key.public_key()
        if self.algorithm == ES256:
            point = key.public_numbers()
            return {1: 2, 3: ES256, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
        if self.algorithm == EDDSA:
            return {1: 1, 3: EDDSA, -1: 6, -2: key.public_bytes_raw()}
        numbers = key.public_numbers()
        return {1: 3, 3: RS256, -1: numbers.n.to_bytes(256, "big"), -2: numbers.e.to_bytes(3, "big")}

    def sign(self, data: bytes) -> bytes:
        if self.algorithm == ES256:
            return bytes(self.key.sign(data, ec.ECDSA(hashes.SHA256())))
        if self.algorithm == EDDSA:
            return bytes(self.key.sign(data))
        return bytes(self.key.sign(data, padding.PKCS1v15(), hashes.SHA256()))

    def _data(self, more: int) -> bytes:
        flags = more | (_PRESENT if self.is_present else 0) | (_VERIFIED if self.is_verified else 0)
        return hashlib.sha256(self.host.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client(self, kind: str, options: dict[str, Any]) -> bytes:
        fields = {"type": self.kind or kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": self.cross_origin}
        return json.dumps(fields).encode()

    def _sent(self, response: dict[str, bytes], kind: str, options: dict[str, Any]) -> str:
        response = response | {"clientDataJSON": self._client(kind, options)}
        place = encoded(self.credential_id)
        encoded_fields = {name: encoded(value) for name, value in response.items()}
        return json.dumps({"id": place, "rawId": place, "type": "public-key", "response": encoded_fields})
