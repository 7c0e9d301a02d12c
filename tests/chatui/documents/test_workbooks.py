"""Workbooks are read as people see them: numbers in their formats, merged cells in all their columns, comments, links, charts."""

import csv
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest

from chatui.documents.kinds import HiddenPart, NoTextReason, UnreadThing
from chatui.documents.limits import MAX_CELLS
from chatui.documents.reading import read
from tests.chatui.documents import samples
from tests.support.document_files import shown_number, shown_text

HERE = Path(__file__).parent
CASES = json.loads((HERE / "number_formats.json").read_text())
"""Format, number, what is shown, and what LibreOffice shows if that differs: dates in digits are written year first, and a few things are
shown as Excel does."""
EVERYTHING = [
    "Sales 2026\tSales 2026\tSales 2026",
    "Share\tSum\tCode\tTime\tDay",
    "47.50%\t1,234.50 €\t01234\t26:30\t2025-12-09\tINV-0007",
    "empty next\t\tafter [Comment: check this]",
    "[link](https://example.org/x)",
    "1234.5",
    "~~old price~~",
    "TRUE\t#N/A",
    "North\tKiel",
    "North\tBremen",
]


@pytest.mark.parametrize(("code", "number", "shown"), [case[:3] for case in CASES])
def test_a_number_is_shown_in_its_format(code: str, number: float, shown: str) -> None:
    assert shown_number(code, number) == shown


@pytest.mark.parametrize(
    ("code", "number", "is_from_1904", "shown"),
    [
        ("yyyy-mm-dd", 0, True, "1904-01-01"),
        ("yyyy-mm-dd", 1, False, "1900-01-01"),
        ("yyyy-mm-dd", 59, False, "1900-02-28"),
        ("yyyy-mm-dd", 60, False, "1900-02-29"),
        ("yyyy-mm-dd", 61, False, "1900-03-01"),
        ("yyyy-mm-dd", -1, False, "-1"),
        ("yyyy-mm-dd", 3e6, False, "3000000"),
        ("[h]:mm", -0.5, False, "-12:00"),
        ("0", float("inf"), False, "∞"),
        ("0" * 5000, 1e300, False, shown_number("0" * 255, 1e300)),
    ],
)
def test_calendars_and_what_no_format_can_show(code: str, number: float, is_from_1904: bool, shown: str) -> None:
    assert shown_number(code, number, is_from_1904=is_from_1904) == shown


@pytest.mark.parametrize(
    ("code", "text", "shown"), [('0;0;0;"Mr. "@', "Ada", "Mr. Ada"), ('@" kg"', "5", "5 kg"), (";;;", "SECRET", ""), ("0.00", "x", "x")]
)
def test_a_text_is_shown_in_its_format(code: str, text: str, shown: str) -> None:
    assert shown_text(code, text) == shown


def _styles(codes: list[str]) -> str:
    formats = "".join(f"<numFmt numFmtId='{200 + n}' formatCode={quoteattr(code)}/>" for n, code in enumerate(codes))
    looks = "<fonts><font/></fonts><fills><fill/></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs>"
    cells = "".join(f"<xf numFmtId='{200 + n}' applyNumberFormat='1' xfId='0'/>" for n in range(len(codes)))
    return f"<numFmts>{formats}</numFmts>{looks}<cellXfs><xf numFmtId='0'/>{cells}</cellXfs>"


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.extended
def test_libreoffice_shows_the_same(tmp_path: Path) -> None:
    rows = "".join(f"<row r='{n}'><c r='A{n}' s='{n}'><v>{number!r}</v></c></row>" for n, (_, number, *_) in enumerate(CASES, 1))
    sheet = samples.xlsx({"A": f"<sheetData>{rows}</sheetData>"}, styles=_styles([code for code, *_ in CASES]))
    (tmp_path / "a.xlsx").write_bytes(samples.with_types(sheet))
    # Comma, quotation mark, UTF-8, from the first line, no types, English, no quotation of all texts, cells as they are shown.
    wanted = "csv:Text - txt - csv (StarCalc):44,34,76,1,,1033,false,true"
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = ["soffice", "--headless", profile, "--convert-to", wanted, "--outdir", str(tmp_path), str(tmp_path / "a.xlsx")]
    subprocess.run(command, check=True, capture_output=True)
    shown = [" ".join((row or [""])[0].split()) for row in csv.reader((tmp_path / "a.csv").read_text().splitlines())]
    shown += [""] * (len(CASES) - len(shown))
    assert [(case[0], found) for case, found in zip(CASES, shown, strict=True)] == [(case[0], case[-1]) for case in CASES]


@pytest.mark.parametrize("kind", ["ods", "xls"])
async def test_the_same_workbook_in_other_formats(kind: str) -> None:
    found = await read(f"a.{kind}", (HERE / "workbooks" / f"everything.{kind}").read_bytes())
    [part] = found.parts
    assert [line for line in part.text.splitlines() if line][: len(EVERYTHING)] == EVERYTHING
    assert set(found.left_out) == {(HiddenPart.SHEET, "Salaries"), (HiddenPart.CELLS, "Sales")} and "secret" not in part.text
    beside = part.text.splitlines()[-2:]
    if kind == "ods":
        assert beside == ["[Chart: Turnover]", "[On each printed page: Draft, not valid]"] and not found.unread
    else:
        assert dict(found.unread) == {UnreadThing.CHART: 1, UnreadThing.HEADER: 1}


def cell(place: str, value: str, kind: str = "n", style: int = 0) -> str:
    written = f"<is><t>{escape(value)}</t></is>" if kind == "inlineStr" else f"<v>{escape(value)}</v>"
    return f'<c r="{place}" t="{kind}" s="{style}">{written}</c>'


async def text_of(
    content: str, styles: str = "", more: dict[str, str | bytes] | None = None, parts: Sequence[tuple[str, str, str]] = ()
) -> str:
    found = await read("a.xlsx", samples.xlsx({"A": content}, styles=styles, more=more, parts=parts))
    assert not found.reason and not found.unread, (found.reason, found.unread)
    return found.parts[0].text


async def test_a_formula_without_a_stored_value_is_marked_and_one_with_an_empty_text_is_not() -> None:
    rows = (
        '<row r="1"><c r="A1"><f>SUM(B1:C1)</f></c><c r="B1"><f>X1</f><v/></c>'
        '<c r="C1" t="str"><f>D1</f><v></v></c><c r="D1"><v>1</v></c></row>'
    )
    assert await text_of(rows) == "=SUM(B1:C1) [no value stored]\t=X1 [no value stored]\t\t1"
    link = '<row r="1"><c r="A1" t="str"><f>HYPERLINK("https://example.org/a","here")</f><v>here</v></c></row>'
    assert await text_of(link) == "[here](https://example.org/a)"


async def test_a_merged_text_stands_in_all_its_columns_and_a_number_counts_once() -> None:
    rows = f'<row r="1">{cell("B1", "Q1", "inlineStr")}</row><row r="2">{cell("B2", "5")}{cell("D2", "6")}</row>'
    merged = '<mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="B2:C3"/><mergeCell ref="A9:XFD1048576"/><mergeCell ref="x"/></mergeCells>'
    assert await text_of(rows + merged) == "\tQ1\tQ1\n\t5\t[merged]\t6\n\t[merged]\t[merged]"


async def test_merging_all_cells_ends_at_the_limit() -> None:
    text = await text_of(f'<row r="1">{cell("A1", "x", "inlineStr")}</row><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>')
    assert text.count("x") == MAX_CELLS - 1


async def test_a_format_that_shows_nothing_of_a_number_hides_it() -> None:
    rows = f'<row r="1">{cell("A1", "-5", style=1)}{cell("B1", "5", style=1)}{cell("C1", "SECRET", "inlineStr", 2)}</row>'
    found = await read("a.xlsx", samples.xlsx({"A": rows}, styles=_styles(["0;;", ";;;"])))
    assert found.parts[0].text == "\t5" and found.left_out == ((HiddenPart.CELLS, "A"),)


async def test_what_runs_look_like_is_kept() -> None:
    raised = "<r><t>10</t></r><r><rPr><vertAlign val='superscript'/></rPr><t>6</t></r><r><rPr><strike/></rPr><t> old</t></r>"
    rows = f'<row r="1"><c r="A1" t="inlineStr"><is>{raised}</is></c></row>'
    assert await text_of(rows) == "10⁶ ~~old~~"


async def test_comments_text_boxes_charts_pictures_and_headers_are_read() -> None:
    drawing = (
        "<xdr:wsDr xmlns:xdr='x' xmlns:a='a' xmlns:c='c' xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'>"
        "<xdr:twoCellAnchor><xdr:sp><xdr:nvSpPr><xdr:cNvPr id='1'/></xdr:nvSpPr><xdr:txBody><a:p><a:r><a:t>look here</a:t></a:r></a:p>"
        "</xdr:txBody></xdr:sp></xdr:twoCellAnchor><xdr:twoCellAnchor><xdr:pic><xdr:nvPicPr><xdr:cNvPr id='2' descr='a map'/></xdr:nvPicPr>"
        "</xdr:pic></xdr:twoCellAnchor><xdr:twoCellAnchor><xdr:sp><xdr:nvSpPr><xdr:cNvPr id='3' hidden='1'/></xdr:nvSpPr><xdr:txBody><a:p>"
        "<a:r><a:t>SECRET</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:twoCellAnchor>"
        "<xdr:twoCellAnchor><xdr:graphicFrame><a:graphic><a:graphicData><c:chart r:id='c1'/></a:graphicData></a:graphic></xdr:graphicFrame>"
        "</xdr:twoCellAnchor></xdr:wsDr>"
    )
    comments = (
        "<comments xmlns='x'><authors><author>Ada</author><author>tc={1}</author></authors><commentList>"
        "<comment ref='A1' authorId='0'><text><r><t>Ada:</t></r><r><t> check</t></r></text></comment>"
        "<comment ref='B1' authorId='1'><text><t>[Threaded comment] Your version</t></text></comment></commentList></comments>"
    )
    threaded = (
        "<ThreadedComments xmlns='x'><threadedComment ref='C3' personId='p'><text>on an empty cell</text></threadedComment>"
        "<threadedComment ref='C3'><text>yes</text></threadedComment></ThreadedComments>"
    )
    chart = "<c:chartSpace xmlns:c='c' xmlns:a='a'><c:chart><c:title><a:t>Turnover</a:t></c:title></c:chart></c:chartSpace>"
    more: dict[str, str | bytes] = {
        "xl/worksheets/_rels/1.xml.rels": samples.relations(
            ("r1", "drawing", "../d.xml"), ("r2", "comments", "../c.xml"), ("r3", "threadedComment", "../t.xml"), ("r4", "vmlDrawing", "v")
        ),
        "xl/d.xml": drawing,
        "xl/c.xml": comments,
        "xl/t.xml": threaded,
        "xl/p.xml": "<personList xmlns='x'><person id='p' displayName='Bo'/></personList>",
        "xl/_rels/d.xml.rels": samples.relations(("c1", "chart", "chart.xml")),
        "xl/chart.xml": chart,
    }
    printed = '<oddHeader>&amp;C&amp;"Arial,Bold"&amp;14Draft, not valid</oddHeader><oddFooter>Page &amp;P</oddFooter>'
    header = f"<headerFooter>{printed}</headerFooter>"
    text = await text_of(f'<row r="1">{cell("A1", "1")}{cell("B1", "2")}</row>{header}', more=more, parts=[("p", "person", "p.xml")])
    assert text.splitlines() == [
        "1 [Comment by Ada: check]\t2",
        "",
        "\t\t[Comment by Bo: on an empty cell] [Comment: yes]",
        "[On each printed page: Draft, not valid]",
        "[Text box: look here]",
        "[Picture: a map]",
        "[Chart: Turnover]",
    ]


async def test_what_a_workbook_has_beside_its_sheets_is_counted() -> None:
    parts = [("r1", kind, "x.xml") for kind in ("image", "oleObject", "control", "wonder", "printerSettings", "table")]
    parts = [(f"r{n}", kind, target) for n, (_, kind, target) in enumerate(parts)]
    more: dict[str, str | bytes] = {"xl/worksheets/_rels/1.xml.rels": samples.relations(*parts)}
    content = f'<row r="1">{cell("A1", "1")}</row><extLst><ext><new val="5"/><sparklineGroup><f>A1</f></sparklineGroup></ext></extLst>'
    found = await read("a.xlsm", samples.xlsx({"A": content}, more=more, parts=[("v", "vbaProject", "v.bin"), ("n", "marvel", "m.xml")]))
    thing = UnreadThing
    expected = {thing.PICTURE: 1, thing.FILE: 1, thing.FIELD: 1, thing.SCRIPT: 1, thing.CHART: 1, thing.OTHER: 3}
    assert found.parts[0].text == "1" and dict(found.unread) == expected


ODS = (
    '<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x" xmlns:style="s" xmlns:draw="d" xmlns:xlink="xlink">'
    '<office:automatic-styles><style:style style:name="gone"><style:table-properties table:display="false"/></style:style>'
    "</office:automatic-styles><office:body><office:spreadsheet>{}</office:spreadsheet></office:body></office:document-content>"
)


def ods(content: str) -> bytes:
    return samples.packed({"content.xml": ODS.format(content)})


def row(*cells: str, about: str = "") -> str:
    return f"<table:table-row {about}>{''.join(cells)}</table:table-row>"


def open_cell(text: str = "", about: str = "") -> str:
    return f"<table:table-cell {about}>{f'<text:p>{text}</text:p>' if text else ''}</table:table-cell>"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (row(open_cell(), open_cell("50%", 'office:value="0.5"')), "\t50%"),
        (
            row(open_cell("a", 'table:number-columns-repeated="3"')) + row(open_cell("b"), about='table:number-rows-repeated="2"'),
            "a\ta\ta\nb\nb",
        ),
        (
            row(open_cell(about='office:value="9"'), open_cell(about='table:formula="of:=SUM([.A1])"')),
            "9\t=SUM([.A1]) [no value stored]",
        ),
        (row(open_cell("head", 'table:number-columns-spanned="2"'), "<table:covered-table-cell/>", open_cell("x")), "head\thead\tx"),
        (row(open_cell("03.04.26", 'office:value-type="date" office:date-value="2026-04-03"')), "2026-04-03"),
        (
            row(open_cell(about='table:number-columns-repeated="16384"'), about='table:number-rows-repeated="1048000"')
            + row(open_cell("end")),
            "[row 1048001]\nend",
        ),
    ],
)
async def test_an_open_workbook_is_read_as_it_is_shown(rows: str, text: str) -> None:
    found = await read("a.ods", ods(f'<table:table table:name="A">{rows}</table:table>'))
    assert [(part.label, part.text) for part in found.parts] == [("sheet A", text)] and not found.unread and not found.left_out


async def test_hidden_parts_of_an_open_workbook_are_left_out_and_the_rest_counts() -> None:
    secret, picture = open_cell("SECRET"), "<draw:frame><draw:image xlink:href='p.png'/></draw:frame>"
    content = (
        f'<table:table table:name="S" table:style-name="gone">{row(secret)}</table:table>'
        '<table:table table:name="A"><table:table-column/><table:table-column table:visibility="collapse"/>'
        + row(secret, about='table:visibility="filter" table:number-rows-repeated="1000000"')
        + f'<table:table-row-group table:display="false">{row(secret)}</table:table-row-group>'
        + row(open_cell("seen").replace("</text:p>", f"</text:p>{picture}"), secret)
        + "<table:wonder>words</table:wonder></table:table>"
    )
    found = await read("a.ods", ods(content))
    assert [part.text.split()[-1] for part in found.parts] == ["seen"] and "SECRET" not in found.parts[0].text
    assert found.left_out == ((HiddenPart.SHEET, "S"), (HiddenPart.CELLS, "A"))
    assert dict(found.unread) == {UnreadThing.PICTURE: 1, UnreadThing.OTHER: 1}


async def test_a_broken_or_misnamed_old_workbook_is_refused() -> None:
    whole = (HERE / "workbooks" / "everything.xls").read_bytes()
    for broken in (whole[:600], whole[:512] + bytes(len(whole) - 512), whole[: len(whole) // 2]):
        assert (await read("a.xls", broken)).reason in (NoTextReason.BROKEN, NoTextReason.BLANK, NoTextReason.NONE)
    assert (await read("a.xls", samples.docx(samples.paragraph("words")))).reason is NoTextReason.BROKEN
    assert (await read("a.xls", samples.pdf_of(["words"]))).reason is NoTextReason.TYPE
    assert (await read("a.xlsx", whole)).reason is NoTextReason.ENCRYPTED
