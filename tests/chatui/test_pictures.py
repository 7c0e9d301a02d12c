"""Small pictures that somebody sent: what is refused, and that of the others only the pixels are kept."""

import random
import struct
import tracemalloc
import zlib

import pytest

from chatui.pictures import MAX_BYTES, MAX_SIDE, PictureError, PictureFault, only_pixels
from tests.chatui.store.pictures import head, joined, png
from tests.support.cases import example_count

END = (b"IEND", b"")
PALETTE = (b"PLTE", bytes(range(12)))
SECRET = b"Taken at home by Ada"
BROKEN, KIND, LARGE = PictureFault.BROKEN, PictureFault.KIND, PictureFault.LARGE


def pixels(rows: bytes) -> tuple[bytes, bytes]:
    return b"IDAT", zlib.compress(rows)


WHITE = pixels(b"\0\xff\xff\xff")
"""Of a picture of one RGB pixel."""
FOUR = pixels(b"\0\0\1\2\3")
"""Of a line of four pixels with a palette."""


def movement(kind: bytes) -> bytes:
    return joined(head(1, 1), (kind, bytes(26)), WHITE, END)


def noise(width: int, height: int) -> bytes:
    """The hardest picture to write in few bytes."""
    chance = random.Random(3)
    return joined(head(width, height), pixels(b"".join(b"\0" + chance.randbytes(width * 3) for _ in range(height))), END)


FILTERED = b"\0\1\0\1\1\0\2\1\1\3\0\0\4\0\2"
"""Rows of two pixels, with each of the filters; the last pixel is 3."""

HOSTILE = {
    "nothing": (b"", KIND),
    "a vector drawing": (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", KIND),
    "a web page": (b"<!doctype html><script>alert(1)</script>", KIND),
    "a JPEG": (b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(40), KIND),
    "a GIF": (b"GIF89a" + bytes(40), KIND),
    "something before its beginning": (b"\n" + png(), KIND),
    "the signature alone": (png()[:8], BROKEN),
    "16 bits": (joined(head(1, 1, bits=16), pixels(bytes(7)), END), KIND),
    "pixels of one bit": (joined(head(8, 1, bits=1, colour=0), pixels(b"\0\xff"), END), KIND),
    "interlaced": (joined(head(1, 1, interlace=1), WHITE, END), KIND),
    "it moves, by its control": (movement(b"acTL"), KIND),
    "it moves, by a frame's control": (movement(b"fcTL"), KIND),
    "it moves, by a frame": (movement(b"fdAT"), KIND),
    "no width": (joined(head(0, 1), pixels(b"\0"), END), BROKEN),
    "no height": (joined(head(1, 0), pixels(b""), END), BROKEN),
    "one pixel too wide": (png(MAX_SIDE + 1), LARGE),
    "one pixel too high": (png(1, MAX_SIDE + 1), LARGE),
    "as large as the format allows": (joined(head(2**31 - 1, 2**31 - 1), pixels(bytes(1000)), END), LARGE),
    "one byte too long": (joined(head(1, 1), (b"tEXt", bytes(MAX_BYTES - len(png()) - 11)), WHITE, END), LARGE),
    "too many bytes of pixels": (noise(MAX_SIDE, MAX_SIDE), LARGE),
    "an unknown colour": (joined(head(1, 1, colour=5), WHITE, END), BROKEN),
    "another compression": (joined((b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 1, 0, 0)), WHITE, END), BROKEN),
    "other filters": (joined((b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 1, 0)), WHITE, END), BROKEN),
    "a short header": (joined((b"IHDR", head(1, 1)[1][:12]), WHITE, END), BROKEN),
    "a long header": (joined((b"IHDR", head(1, 1)[1] + b"\0"), WHITE, END), BROKEN),
    "no header": (joined(WHITE, END), BROKEN),
    "two headers": (joined(head(1, 1), head(1, 1), WHITE, END), BROKEN),
    "a second header behind the pixels": (joined(head(1, 1), WHITE, head(1, 1), END), BROKEN),
    "something before the header": (joined((b"tEXt", b"a\0b"), head(1, 1), WHITE, END), BROKEN),
    "no pixels": (joined(head(1, 1), END), BROKEN),
    "no end": (joined(head(1, 1), WHITE), BROKEN),
    "an end with something in it": (joined(head(1, 1), WHITE, (b"IEND", b"\0")), BROKEN),
    "two ends": (joined(head(1, 1), WHITE, END, END), BROKEN),
    "a chunk behind the end": (joined(head(1, 1), WHITE, END, (b"tEXt", SECRET)), BROKEN),
    "a byte behind the end": (png() + b"\0", BROKEN),
    "an archive behind the end": (png() + b"PK\x03\x04" + bytes(60), BROKEN),
    "a page behind the end": (png() + b"<script>alert(1)</script>", BROKEN),
    "pixels in two places": (joined(head(1, 1), (b"IDAT", WHITE[1][:4]), (b"tEXt", b"a\0b"), (b"IDAT", WHITE[1][4:]), END), BROKEN),
    "a chunk that has to be understood": (joined(head(1, 1), (b"EVIL", b""), WHITE, END), BROKEN),
    "a chunk whose name is none": (joined(head(1, 1), (b"a\n\0.", b""), WHITE, END), BROKEN),
    "a chunk that is longer than the file": (png()[:8] + b"\xff\xff\xff\xff" + png()[12:], BROKEN),
    "a wrong checksum": (png()[:-1] + bytes([png()[-1] ^ 1]), BROKEN),
    "a wrong checksum of the pixels": (png()[:-13] + bytes([png()[-13] ^ 1]) + png()[-12:], BROKEN),
    "no compressed data": (joined(head(1, 1), (b"IDAT", b"\0\xff\xff\xff"), END), BROKEN),
    "compressed data that is cut": (joined(head(1, 1), (b"IDAT", WHITE[1][:-1]), END), BROKEN),
    "a wrong sum of the compressed data": (joined(head(1, 1), (b"IDAT", WHITE[1][:-1] + b"\0"), END), BROKEN),
    "something behind the compressed data": (joined(head(1, 1), (b"IDAT", WHITE[1] + SECRET), END), BROKEN),
    "a byte too few": (joined(head(1, 1), pixels(b"\0\xff\xff"), END), BROKEN),
    "a byte too many": (joined(head(1, 1), pixels(b"\0\xff\xff\xff\0"), END), BROKEN),
    "a bomb": (joined(head(1, 1), pixels(bytes(20_000_000)), END), BROKEN),
    "a filter that does not exist": (joined(head(1, 1), pixels(b"\5\xff\xff\xff"), END), BROKEN),
    "a palette without colours": (joined(head(4, 1, colour=3), (b"PLTE", b""), FOUR, END), BROKEN),
    "no palette": (joined(head(4, 1, colour=3), FOUR, END), BROKEN),
    "a palette of parts of colours": (joined(head(4, 1, colour=3), (b"PLTE", bytes(13)), FOUR, END), BROKEN),
    "a palette of too many colours": (joined(head(4, 1, colour=3), (b"PLTE", bytes(257 * 3)), FOUR, END), BROKEN),
    "a colour that is not in the palette": (joined(head(4, 1, colour=3), (b"PLTE", bytes(9)), FOUR, END), BROKEN),
    "one by its filter": (joined(head(4, 1, colour=3), PALETTE, pixels(b"\1\1\1\1\1"), END), BROKEN),
    "one by all filters": (joined(head(2, 5, colour=3), PALETTE, pixels(FILTERED[:-1] + b"\3"), END), BROKEN),
    "two palettes": (joined(head(4, 1, colour=3), PALETTE, PALETTE, FOUR, END), BROKEN),
    "a palette behind the pixels": (joined(head(4, 1, colour=3), FOUR, PALETTE, END), BROKEN),
    "more transparency than colours": (joined(head(4, 1, colour=3), PALETTE, (b"tRNS", bytes(5)), FOUR, END), BROKEN),
    "two transparencies": (joined(head(4, 1, colour=3), PALETTE, (b"tRNS", b"\0"), (b"tRNS", b"\0"), FOUR, END), BROKEN),
    "transparency before the palette": (joined(head(4, 1, colour=3), (b"tRNS", b"\0"), PALETTE, FOUR, END), BROKEN),
    "transparency of half a colour": (joined(head(1, 1), (b"tRNS", bytes(5)), WHITE, END), BROKEN),
    "transparency beyond 8 bits": (joined(head(1, 1), (b"tRNS", b"\1" * 6), WHITE, END), BROKEN),
    "transparency beside transparency": (joined(head(1, 1, colour=6), (b"tRNS", bytes(6)), pixels(bytes(5)), END), BROKEN),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_small_picture_is_refused(name: str) -> None:
    data, fault = HOSTILE[name]
    with pytest.raises(PictureError) as refused:
        only_pixels(data)
    assert refused.value.fault == fault


KINDS = {
    "grey": (joined(head(2, 1, colour=0), pixels(b"\0\1\2"), END), b"\0\1\2"),
    "grey with a transparent shade": (joined(head(2, 1, colour=0), (b"tRNS", b"\0\1"), pixels(b"\0\1\2"), END), b"\0\1\2"),
    "colours": (joined(head(1, 1), WHITE, END), b"\0\xff\xff\xff"),
    "colours with a transparent one": (joined(head(1, 1), (b"tRNS", b"\0\n\0\xff\0\0"), WHITE, END), b"\0\xff\xff\xff"),
    "a palette": (joined(head(4, 1, colour=3), PALETTE, (b"tRNS", b"\0\x80"), FOUR, END), b"\0\0\1\2\3"),
    "grey and alpha": (joined(head(1, 1, colour=4), pixels(b"\0\1\2"), END), b"\0\1\2"),
    "colours and alpha": (joined(head(1, 1, colour=6), pixels(b"\0\1\2\3\4"), END), b"\0\1\2\3\4"),
    "the largest": (png(MAX_SIDE, MAX_SIDE), (b"\0" + b"\x90\x77\x53" * MAX_SIDE) * MAX_SIDE),
    "all filters": (joined(head(1, 5, colour=0), pixels(b"\0\1\1\1\2\1\3\1\4\1"), END), b"\0\1\1\1\2\1\3\1\4\1"),
    "a palette by all filters": (joined(head(2, 5, colour=3), PALETTE, pixels(FILTERED), END), FILTERED),
    "pixels in pieces": (joined(head(1, 1), (b"IDAT", WHITE[1][:1]), (b"IDAT", b""), (b"IDAT", WHITE[1][1:]), END), b"\0\xff\xff\xff"),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_small_picture_keeps_its_pixels(name: str) -> None:
    data, rows = KINDS[name]
    written = only_pixels(data)
    chunks = chunks_of(written)
    assert zlib.decompress(chunks.pop(b"IDAT")) == rows
    assert chunks == {kind: body for kind, body in chunks_of(data).items() if kind != b"IDAT"}
    assert only_pixels(written) == written


def chunks_of(data: bytes) -> dict[bytes, bytes]:
    """The body of each kind of chunk, joined."""
    found: dict[bytes, bytes] = {}
    at = 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind = data[at + 4 : at + 8]
        found[kind] = found.get(kind, b"") + data[at + 8 : at + 8 + length]
        at += length + 12
    return found


LEFT_OUT = [
    name.encode()
    for name in ["tEXt", "zTXt", "iTXt", "eXIf", "iCCP", "gAMA", "cHRM", "sRGB", "pHYs", "tIME", "bKGD", "hIST", "sPLT", "caNv", "meTa"]
]


def test_nothing_but_pixels_is_kept() -> None:
    beside = [(kind, SECRET) for kind in LEFT_OUT]
    dirty = joined(head(4, 1, colour=3), *beside, PALETTE, *beside, (b"tRNS", b"\0\1\2"), *beside, FOUR, *beside, END)
    assert only_pixels(dirty) == only_pixels(joined(head(4, 1, colour=3), PALETTE, (b"tRNS", b"\0\1\2"), FOUR, END))
    assert SECRET not in only_pixels(dirty)
    true = joined(head(1, 1), (b"PLTE", SECRET + b"!"), WHITE, END)
    assert only_pixels(true) == only_pixels(joined(head(1, 1), WHITE, END)), "colours that no pixel can use"


def test_colours_that_no_pixel_uses_are_left_out_behind_the_last_used_one() -> None:
    colours = (b"PLTE", bytes(6) + SECRET + b"!")
    kept = chunks_of(only_pixels(joined(head(4, 1, colour=3), colours, (b"tRNS", b"\1\2\3\4"), pixels(b"\0\1\0\1\0"), END)))
    assert (kept[b"PLTE"], kept[b"tRNS"]) == (bytes(6), b"\1\2")


def test_any_cut_and_any_changed_byte_is_refused_or_leaves_a_picture() -> None:
    whole = joined(head(4, 1, colour=3), PALETTE, (b"tRNS", b"\0"), FOUR, END)
    for length in range(len(whole)):
        with pytest.raises(PictureError):
            only_pixels(whole[:length])
    chance = random.Random(7)
    for _ in range(example_count(2_000)):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        with pytest.raises(PictureError):
            only_pixels(bytes(damaged))


def test_a_bomb_takes_no_memory() -> None:
    bomb = HOSTILE["a bomb"][0]
    assert len(bomb) < MAX_BYTES, "the premise"
    tracemalloc.start()
    try:
        with pytest.raises(PictureError):
            only_pixels(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
