"""Generates the files that document libraries were evaluated with: some ordinary, most made to exhaust time, memory or the process."""

import io
import zipfile
import zlib

from tests.chatui.documents import samples
from tests.chatui.documents.samples import paragraph, pdf, stream

Made = tuple[str, bytes]
_FONT = "<< /Font << /F1 5 0 R >> >>"
SECRET = "/etc/passwd"
DOCTYPE = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{SECRET}">]>'
LAUGHS = "<!DOCTYPE x [<!ENTITY a0 'ha'>" + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)) + "]>"


def flate(data: bytes, layers: int = 1) -> bytes:
    """Deflate data ``times`` times."""
    for _ in range(layers):
        data = zlib.compress(data, 9)
    return data


def zeros(size: int, before: bytes = b"", fill: bytes = b" ") -> bytes:
    """That many equal bytes, deflated without ever being in memory as a whole."""
    packer = zlib.compressobj(1)
    begin = packer.compress(before)
    block = fill * 1_000_000
    return begin + b"".join(packer.compress(block) for _ in range(size // 1_000_000)) + packer.flush()


def one_page(contents: bytes, more: str = "", resources: str = _FONT, objects: tuple[str | bytes, ...] = ()) -> bytes:
    """A PDF of one page. ``contents``: its content stream. Further objects begin with number 6."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources {resources} >>"
    kids = "<< /Type /Pages /Count 1 /Kids [3 0 R] >>"
    return pdf(["<< /Type /Catalog /Pages 2 0 R >>", kids, page, stream(contents, more), font, *objects])


def hundred_pages() -> Made:
    return "a.pdf", samples.pdf_of(["some words of a page " * 140] * 100)


def many_pages() -> Made:
    return "a.pdf", samples.pdf_of(["some words of a page " * 10] * 10_000)


def pdf_stream_bomb() -> Made:
    return "a.pdf", one_page(zeros(200_000_000), "/Filter /FlateDecode")


def pdf_nested_bomb() -> Made:
    return "a.pdf", one_page(flate(zeros(100_000_000), 2), "/Filter [/FlateDecode /FlateDecode /FlateDecode]")


def pdf_pages_in_a_circle() -> Made:
    above, below = "<< /Type /Pages /Count 9 /Kids [2 0 R 3 0 R] >>", "<< /Type /Pages /Kids [2 0 R] >>"
    return "a.pdf", pdf(["<< /Type /Catalog /Pages 2 0 R >>", above, below])


def pdf_doubling_forms() -> Made:
    forms: list[str | bytes] = []
    for number in range(6, 32):
        resources = f"/Resources << /XObject << /X {number + 1} 0 R >> >>" if number < 31 else ""
        forms.append(stream(b"/X Do /X Do" if number < 31 else b"", f"/Type /XObject /Subtype /Form /BBox [0 0 1 1] {resources}"))
    return "a.pdf", one_page(b"/X Do", resources="<< /XObject << /X 6 0 R >> >>", objects=tuple(forms))


def pdf_many_operators() -> Made:
    return "a.pdf", one_page(flate(b"BT /F1 12 Tf " + b"(a) Tj " * 3_000_000 + b"ET"), "/Filter /FlateDecode")


def pdf_truncated() -> Made:
    return "a.pdf", samples.pdf_of(["words"] * 20)[:1500]


def docx_of_500() -> Made:
    return "a.docx", samples.docx(paragraph("some words of a paragraph") * 500)


def docx_one_node() -> Made:
    return "a.docx", zipped_stream("word/document.xml", b'<w:document xmlns:w="x"><w:body><w:p><w:t>', 220_000_000, b"a")


def docx_two_million_paragraphs() -> Made:
    return "a.docx", samples.docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 2_000_000)


def docx_external_entity() -> Made:
    return "a.docx", samples.docx(paragraph("&a;"), before=DOCTYPE)


def docx_entity_bomb() -> Made:
    return "a.docx", samples.docx(paragraph("&a11;"), before=LAUGHS)


def xlsx_of_2000() -> Made:
    return "a.xlsx", samples.xlsx({"a": "<row><c><v>1.5</v></c><c><v>2</v></c></row>" * 2000})


def xlsx_far_cell() -> Made:
    return "a.xlsx", samples.xlsx({"a": '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'})


def xlsx_two_million_cells() -> Made:
    return "a.xlsx", samples.xlsx({"a": f"<row>{'<c><v>1</v></c>' * 100}</row>" * 20_000})


def xlsx_external_entity() -> Made:
    return "a.xlsx", samples.xlsx({"a": "<row><c t='inlineStr'><is><t>&a;</t></is></c></row>"}, before=DOCTYPE)


def zipped_stream(name: str, before: bytes, size: int, fill: bytes) -> bytes:
    """A DOCX document with an entry that unpacks to that many bytes."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", samples.relations(("r1", "officeDocument", "word/document.xml")))
        with archive.open(name, "w") as entry:
            entry.write(before)
            for _ in range(size // 1_000_000):
                entry.write(fill * 1_000_000)
    return output.getvalue()
