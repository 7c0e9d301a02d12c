"""Sanitizing names of stored files: a model chooses them, and users save them."""

from __future__ import annotations

import pytest

from chatui.store.file_names import MAX_CHARS, clean


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("plot.png", "plot.png"),
        ("Übersicht 2026.csv", "Übersicht 2026.csv"),
        ("그림.png", "그림.png"),
        ("results/plot.png", "results_plot.png"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..\\..\\boot.ini", "_.._boot.ini"),
        ("/", "_"),
        ("a\x00b\x1b[2Jc\r\n\td.txt", "ab[2Jc d.txt"),
        ("exe\u202egnp.bin", "exegnp.bin"),
        ("a\u200b\u2066b\ufeff.txt", "ab.txt"),
        ('<img src="x">.png', "_img src=_x_.png"),
        ("e\u0301.txt", "é.txt"),
        (".bashrc", "bashrc"),
        ("name. . .", "name"),
        ("con.txt", "file_con.txt"),
        ("LPT1", "file_LPT1"),
        ("", "file"),
        ("...", "file"),
        ("\ud800.txt", "txt"),
    ],
)
def test_a_name_is_one_path_component_without_invisible_characters(given: str, cleaned: str) -> None:
    assert clean(given) == cleaned


def test_a_shortened_name_keeps_a_real_extension() -> None:
    assert clean("x" * 300 + ".csv") == "x" * (MAX_CHARS - 4) + ".csv"
    assert clean("x." + "y" * 300) == "x." + "y" * (MAX_CHARS - 2)


def test_a_clean_name_is_unchanged() -> None:
    assert [clean(clean(name)) for name in ("a/b.png", "con.txt", "x" * 300)] == [clean(name) for name in ("a/b.png", "con.txt", "x" * 300)]
