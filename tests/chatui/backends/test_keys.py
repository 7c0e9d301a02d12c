"""API keys: each goes only to its own origin, however the address is written."""

from pathlib import Path

import httpx
import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.backends.http import Upstream
from chatui.backends.keys import KeyUnusableError, checked, key_of
from chatui.backends.route import Route
from chatui.backends.spec import BackendSpec
from chatui.outbound.addresses import address_problem, origin
from tests.support import stub
from tests.support.sampling import HASTY, outcome, sample_request

KEY = "sk-7261-do-not-tell"


def named(url: str, key_name: str = "ACME") -> BackendSpec:
    return BackendSpec.model_construct(name="small", url=url, kind="chat", key_env="", key_file="", key_name=key_name)


def test_a_key_comes_from_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", f" {KEY}\n")
    (tmp_path / "key").write_text(f"{KEY}\n", encoding="utf-8")
    assert key_of(BackendSpec(name="a", url="http://a", key_env="THE_KEY"), tmp_path) == KEY
    assert key_of(BackendSpec(name="a", url="http://a", key_file=str(tmp_path / "key")), tmp_path) == KEY
    assert key_of(BackendSpec(name="a", url="http://a"), tmp_path) is None


def test_a_key_set_in_the_admin_pages_comes_from_the_environment_or_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyUnusableError, match="there is no key ACME: neither a variable CHATUI_KEY_ACME nor a file keys/ACME"):
        key_of(named("https://api.example.org"), tmp_path)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "ACME").write_text(f"https://api.example.org {KEY}\n", encoding="utf-8")
    assert key_of(named("https://api.example.org/v1"), tmp_path) == KEY
    monkeypatch.setenv("CHATUI_KEY_ACME", f"https://other.example.org {KEY}2")
    assert key_of(named("https://other.example.org"), tmp_path) == f"{KEY}2"


@pytest.mark.parametrize(
    "url",
    ["https://api.example.org", "https://api.example.org/", "https://API.Example.ORG/v1", "https://api.example.org:443/deep/v1"],
)
def test_the_same_origin_may_be_written_in_several_ways(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", f"https://api.example.org {KEY}")
    assert key_of(named(url), tmp_path) == KEY


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example",
        "http://api.example.org",  # anybody on the network could read it
        "https://api.example.org:8443",
        "https://api.example.org.evil.example",
        "https://evil.example/api.example.org",
        "https://evil.example/https://api.example.org",
        "https://apixexample.org",
        "https://api.example.org.",
        "https://xn--pi-7ka.example.org",
    ],
)
def test_editing_the_address_does_not_send_the_key_elsewhere(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", f"https://api.example.org {KEY}")
    assert address_problem(url) == "", "the premise: it is an address"
    with pytest.raises(KeyUnusableError) as caught:
        key_of(named(url), tmp_path)
    assert KEY not in str(caught.value) and "another origin" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.org@evil.example",
        "https://api.example.org:443@evil.example/",
        "https://@evil.example",
        "https://evil.example\\@api.example.org",
        "https://evil.example\\.api.example.org",
        "https://evil.example#@api.example.org",
        "https://evil.example?@api.example.org",
        "https://api.example.org%2eevil.example",
        "https://api.example.org%00.evil.example",
        "https://api.example.org\t.evil.example",
        "https://api.example.org\n",
        " https://api.example.org",
        "https:api.example.org",
        "https:///api.example.org",
        "https://[api.example.org]",
        "https://api.example.org:99999",
        "https://api。example。org",
        "https://аpi.example.org",
        "javascript://api.example.org",
        "//api.example.org",
        "",
    ],
)
def test_an_ambiguous_address_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", f"https://api.example.org {KEY}")
    assert address_problem(url)
    with pytest.raises((KeyUnusableError, ValueError)):
        key_of(named(url), tmp_path)


@pytest.mark.parametrize(
    "url", ["https://api.example.org/v1", "http://127.0.0.1:8080", "http://[::1]:8080/v1", "https://A.example:444/x/v1/"]
)
def test_the_origin_is_that_of_the_request(url: str) -> None:
    Upstream(url, None, HASTY)
    sent = httpx.URL(Route().address(url, "/v1/models"))
    assert origin(url) == origin(f"{sent.scheme}://{sent.netloc.decode()}")


@pytest.mark.parametrize("held", ["", "  ", "two words", "line\nbreak", "snow☃man", "sk-\x00", "sk-\x7f"])
def test_an_invalid_key_is_refused_without_being_quoted(held: str) -> None:
    with pytest.raises(KeyUnusableError) as caught:
        checked(held, "the place")
    assert str(caught.value).startswith("the place holds") and (not held.strip() or held not in str(caught.value))


@pytest.mark.parametrize("held", [KEY, f"https://api.example.org {KEY} more", f"{KEY} https://api.example.org", "https://api.example.org"])
def test_a_named_key_needs_its_origin(held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", held)
    with pytest.raises(KeyUnusableError) as caught:
        key_of(named("https://api.example.org"), tmp_path)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "a/b", "acme", "", "ACME\n", "A B"])
def test_a_key_name_with_a_path_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        BackendSpec(name="a", url="http://a", key_name=name or " ")


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect"])
async def test_redirects_are_not_followed_so_the_key_stays(status: str) -> None:
    async with stub.running(stub.plays(stub.chunk(content="Hello") + stub.DONE)) as other:
        location = f"Location: {other.url}/v1/chat/completions\r\n"
        async with stub.running(stub.responds(status, b"{}", location)) as server:
            backend = registry.build(Endpoint(server.url, key=KEY, model="m", limits=HASTY))
            result = await outcome(backend, sample_request("Hello!"))
            await backend.aclose()
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}", "the premise: this server gets the key"
        assert result.error is not None and result.visible == ""
        assert other.requests == []
