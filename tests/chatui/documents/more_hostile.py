"""Generates more files meant to cost time, memory, the process or a secret: of every supported kind and some unsupported ones."""

import gzip
import io
import struct
import warnings
import zipfile

from pypdf import PdfReader, PdfWriter

from tests.chatui.documents import samples
from tests.chatui.documents.hostile import DOCTYPE, LAUGHS, SECRET, Made, flate, one_page, zeros, zipped_stream
from tests.chatui.documents.samples import packed, paragraph, pdf, shape, stream

_MAIN = "word/document.xml"
_WORDS = {"_rels/.rels": samples.relations(("r1", "officeDocument", _MAIN))}
_GOOD = samples.docx(paragraph("words"))


def zip_in_a_zip() -> Made:
    return "a.docx", samples.docx("", {_MAIN: _GOOD})


def zip_without_a_document() -> Made:
    return "a.docx", packed({"a.txt": "words"})


def zip_of_duplicates() -> Made:
    output = io.BytesIO(_GOOD)
    with warnings.catch_warnings(), zipfile.ZipFile(output, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(_MAIN, "<other/>")
    return "a.docx", output.getvalue()


def zip_with_path_traversal() -> Made:
    return "a.docx", samples.docx(paragraph("words"), {"../../../tmp/x": "x", "/etc/cron.d/x": "x", "C:\\x": "x", "a\r\nb": "x"})


def zip_with_a_symlink() -> Made:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        archive.writestr("_rels/.rels", _WORDS["_rels/.rels"])
        link = zipfile.ZipInfo(_MAIN)
        link.external_attr = 0o120777 << 16
        archive.writestr(link, SECRET)
    return "a.docx", output.getvalue()


def zip_of_many_entries() -> Made:
    return "a.docx", packed({**_WORDS, **{f"{n}": "" for n in range(5000)}}, zipfile.ZIP_STORED)


def zip_with_understated_size() -> Made:
    data = bytearray(zipped_stream(_MAIN, b"<w:document xmlns:w='x'>", 5_000_000, b" "))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 20)
    return "a.docx", bytes(data)


def zip_with_overstated_size() -> Made:
    data = bytearray(_GOOD)
    at = data.rindex(b"PK\x01\x02")
    data[at + 20 : at + 28] = struct.pack("<II", 0xFFFFFFF0, 0xFFFFFFF0)
    return "a.docx", bytes(data)


def zip64_with_false_sizes() -> Made:
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**62, 2**62, 2**63, 2**63)
    found = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(_GOOD), 1)
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return "a.docx", _GOOD + end + found + last


def zip_encrypted() -> Made:
    data = bytearray(_GOOD)
    for at in (data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8):
        data[at] |= 1
    return "a.docx", bytes(data)


def zip_with_unsupported_compression() -> Made:
    return "a.docx", packed({**_WORDS, _MAIN: "<x/>"}, zipfile.ZIP_LZMA)


def docx_named_odt() -> Made:
    return "a.odt", _GOOD


def docx_with_external_relation() -> Made:
    return "a.docx", packed({"_rels/.rels": samples.relations(("r1", "officeDocument", f"../../../..{SECRET}"))})


def docx_that_is_elsewhere() -> Made:
    away = samples.relations(("r1", "officeDocument", "http://127.0.0.1:1/x.xml"), outside=("r1",))
    return "a.docx", packed({"_rels/.rels": away, _MAIN: "<x/>"})


def docx_with_a_piece_from_elsewhere() -> Made:
    related = samples.relations(
        ("r9", "aFChunk", f"file://{SECRET}"), ("r8", "attachedTemplate", "http://127.0.0.1:1/x"), outside=("r8", "r9")
    )
    return "a.docx", samples.docx(paragraph("words") + '<w:altChunk r:id="r9" xmlns:r="x"/>', {"word/_rels/document.xml.rels": related})


def docx_with_entities_in_its_styles() -> Made:
    parameter = '<!DOCTYPE x [<!ENTITY % a "<!ENTITY b \'x\'>"><!ENTITY % c SYSTEM "http://127.0.0.1:1/x"> %a; %c;]><x/>'
    return "a.docx", samples.docx(paragraph("words"), {"word/styles.xml": parameter})


def docx_with_entities_in_utf_16() -> Made:
    return "a.docx", samples.docx("", {_MAIN: f'<?xml version="1.0" encoding="utf-16"?>{DOCTYPE}<x>&a;</x>'.encode("utf-16")})


def docx_in_utf_7() -> Made:
    return "a.docx", samples.docx("", {_MAIN: b'<?xml version="1.0" encoding="utf-7"?>+ADwAIQ-DOCTYPE x+AD4-<x/>'})


def docx_nested_a_million_deep() -> Made:
    return "a.docx", samples.docx("<w:p>" * 1_000_000)


def docx_of_attributes() -> Made:
    attributes = " ".join(f'a{n}="x"' for n in range(300_000))
    return "a.docx", samples.docx(f"<w:p {attributes}/>")


def docx_of_breaks() -> Made:
    return "a.docx", samples.docx("<w:r>" + "<w:br/>" * 6_000_000 + "</w:r>")


def xlsx_of_a_million_sheets() -> Made:
    book = "<workbook><sheets>" + "<sheet name='a'/>" * 1_000_000 + "</sheets></workbook>"
    return "a.xlsx", packed({"_rels/.rels": samples.relations(("r1", "officeDocument", "xl/b.xml")), "xl/b.xml": book}, zipfile.ZIP_STORED)


def xlsx_of_one_string_everywhere() -> Made:
    cells = "<row>" + "<c t='s'><v>0</v></c>" * 10_000 + "</row>"
    return "a.xlsx", samples.xlsx({"a": cells}, f"<si><t>{'long ' * 20_000}</t></si>")


def xlsx_of_a_million_strings() -> Made:
    return "a.xlsx", samples.xlsx({"a": ""}, "".join(f"<si><t>{n * 7919}</t></si>" for n in range(600_000)))


def xlsx_with_invalid_numbers() -> Made:
    rows = "".join(
        f'<row r="{row}"><c r="{cell}" s="{style}"><v>{value}</v></c><c t="s"><v>{value}</v></c></row>'
        for row, cell, style, value in (
            ("-1", "ZZZZ1", "9" * 5000, "nan"),
            ("9" * 5000, "A" * 5000, "-3", "1e999"),
            ("\u0661", "", "\u0661", "-1"),
        )
    )
    return "a.xlsx", samples.xlsx({"a": rows}, "", '<cellXfs><xf numFmtId="14"/><xf numFmtId="14"/></cellXfs>')


def pptx_with_thousands_of_slides() -> Made:
    return "a.pptx", samples.pptx([shape("words")] * 3000)


def pptx_with_one_slide_repeated() -> Made:
    again = "<p:presentation xmlns:p='x' xmlns:r='y/relationships'>" + "<p:sldId r:id='r1'/>" * 500_000 + "</p:presentation>"
    parts = {"_rels/.rels": samples.relations(("r1", "officeDocument", "ppt/p.xml")), "ppt/p.xml": again}
    parts["ppt/_rels/p.xml.rels"] = samples.relations(("r1", "slide", "s.xml"))
    return "a.pptx", packed({**parts, "ppt/s.xml": "<x>" + "<y/>" * 10_000 + "</x>"}, zipfile.ZIP_STORED)


def odt_of_repetitions() -> Made:
    times = 'table:number-columns-repeated="2147483647" table:number-rows-repeated="2147483647"'
    nines = "9" * 5000
    table = f"<table:table-row {times}><table:table-cell {times}><text:p>words</text:p></table:table-cell></table:table-row>"
    return "a.odt", samples.odt(f'{table * 3}<text:p>a<text:s text:c="2147483647"/>b<text:s text:c="{nines}"/></text:p>')


def odt_with_billion_laughs() -> Made:
    return "a.odt", samples.odt("<text:p>&a11;</text:p>", before=LAUGHS)


def odt_encrypted() -> Made:
    return "a.odt", samples.odt("", manifest="<file-entry><encryption-data/></file-entry>")


def pdf_encrypted(password: str = "a password") -> Made:
    output = io.BytesIO()
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(samples.pdf_of(["words"]))))
    writer.encrypt(password, "another password", algorithm="AES-256")
    writer.write(output)
    return "a.pdf", output.getvalue()


def pdf_with_circular_tables() -> Made:
    whole = samples.pdf_of(["words"])
    return "a.pdf", whole.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % whole.index(b"xref"))


def pdf_nested_a_million_deep() -> Made:
    return "a.pdf", pdf(["<< /Type /Catalog /Pages 2 0 R >>", "[" * 1_000_000])


def pdf_with_false_page_count() -> Made:
    return "a.pdf", pdf(["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 2147483647 /Kids [] >>"])


def pdf_with_one_page_repeated() -> Made:
    kids = "<< /Type /Pages /Count 90000 /Kids [" + "3 0 R " * 90_000 + "] >>"
    page = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>"
    return "a.pdf", pdf(["<< /Type /Catalog /Pages 2 0 R >>", kids, page, stream(b"BT (words) Tj ET")])


def pdf_of_a_character_map() -> Made:
    ranges = b"1 beginbfrange <0000> <ffffffff> <0041> endbfrange\n" * 50
    font = "<< /Type /Font /Subtype /Type0 /BaseFont /X /ToUnicode 7 0 R /Encoding /Identity-H /DescendantFonts [] >>"
    resources = "<< /Font << /F1 6 0 R >> >>"
    return "a.pdf", one_page(
        b"BT /F1 12 Tf <00010002> Tj ET", resources=resources, objects=(font, stream(b"begincmap\n" + ranges + b"endcmap"))
    )


def pdf_with_two_layers_of_lzw() -> Made:
    return "a.pdf", one_page(flate(zeros(90_000_000)), "/Filter [/FlateDecode /FlateDecode /LZWDecode /ASCII85Decode /RunLengthDecode]")


def pdf_with_file_links() -> Made:
    action = f"<< /S /Launch /F ({SECRET}) /URI (http://127.0.0.1:1/) >>"
    file = f"<< /Length 0 /F ({SECRET}) /FFilter /None >>\nstream\n\nendstream"
    page = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>"
    return "a.pdf", pdf(
        [f"<< /Type /Catalog /Pages 2 0 R /OpenAction {action} >>", "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", page, file]
    )


def pdf_and_zip_polyglot() -> Made:
    return "a.docx", samples.pdf_of(["words"]) + _GOOD


def gif_and_script_polyglot() -> Made:
    return "a.js", b"GIF89a/*" + bytes(10) + b"*/=1;alert(1)"


def rtf_of_one_name() -> Made:
    return "a.rtf", rb"{\rtf1 x{\*\atnauthor " + rb"\u65 a" * 700_000 + b"}}"


def rtf_of_edges() -> Made:
    row = rb"\trowd" + b"".join(rb"\cellx%d" % (7919 * n % 100_003) for n in range(200)) + rb"\intbl" + rb" a\cell" * 200 + rb"\row"
    return "a.rtf", rb"{\rtf1 " + row * 500 + b"}"


def html_nested_a_million_deep() -> Made:
    return "a.html", b"<div>" * 1_000_000 + b"x"


def html_of_brackets() -> Made:
    return "a.html", b"<" * 10_000_000


def html_of_attributes() -> Made:
    return "a.html", b"<p " + b" ".join(b"a%d=b" % n for n in range(300_000)) + b">x"


def html_of_tables() -> Made:
    return "a.html", b"<table><b>" * 100_000 + b"x"


def csv_of_one_line() -> Made:
    return "a.csv", "ü,".encode() * 6_600_000


def json_nested_a_million_deep() -> Made:
    return "a.json", b"[" * 1_000_000


def xml_with_billion_laughs() -> Made:
    return "a.xml", f"{LAUGHS}<x>&a11;</x>".encode()


def text_of_combining_marks() -> Made:
    return "a.txt", b"e" + "\u0301\u0323\u0307".encode() * 700_000


def text_of_invisible_characters() -> Made:
    return "a.txt", "a\u202e\U000e0041\u200b".encode() * 400_000


def text_of_null_bytes() -> Made:
    return "a.txt", b"words " * 2000 + bytes(1_000_000) + b"\x1b]0;x\x07 more"


def text_of_lone_surrogates() -> Made:
    return "a.txt", b"\xff\xfe" + b"a\0" + b"\x00\xd8" * 100_000 + b"b\0\x00"


def text_in_invalid_utf_32() -> Made:
    return "a.txt", b"\xff\xfe\0\0" + b"\xff" * 100_000


def gzip_named_txt() -> Made:
    return "a.txt", gzip.compress(bytes(5_000_000))


def program_named_to_look_harmless() -> Made:
    return "invoice\u202efdp.exe", b"MZ\x90\0" + bytes(200)
