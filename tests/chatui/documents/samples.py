"""Generates small ordinary documents of every kind by hand, so that every byte is known."""

import io
import zipfile
from collections.abc import Mapping, Sequence

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MODE = ' TargetMode="External"'
_SHEET = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{_RELATION}"'
_SLIDE = (
    f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{_RELATION}" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)
_UNSHOWN = ' show="0"'
_ODT = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" '
    'xmlns:form="urn:oasis:names:tc:opendocument:xmlns:form:1.0" xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"'
)


def packed(entries: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive with these entries."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return output.getvalue()


def backslashed(archive: bytes) -> bytes:
    """An archive whose names have backslashes, as some programs write them."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return packed({name.replace("/", "\\"): opened.read(name) for name in opened.namelist()})


def relations(*related: tuple[str, str, str], outside: Sequence[str] = ()) -> str:
    """Id, type and target of each relation; ``outside``: ids of external ones."""
    rows = "".join(
        f'<Relationship Id="{key}" Type="{_RELATION}/{kind}" Target="{target}"{_MODE if key in outside else ""}/>'
        for key, kind, target in related
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{rows}</Relationships>'


def paragraph(text: str, properties: str = "", of_run: str = "") -> str:
    """A paragraph of a DOCX document."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{of_run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str, more: Mapping[str, str | bytes] | None = None, before: str = "") -> bytes:
    """``body``: paragraphs. ``more``: further entries, or replacements of the usual ones. ``before``: text before the root element."""
    styles = "".join(f'<w:style w:styleId="berschrift{n}"><w:name w:val="heading {n}"/></w:style>' for n in (1, 2))
    return packed(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": relations(("r1", "styles", "styles.xml"), ("r2", "footnotes", "footnotes.xml")),
            "word/styles.xml": f"<w:styles {_WORD}>{styles}</w:styles>",
            "word/document.xml": f"{before}<w:document {_WORD}><w:body>{body}</w:body></w:document>",
            **(more or {}),
        }
    )


def styles(content: str) -> dict[str, str]:
    """The entry for the styles of a DOCX document."""
    return {"word/styles.xml": f"<w:styles {_WORD}>{content}</w:styles>"}


def footnotes(body: str) -> str:
    """The entry for the footnotes of a DOCX document."""
    return f"<w:footnotes {_WORD}>{body}</w:footnotes>"


def xlsx(
    sheets: Mapping[str, str],
    strings: str = "",
    styles: str = "",
    before: str = "",
    states: Mapping[str, str] | None = None,
    more: Mapping[str, str | bytes] | None = None,
    parts: Sequence[tuple[str, str, str]] = (),
) -> bytes:
    """``sheets``: rows by name. ``strings``, ``styles``: the contents of those entries. ``states``: of hidden sheets, by name. ``more``:
    further entries. ``parts``: further relationships of the workbook."""
    shown = {name: f' state="{state}"' for name, state in (states or {}).items()}
    names = "".join(f'<sheet name="{name}" sheetId="{n}"{shown.get(name, "")} r:id="r{n}"/>' for n, name in enumerate(sheets, 1))
    related = [(f"r{n}", "worksheet", f"/xl/worksheets/{n}.xml") for n in range(1, len(sheets) + 1)]
    entries = {f"xl/worksheets/{n}.xml": f"{before}<worksheet {_SHEET}>{rows}</worksheet>" for n, rows in enumerate(sheets.values(), 1)}
    return packed(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/_rels/workbook.xml.rels": relations(*related, ("s", "sharedStrings", "strings.xml"), ("t", "styles", "styles.xml"), *parts),
            "xl/workbook.xml": f"<workbook {_SHEET}><sheets>{names}</sheets></workbook>",
            "xl/strings.xml": f"<sst {_SHEET}>{strings}</sst>",
            "xl/styles.xml": f"<styleSheet {_SHEET}>{styles}</styleSheet>",
            **entries,
            **(more or {}),
        }
    )


def with_types(workbook: bytes) -> bytes:
    """A workbook with the list of types that office programs want."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    types = "".join(
        f'<Override PartName="/xl/{name}.xml" ContentType="{kind}.{of}+xml"/>'
        for name, of in (("workbook", "sheet.main"), ("worksheets/1", "worksheet"), ("styles", "styles"), ("strings", "sharedStrings"))
    )
    relations_type = "application/vnd.openxmlformats-package.relationships+xml"
    default = f'<Default Extension="rels" ContentType="{relations_type}"/><Default Extension="xml" ContentType="application/xml"/>'
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        entries: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    return packed({"[Content_Types].xml": f'<Types xmlns="{space}">{default}{types}</Types>', **entries})


def shape(text: str, kind: str = "") -> str:
    """A shape of a PPTX slide; ``kind``: of a placeholder."""
    holds = f'<p:ph type="{kind}"/>' if kind else ""
    return f"<p:sp><p:nvPr>{holds}</p:nvPr><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def pptx(
    slides: Sequence[str],
    notes: Mapping[int, str] | None = None,
    hidden: Sequence[int] = (),
    more: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """``slides``: the shapes of each. ``notes``: shapes by slide number, from 1. ``hidden``: the numbers of hidden slides.
    ``more``: further entries."""
    numbers = range(1, len(slides) + 1)
    entries: dict[str, str | bytes] = {
        "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/_rels/presentation.xml.rels": relations(*((f"r{n}", "slide", f"slides/slide{n}.xml") for n in reversed(numbers))),
        "ppt/presentation.xml": f"<p:presentation {_SLIDE}><p:sldIdLst>"
        + "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in numbers)
        + "</p:sldIdLst></p:presentation>",
        **{
            f"ppt/slides/slide{n}.xml": f"<p:sld {_SLIDE}{_UNSHOWN if n in hidden else ''}>{text}</p:sld>"
            for n, text in enumerate(slides, 1)
        },
    }
    for n, text in (notes or {}).items():
        entries[f"ppt/slides/_rels/slide{n}.xml.rels"] = relations(("r1", "notesSlide", f"../notesSlides/n{n}.xml"))
        entries[f"ppt/notesSlides/n{n}.xml"] = f"<p:notes {_SLIDE}>{text}</p:notes>"
    return packed(entries | dict(more or {}))


def odt(
    body: str, before: str = "", manifest: str = "", styles: str = "", kind: str = "text", more: Mapping[str, str] | None = None
) -> bytes:
    """``body``: the content of the text or presentation. ``styles``: automatic ones. ``more``: the contents of further entries."""
    return packed(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"{before}<office:document-content {_ODT}><office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            "META-INF/manifest.xml": f"<manifest>{manifest}</manifest>",
            **{name: f"<office:document {_ODT}>{content}</office:document>" for name, content in (more or {}).items()},
        }
    )


def pdf(objects: Sequence[str | bytes], trailer: str = "") -> bytes:
    """``objects``: numbered from 1; the first one is the catalogue."""
    output = bytearray(b"%PDF-1.7\n")
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(output))
        output += f"{number} 0 obj\n".encode() + (each.encode() if isinstance(each, str) else each) + b"\nendobj\n"
    table = len(output)
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    output += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode()
    output += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(output)


def stream(data: bytes, more: str = "") -> bytes:
    """A stream object of a PDF."""
    return f"<< /Length {len(data)} {more} >>\nstream\n".encode() + data + b"\nendstream"


def pdf_of(texts: Sequence[str], trailer: str = "") -> bytes:
    """A PDF with a page for each text; an empty text gives a page without text."""
    pages = range(4, 4 + 2 * len(texts), 2)
    objects: list[str | bytes] = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(texts)} /Kids [{' '.join(f'{n} 0 R' for n in pages)}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, text in zip(pages, texts, strict=True):
        shown = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode("cp1252") if text else b"0 0 m"
        more = f"/Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {number + 1} 0 R"
        objects += [f"<< /Type /Page {more} >>", stream(shown)]
    return pdf(objects, trailer)
