"""The end of a piece of text is held back exactly if a control token may begin there."""

from __future__ import annotations

from renderer.ocml.scanning import BEGINNINGS, MAX_BEGINNING_CHARS, TOKEN, beginnings, held_back
from renderer.tokens import Token
from tests.support.cases import for_each


@for_each(list(Token))
def test_each_beginning_of_a_token_is_held_back_whatever_stands_before_it(token: Token) -> None:
    for length in range(1, len(token)):
        for before in ("", "a", "<", "<|", "a" * 20, "é\n"):
            assert held_back(f"{before}{token[:length]}", 0) == token[:length]
    for whole in (token, f"{token[:-1]}x", f"{token}a"):
        assert held_back(whole, 0) == ""
    found = TOKEN.search(f"a{token}b")
    assert found and found[0] == token
    assert TOKEN.search(token[:-1]) is None and TOKEN.search(token[1:]) is None


def test_the_longest_beginning_is_one_character_shorter_than_the_longest_token() -> None:
    assert max(map(len, BEGINNINGS)) == MAX_BEGINNING_CHARS == len("<|endliteral|>") - 1


def test_nothing_before_the_given_position_is_held_back() -> None:
    assert [held_back("a<|en", position) for position in range(6)] == ["<|en", "<|en", "", "", "", ""]
    assert held_back("a<", 2) == ""
    assert held_back("", 0) == "" == held_back("a", 0)


def test_in_a_literal_block_only_its_end_is_held_back() -> None:
    among = beginnings("<|endliteral|>")
    assert [held_back(text, 0, among) for text in ("a<|end", "a<|en<", "a<|st", "a<|endliteral|", "a<|end|")] == [
        "<|end",
        "<",
        "",
        "<|endliteral|",
        "",
    ]
