"""The names of stored files, which a model chooses and users save, and the media types of their contents.

Names keep every emoji as a whole, and no other invisible character. Only pictures that cannot run anything and have a safe size are
displayed.
"""

import struct

import pytest

from chatui.store.file_names import MAX_CHARS, clean, shortened
from chatui.store.files import NewFile
from tests.chatui.store.pictures import claiming, png
from tests.support.cases import for_each
from tests.support.downloads import name_of

FAMILY = "\U0001f469\U0001f3fd\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
EMOJI = [FAMILY, "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f468", "\U0001f1f0\U0001f1f7", "\U0001f44b\U0001f3fd", "1\ufe0f\u20e3"]
EMOJI.append("\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f")


@for_each(EMOJI)
def test_a_long_name_is_not_cut_within_an_emoji(emoji: str) -> None:
    one = emoji
    for before in range(len(one) + 1):
        name = "x" * before + one * 100
        assert set(name_of(name).replace(one, "")) <= {"x"}
        assert set(clean(f"{name}.png").removesuffix(".png").replace(one, "")) <= {"x"}


def test_a_name_that_cannot_be_cut_between_letters_is_cut_anyway() -> None:
    assert shortened("e" + "\u0323" * 300, 80) == "e" + "\u0323" * 79


GIF = b"GIF89a" + struct.pack("<HH", 7, 5) + b"\0" * 20
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 5, 7) + b"\0" * 20
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 7, 5) + b"\0" * 8
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 6 | 4 << 14) + b"\0" * 8
EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x06\0\0\x04\0\0"
PICTURES = {"png": png(7, 5), "gif": GIF, "jpeg": JPEG, "webp": LOSSY, "webp lossless": LOSSLESS, "webp extended": EXTENDED}


def kind_of(data: bytes) -> tuple[str, int | None, int | None]:
    """The media type of a file, and a picture's width and height."""
    kind = NewFile.of("file", data).kind
    return kind.media_type, kind.width, kind.height


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_in_a_passive_format_is_shown(name: str) -> None:
    assert kind_of(PICTURES[name]) == (f"image/{name.split()[0]}", 7, 5)


@pytest.mark.parametrize(
    "data",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<!doctype html><script>alert(1)</script>",
        b'<?xml version="1.0"?><svg/>',
        b"GIF89a<script>"[3:],
        b" \x89PNG\r\n\x1a\n",
        b"%PDF-1.7 x",
        b"BM\0\0\0\0",
        b"",
    ],
)
def test_active_content_and_non_pictures_are_not_shown(data: bytes) -> None:
    media_type, width, _ = kind_of(data)
    assert width is None and not media_type.startswith("image/")


@pytest.mark.parametrize("size", [(30_000, 1), (1, 30_000), (10_000, 10_000), (0, 4), (2**32 - 1, 2**32 - 1)])
def test_a_picture_that_claims_to_be_huge_or_empty_is_not_shown(size: tuple[int, int]) -> None:
    assert kind_of(claiming(*size)) == ("image/png", None, None)
    assert kind_of(claiming(7, 5)) == ("image/png", 7, 5), "the premise"


@for_each([(name, end) for name, data in PICTURES.items() for end in range(len(data))])
def test_a_truncated_picture_is_no_error(name: str, end: int) -> None:
    assert len(kind_of(PICTURES[name][:end])) == 3


def test_other_files_have_a_plain_type_name() -> None:
    kinds = [kind_of(data)[0] for data in (b"a,b\n1,2\n", b"a\0b", b"\xff\xfe", b"%PDF-1.7\n", b"PK\x03\x04")]
    assert kinds == ["text/plain", "application/octet-stream", "application/octet-stream", "application/pdf", "application/zip"]


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
