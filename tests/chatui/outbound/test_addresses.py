"""Which addresses are public, and how an address is read."""

import pytest

from chatui.outbound.addresses import MAX_CHARS, AddressError, is_public, parse_target


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "0.0.0.0",
     "240.0.0.1", "192.168.1.1", "172.16.0.1", "::1", "::", "::127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::808:808",
     "2002:7f00:1::", "2001::1", "fe80::1", "fe80::1%lo", "fd00::1", "fec0::1", "ff02::1", "100::1", "2001:db8::1", "localhost", ""],
)  # fmt: skip
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "2002:808:808::", "64:ff9b::808:808"])
def test_what_is_public(address: str) -> None:
    assert is_public(address)


def test_an_ordinary_address_is_read_as_it_is_written() -> None:
    assert parse_target("https://Tea.example/a b".replace(" ", "%20")).url == "https://tea.example/a%20b"
    assert parse_target("http://bücher.example/ü?q=ü").url == "http://xn--bcher-kva.example/%C3%BC?q=%C3%BC"
    assert parse_target("https://[2606:4700::1111]/").host == "2606:4700::1111"
    with pytest.raises(AddressError):
        parse_target("https://tea.example/" + "a" * MAX_CHARS)
