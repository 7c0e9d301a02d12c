"""How requests reach a server: API roots, queries, key headers, certificates and proxies, against real peers on loopback."""

import asyncio
import base64
import datetime
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from chatui.backends import registry
from chatui.backends.base import BackendError, Endpoint
from chatui.backends.route import Route
from chatui.backends.spec import BackendSpec
from chatui.codes import ProductCode
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.several import constant_answer

pytestmark = pytest.mark.served

KEY = "sk-7261-secret"


@pytest.mark.parametrize(
    ("url", "models_url", "props_url"),
    [
        ("http://h:1", "http://h:1/v1/models", "http://h:1/props"),
        ("http://h:1/v1/", "http://h:1/v1/models", "http://h:1/props"),
        ("http://h:1/llama", "http://h:1/llama/v1/models", "http://h:1/llama/props"),
        ("https://api.z.ai/api/paas/v4", "https://api.z.ai/api/paas/v4/models", None),
        ("https://g.example/v1beta/openai", "https://g.example/v1beta/openai/models", None),
        ("https://r.example/openai/deployments/gpt", "https://r.example/openai/deployments/gpt/models", None),
        ("https://r.example/openai/v1", "https://r.example/openai/v1/models", None),
    ],
)
async def test_the_root_of_an_api_is_recognized_from_its_path(url: str, models_url: str, props_url: str | None) -> None:
    assert Route().address(url, "/v1/models") == models_url
    assert props_url is None or Route().address(url, "/props") == props_url


async def test_the_operator_can_configure_the_root() -> None:
    assert Route(is_api_root=True).address("http://h/llama", "/v1/models") == "http://h/llama/models"
    assert Route(is_api_root=False).address("http://h/v4", "/v1/models") == "http://h/v4/v1/models"


async def ask_over(url: str, route: Route) -> Outcome:
    backend = registry.build(Endpoint(url, KEY, limits=PATIENT, route=route), kind="chat")
    try:
        return await outcome(backend, sample_request("Hello!"))
    finally:
        await backend.aclose()


async def test_azure_gets_its_query_and_key_header_and_a_refusal_quotes_no_key() -> None:
    route = Route(query=(("api-version", "2024-10-21"),), key_header="api-key")
    async with stub.running(constant_answer("Hello.")) as server:
        assert (await ask_over(f"{server.url}/openai/deployments/gpt", route)).visible == "Hello."
    last = server.requests[-1]
    assert last.path == "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    assert last.headers["api-key"] == KEY and "authorization" not in last.headers
    async with stub.running(stub.responds("401 Unauthorized", f"no {KEY}".encode())) as server:
        error = (await ask_over(server.url, route)).error
    assert error is not None and "(the key)" in error.detail and KEY not in error.detail


def certificate(directory: Path, name: str, by: str = "", *, is_authority: bool = False) -> Path:
    """A key and a certificate in one PEM file, signed by the key in the file ``by``, or self-signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, signer, own = subject, key, x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    signers = own
    if by:
        authority = (directory / f"{by}.pem").read_bytes()
        found = x509.load_pem_x509_certificate(authority)
        issuer, signers = found.subject, found.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        loaded = serialization.load_pem_private_key(authority, None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        signer = loaded
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        # Since Python 3.13, certificates without identifiers of the keys are refused.
        .add_extension(own, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signers), critical=False)
        .add_extension(_usage(is_authority=is_authority), critical=True)
        .sign(signer, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / f"{name}.pem").write_bytes(pem + signed.public_bytes(serialization.Encoding.PEM))
    return directory / f"{name}.pem"


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    """What the key may be used for: an authority's signs certificates."""
    names = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "key_cert_sign")
    used = {"digital_signature", *(["key_cert_sign", "crl_sign"] if is_authority else [])}
    return x509.KeyUsage(**{name: name in used for name in (*names, "crl_sign", "encipher_only", "decipher_only")})


@asynccontextmanager
async def over_tls(directory: Path, *, asks_for_certificate: bool = False) -> AsyncIterator[tuple[stub.Stub, str]]:
    """A server with a certificate of a private authority; optionally it requires a client certificate, too."""
    certificate(directory, "authority", is_authority=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(directory, "server", "authority"))
    if asks_for_certificate:
        context.load_verify_locations(directory / "authority.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    serving = stub.Stub(constant_answer("Hello."))
    server = await asyncio.start_server(serving.accept, "127.0.0.1", 0, ssl=context)
    try:
        yield serving, f"https://localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        if serving.connections:
            await asyncio.wait(serving.connections, timeout=5)


async def test_a_private_authority_is_trusted_only_where_configured(tmp_path: Path) -> None:
    async with over_tls(tmp_path) as (_, url):
        assert (await ask_over(url, Route(ca_file=str(tmp_path / "authority.pem")))).visible == "Hello."
        for route in (Route(), Route(ca_file=str(tmp_path / "missing.pem"))):
            error = (await ask_over(url, route)).error
            assert error is not None and error.code in (ProductCode.BACKEND_SETUP, ProductCode.BACKEND_UNREACHABLE)


async def test_a_client_certificate_is_presented_where_required(tmp_path: Path) -> None:
    async with over_tls(tmp_path, asks_for_certificate=True) as (_, url):
        own = certificate(tmp_path, "product", "authority")
        assert (await ask_over(url, Route(ca_file=str(tmp_path / "authority.pem"), certificate=str(own)))).visible == "Hello."
        assert (await ask_over(url, Route(ca_file=str(tmp_path / "authority.pem")))).error is not None


class Proxy:
    """An HTTP proxy: a tunnel for CONNECT, and forwarding of plain requests. ``request_lines``: those received."""

    def __init__(self, *, refuses: bool = False, forged: bytes = b"", wants: str = "") -> None:
        """``forged``: bytes sent right after accepting a tunnel, as if from the server. ``wants``: required user name and password."""
        self.wants = f"Proxy-Authorization: Basic {base64.b64encode(wants.encode()).decode()}" if wants else ""
        self.request_lines: list[str] = []
        self.forged = forged
        self.refuses = refuses

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        first = head.split(b"\r\n")[0].decode()
        self.request_lines.append(first)
        if self.wants and self.wants not in head.decode():
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        head = head.replace(f"{self.wants}\r\n".encode(), b"") if self.wants else head
        method, target, _ = first.split(" ")
        place = target if method == "CONNECT" else target.removeprefix("http://").partition("/")[0]
        if self.refuses:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            writer.close()
            return
        host, _, port = place.rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n" + self.forged)
        else:
            back.write(head.replace(f"http://{place}".encode(), b"", 1))
        await asyncio.gather(self._pipe(reader, back), self._pipe(there, writer), return_exceptions=True)
        writer.close()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def proxy_running(**options: Any) -> AsyncIterator[tuple[Proxy, str]]:
    proxy = Proxy(**options)
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        yield proxy, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await asyncio.sleep(0.1)


async def test_requests_use_the_configured_proxy_and_none_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with proxy_running() as (proxy, at):
        async with stub.running(constant_answer("Hello.")) as server:
            assert (await ask_over(server.url, Route(proxy=at))).visible == "Hello."
            assert proxy.request_lines == [f"GET {server.url}/v1/models HTTP/1.1"], "and the question on the same connection"
            assert server.requests[-1].path == f"{server.url}/v1/chat/completions", "a proxy gets the whole address"
            before = len(proxy.request_lines)
            assert (await ask_over(server.url, Route())).visible == "Hello." and len(proxy.request_lines) == before
        async with over_tls(tmp_path) as (_, url):
            assert (await ask_over(url, Route(ca_file=str(tmp_path / "authority.pem"), proxy=at))).visible == "Hello."
            assert {line.split(" ")[0] for line in proxy.request_lines[before:]} == {"CONNECT"}, "it sees nothing but the name"


async def test_a_proxy_that_refuses_means_an_unreachable_server(tmp_path: Path) -> None:
    async with proxy_running(refuses=True) as (_, at), over_tls(tmp_path) as (_, url):
        error = (await ask_over(url, Route(ca_file=str(tmp_path / "authority.pem"), proxy=at))).error
    assert error is not None and error.code is ProductCode.BACKEND_UNREACHABLE


async def test_proxy_credentials_are_sent_only_to_the_proxy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with proxy_running(wants="ada:p@ss-of-the-proxy") as (_, at), over_tls(tmp_path) as (secure, url):
        authority, with_password = str(tmp_path / "authority.pem"), at.replace("http://", "http://ada:p%40ss-of-the-proxy@")
        async with stub.running(constant_answer("Hello.")) as plain:
            for address in (plain.url, url):
                assert (await ask_over(address, Route(ca_file=authority, proxy=with_password))).visible == "Hello."
                for wrong in (at, with_password.replace("ada", "bela")):
                    error = (await ask_over(address, Route(ca_file=authority, proxy=wrong))).error
                    assert error is not None and "of-the-proxy" not in error.detail + error.log_text
                    assert error.code in (ProductCode.BACKEND_SETUP, ProductCode.BACKEND_UNREACHABLE)
            assert plain.requests and secure.requests
            assert all("proxy-authorization" not in request.headers for request in secure.requests), "it stays outside of the tunnel"
    route = Route(proxy=with_password)
    assert "of-the-proxy" not in caplog.text + repr(route) + repr(route.through()) + repr(
        BackendSpec(name="a", url=url, proxy=with_password)
    )


async def test_a_quoted_proxy_password_is_not_repeated() -> None:
    body = b'{"error": {"message": "who is p@ss-of-the-proxy, YWRhOnBAc3Mtb2YtdGhlLXByb3h5"}}'
    async with proxy_running() as (_, at), stub.running(stub.responds("400 Bad Request", body)) as server:
        error = (await ask_over(server.url, Route(proxy=at.replace("http://", "http://ada:p%40ss-of-the-proxy@")))).error
    assert error is not None and "of-the-proxy" not in error.detail and "YWRhOnBAc3M" not in error.detail


async def test_a_key_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with stub.running(stub.responds("400 Bad Request", b'{"error": {"message": "Unknown field reasoning_effort"}}')) as server:
        await ask_over(server.url, Route(key_header="api-key"))
    assert "rejects the field reasoning_effort" in caplog.text and KEY not in caplog.text


async def test_bytes_of_a_proxy_after_its_acceptance_are_no_response(tmp_path: Path) -> None:
    forged = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n{"data": [{"id": "forged"}]}'
    async with proxy_running(forged=forged) as (proxy, at), over_tls(tmp_path) as (_, url):
        route = Route(ca_file=str(tmp_path / "authority.pem"), proxy=at)
        backend = registry.build(Endpoint(url, KEY, limits=PATIENT, route=route), kind="chat")
        with suppress(BackendError):  # the bytes break the handshake, or are dropped if they came with the acceptance
            assert "forged" not in await backend.models()
        await backend.aclose()
        result = await ask_over(url, route)
        assert result.visible == "Hello." or result.error is not None
    assert proxy.request_lines
