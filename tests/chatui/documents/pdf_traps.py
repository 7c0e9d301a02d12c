"""PDF files with traps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import samples
from tests.chatui.documents.traps import Trap


def page(
    content: str, more: str = "", objects: Sequence[str | bytes] = (), of_root: str = "", resources: str = "", fonts: str = ""
) -> bytes:
    """A PDF of one page. ``more``: entries of the page. ``objects``: numbered from 6. ``of_root``: entries of the catalogue. ``fonts``:
    further ones."""
    used = f"/Font << /F 5 0 R {fonts} >> {resources}"
    return samples.pdf(
        [
            f"<< /Type /Catalog /Pages 2 0 R {of_root} >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << {used} >> {more} >>",
            samples.stream(content.encode("cp1252")),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
            *objects,
        ]
    )


def at(x: float, y: float, text: str, size: float = 10) -> str:
    return f"BT /F {size} Tf {x} {y} Td ({text}) Tj ET "


def note(kind: str, more: str, box: str = "100 600 300 620") -> str:
    return f"<< /Type /Annot /Subtype /{kind} /Rect [{box}] {more} >>"


def with_notes(content: str, *notes: str, of_root: str = "") -> bytes:
    references = " ".join(f"{6 + number} 0 R" for number in range(len(notes)))
    return page(content, f"/Annots [{references}]", notes, of_root)


def of_a_code_map(name: str, text: bytes) -> bytes:
    """A text in a font that is not in the file; its codes are in a map that the format predefines."""
    inside = "/Type /Font /Subtype /CIDFontType0 /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering (X) /Supplement 0 >> /DW 1000"
    font = f"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /{name} /DescendantFonts [<< {inside} >>] >>"
    return page(at(60, 750, "before") + f"BT /K 12 Tf 60 700 Td <{text.hex()}> Tj ET", objects=[font], fonts="/K 6 0 R")


LONG = ["The first column tells of", "a house that stood by the", "sea for many years before", "it fell."]
OTHER = ["Another story begins here", "with a man who never knew", "why the lamp was lit each", "night."]
LAYERS = "/OCProperties << /OCGs [6 0 R 7 0 R] /D << /OFF [7 0 R] >> >>"
PDF = {
    "empty cells": Trap(
        "a.pdf",
        lambda: page(
            "".join(
                at(x, 700 - 14 * row, text)
                for row, cells in enumerate([["Item", "Qty", "Price"], ["Tea", "", "1.50"], ["Milk", "2", "3.00"], ["Rent", "7", ""]])
                for x, text in zip((50, 200, 260), cells, strict=True)
                if text
            )
        ),
        ("Item\tQty\tPrice\nTea\t\t1.50\nMilk\t2\t3.00\nRent\t7",),
    ),
    "right-aligned numbers": Trap(
        "a.pdf",
        lambda: page(
            at(50, 700, "Account")
            + at(190, 700, "2025")
            + at(290, 700, "2026")
            + at(50, 686, "Rent")
            + at(284, 686, "12,500")
            + at(50, 672, "Total of all the accounts")
            + at(195, 672, "300")
            + at(301, 672, "7")
        ),
        ("Account\t2025\t2026\nRent\t\t12,500\nTotal of all the accounts\t300\t7",),
    ),
    "narrow columns": Trap(
        "a.pdf",
        lambda: page(
            at(50, 714, "Item")
            + at(75, 714, "2025")
            + at(102, 714, "2026")
            + at(50, 700, "Rent")
            + at(102, 700, "1200")
            + at(50, 686, "Sum")
            + at(110, 686, "7")
        ),
        ("Item\t2025\t2026\nRent\t\t1200\nSum\t\t7",),
    ),
    "a heading over two columns": Trap(
        "a.pdf",
        lambda: page(
            at(50, 714, "Item")
            + at(200, 714, "Price in 2026 and later")
            + at(50, 700, "x")
            + at(200, 700, "net")
            + at(290, 700, "gross")
            + at(50, 686, "Tea")
            + at(200, 686, "1")
            + at(290, 686, "2")
        ),
        ("Item\tPrice in 2026 and later\tPrice in 2026 and later\nx\tnet\tgross\nTea\t1\t2",),
    ),
    "two columns of text": Trap(
        "a.pdf",
        lambda: page(
            "".join(at(50, 700 - 12 * n, t) for n, t in enumerate(LONG)) + "".join(at(300, 700 - 12 * n, t) for n, t in enumerate(OTHER))
        ),
        ("\n".join(LONG), "\n".join(OTHER)),
    ),
    **{
        f"the code map {name}": Trap("a.pdf", partial(of_a_code_map, name, text.encode(codec)), (f"before\n\n{text}",))
        for name, codec, text in (
            ("UniKS-UCS2-H", "utf-16-be", "안녕 세계"),
            ("UniJIS-UTF16-H", "utf-16-be", "日本語"),
            ("UniJIS-UCS2-HW-H", "utf-16-be", "日本語"),
            ("KSCms-UHC-H", "cp949", "안녕 세계"),
            ("EUC-H", "euc_jp", "日本語"),
            ("UniGB-UTF32-H", "utf-32-be", "中文"),
        )
    },
    "codes that are numbers of glyphs": Trap(
        "a.pdf", partial(of_a_code_map, "Identity-H", b"\0\x24\0\x25"), ("before",), ("$", "%"), {UnreadThing.CHARACTER: 2}
    ),
    "a raised digit that is little smaller": Trap(
        "a.pdf",
        lambda: page(at(60, 700, "H", 12) + at(68.7, 694.7, "2", 10.67) + at(74.6, 700, "O", 12)),
        ("H₂O",),
    ),
    "raised digits": Trap(
        "a.pdf",
        lambda: page(
            "BT /F 12 Tf 50 700 Td (10) Tj 5 Ts /F 8 Tf (6) Tj 0 Ts /F 12 Tf ( units) Tj ET BT /F 12 Tf 50 660 Td (CO) Tj ET "
            "BT /F 8 Tf 67.5 657 Td (2) Tj ET BT /F 12 Tf 72 660 Td ( gas) Tj ET"
        ),
        ("10⁶ units", "CO₂ gas"),
    ),
    "a raised mark beyond a line": Trap(
        "a.pdf", lambda: page(at(50, 700, "big", 30) + at(50, 670, "small", 9)), ("big\n", "small"), ("^",)
    ),
    "links": Trap(
        "a.pdf",
        lambda: with_notes(
            at(50, 700, "Read the rules before") + at(50, 680, "www"),
            note("Link", "/A << /S /URI /URI (https://example.org/r) >>", "73 695 113 712"),
            note("Link", "/A << /S /URI /URI (https://example.org/alone) >>", "400 100 420 120"),
        ),
        ("Read [the rules](https://example.org/r) before", "[Link: https://example.org/alone]"),
    ),
    "form": Trap(
        "a.pdf",
        lambda: with_notes(
            at(50, 700, "Surname:") + at(50, 680, "Country:") + at(70, 660, "I agree") + at(70, 640, "No news") + at(50, 620, "Code:"),
            note("Widget", "/FT /Tx /T (s) /V (Lovelace)", "120 695 300 712"),
            note("Widget", "/FT /Ch /T (c) /V (pt) /Opt [[(pt) (Portugal)] [(de) (Germany)]]", "120 675 300 692"),
            note("Widget", "/FT /Btn /T (a) /AS /Yes", "50 658 60 668"),
            note("Widget", "/FT /Btn /T (n) /AS /Off", "50 638 60 648"),
            note("Widget", "/FT /Tx /T (p) /Ff 8192 /V (hunter2)", "120 615 300 632"),
        ),
        ("Surname:\tLovelace", "Country:\tPortugal", "☒ I agree", "☐ No news", "[a password]"),
        ("hunter2",),
    ),
    "fields that inherit": Trap(
        "a.pdf",
        lambda: page(
            at(50, 700, "Name:"),
            "/Annots [6 0 R]",
            [note("Widget", "/Parent 7 0 R", "120 695 300 712"), "<< /FT /Tx /T (n) /V <FEFF0416> /Kids [6 0 R] >>"],
        ),
        ("Name:\tЖ",),
    ),
    "comments and stamps": Trap(
        "a.pdf",
        lambda: with_notes(
            at(50, 700, "Plan"),
            note("Text", "/Contents (Check the price) /T (Ann)"),
            note("FreeText", "/Contents (The roof is blue)"),
            note("Stamp", "/Name /Approved"),
            note("Highlight", ""),
            note("Popup", "/Contents (TWICE)"),
        ),
        ("[Comment by Ann: Check the price]", "[Written on the page: The roof is blue]", "[Stamp: Approved]"),
        ("TWICE",),
    ),
    "struck out": Trap(
        "a.pdf",
        lambda: with_notes(at(50, 700, "Price 100 EUR 250 EUR"), note("StrikeOut", "/QuadPoints [76 710 117 710 76 697 117 697]")),
        ("Price ~~100 EUR~~ 250 EUR",),
    ),
    "hidden notes": Trap(
        "a.pdf",
        lambda: with_notes(at(50, 700, "Plan"), note("Text", "/F 2 /Contents (SECRET)"), note("Widget", "/F 32 /FT /Tx /V (SECRET)")),
        ("Plan",),
        ("SECRET",),
    ),
    "attached files": Trap(
        "a.pdf",
        lambda: page(
            at(50, 700, "See the invoice"),
            "/Annots [8 0 R]",
            [
                "<< /Type /Filespec /F (invoice.xml) /UF (invoice.xml) /EF << /F 7 0 R >> >>",
                samples.stream(b"<total>100</total>"),
                note("FileAttachment", "/FS << /Type /Filespec /F (plan.dwg) >>"),
            ],
            "/Names << /EmbeddedFiles << /Names [(invoice.xml) 6 0 R] >> >>",
        ),
        ("[Attached file: invoice.xml]", "[Attached file: plan.dwg]"),
    ),
    "layers": Trap(
        "a.pdf",
        lambda: page(
            f"/OC /A BDC {at(50, 700, 'English')} EMC /OC /B BDC {at(50, 680, 'SECRET')} /X BMC {at(50, 660, 'SECRET')} EMC EMC "
            f"{at(50, 640, 'end')} /G Do",
            objects=[
                "<< /Type /OCG /Name (on) >>",
                "<< /Type /OCG /Name (off) >>",
                samples.stream(at(9, 9, "SECRET").encode(), "/Subtype /Form /OC 7 0 R"),
            ],
            of_root=LAYERS,
            resources="/Properties << /A 6 0 R /B 7 0 R >> /XObject << /G 8 0 R >>",
        ),
        ("English", "end"),
        ("SECRET",),
        {UnreadThing.LAYER: 1},
    ),
    "replaced and invisible text": Trap(
        "a.pdf",
        lambda: page(
            f"/Span << /ActualText (difficult) >> BDC {at(50, 700, 'di-cult')} EMC "
            f"3 Tr {at(50, 680, 'SECRET')} 0 Tr {at(50, 900, 'SECRET')}"
        ),
        ("difficult",),
        ("SECRET", "di-cult"),
    ),
    "recognized scan": Trap(
        "a.pdf",
        lambda: page(
            f"q 595 0 0 842 0 0 cm /I Do Q 3 Tr {at(50, 700, 'recognized words')}",
            objects=[samples.stream(b"\0", "/Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8")],
            resources="/XObject << /I 6 0 R >>",
        ),
        ("recognized words",),
        counts={UnreadThing.PICTURE: 1},
    ),
    "bold by drawing twice": Trap("a.pdf", lambda: page(at(50, 700, "once") + at(50.2, 700, "once")), ("once",), ("onceonce", "once once")),
    "turned text": Trap(
        "a.pdf",
        lambda: page("BT /F 12 Tf 0 1 -1 0 100 100 Tm (Vertical words) Tj ET " + at(50, 700, "Normal words are here")),
        ("Normal words are here\n\nVertical words",),
    ),
    "a form that is drawn": Trap(
        "a.pdf",
        lambda: page(
            at(50, 700, "outside") + "/G Do",
            objects=[samples.stream(at(50, 0, "inside").encode(), "/Subtype /Form /Matrix [1 0 0 1 0 650]")],
            resources="/XObject << /G 6 0 R >>",
        ),
        ("outside", "inside"),
    ),
    "kerned words": Trap("a.pdf", lambda: page("BT /F 10 Tf 50 700 Td [(W)80(orld)-250(of)-250(A)40(V)40(A)] TJ ET"), ("World of AVA",)),
}
