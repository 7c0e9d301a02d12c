"""Documents with traps that a stranger to the readers has built: cells that move, numbers and signs of other scripts, fields, formulas."""

from __future__ import annotations

from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import open_traps, other_traps, samples, slide_traps, word_traps
from tests.chatui.documents.open_traps import p
from tests.chatui.documents.samples import odt, paragraph
from tests.chatui.documents.traps import Trap
from tests.chatui.documents.word_traps import field_of, run, word

BELOW = "<w:tcPr><w:vMerge/></w:tcPr>"
ABOVE = '<w:tcPr><w:vMerge w:val="restart"/></w:tcPr>'
WIDE_BELOW = '<w:tcPr><w:gridSpan w:val="2"/><w:vMerge/></w:tcPr>'
IN_WINGDINGS = '<w:rFonts w:ascii="Wingdings" w:hAnsi="Wingdings"/>'
SYMBOL, EQUATION = r"SYMBOL 179 \f Symbol", r"EQ \f(1,2)"
EMPTY_BOX, TICKED_BOX, UNKNOWN_SIGN = "\uf0a8", "\uf0fe", "A \ue123 B"
SYMBOL_FONT = '<style:style style:name="W"><style:text-properties style:font-name="Wingdings1"/></style:style>'
M = 'xmlns="http://www.w3.org/1998/Math/MathML"'
FRACTION = "<mfrac><mi>a</mi><mrow><mn>2</mn><mi>b</mi></mrow></mfrac><mo>+</mo><msup><mi>x</mi><mn>2</mn></msup>"
MATH = f'<semantics>{FRACTION}<annotation encoding="x">over</annotation></semantics>'


ROW = "<row><c t='s'><v>0</v></c><c t='inlineStr'><is><t>_x005A_</t></is></c></row>"
ESCAPED = "line_x000D_\nnext _x0041__x_"


def without_result(instruction: str) -> str:
    begin, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "end"))
    return f"{begin}<w:r><w:instrText>{instruction}</w:instrText></w:r>{end}"


def numbered(how: str) -> bytes:
    return word(word_traps.item("x") + word_traps.item("y"), {"numbering": word_traps.numbering(word_traps.level(0, how, "%1."))})


def filled_in(kind: str, *said: tuple[str, str]) -> str:
    told = "".join(f'<field:param field:name="{name}" field:value="{value}"/>' for name, value in said)
    return f'<field:fieldmark xmlns:field="urn:f" field:type="vnd.oasis.opendocument.field.{kind}">{told}</field:fieldmark>'


def rtf(text: str) -> bytes:
    return rb"{\rtf1\ansi " + text.encode() + b"}"


FOUND = {
    "docx: a merged cell keeps its column in the rows below": Trap(
        "a.docx",
        lambda: word(
            "<w:tbl>"
            + word_traps.row(ABOVE + paragraph("North"), paragraph("May"), paragraph("1"))
            + word_traps.row(BELOW + "<w:p/>", paragraph("June"), paragraph("2"))
            + word_traps.row(WIDE_BELOW + "<w:p/>", paragraph("3"))
            + "</w:tbl>"
        ),
        ("North\tMay\t1\n\tJune\t2\n\t\t3",),
    ),
    "docx: clauses in Korean": Trap("a.docx", lambda: numbered("ganada"), ("가. x\n나. y",)),
    "docx: clauses in Chinese": Trap("a.docx", lambda: numbered("chineseCountingThousand"), ("一. x\n二. y",)),
    "docx: clauses in circles": Trap("a.docx", lambda: numbered("decimalEnclosedCircle"), ("①. x\n②. y",)),
    "docx: a box in a font of symbols": Trap(
        "a.docx",
        lambda: word(f"<w:p>{run('þ', IN_WINGDINGS)}{run(' yes ')}{run(EMPTY_BOX, IN_WINGDINGS)}{run(' no')}</w:p>"),
        ("☑ yes ☐ no",),
    ),
    "docx: a sign that only its font knows": Trap(
        "a.docx",
        lambda: word(f"<w:p>{run(UNKNOWN_SIGN)}</w:p>"),
        ("A [Symbol: private use E123] B",),
        counts={UnreadThing.CHARACTER: 1},
    ),
    "docx: fields without a result": Trap(
        "a.docx",
        lambda: word(
            f"<w:p>{run('x ')}{without_result(SYMBOL)}{run(' 5, ')}{without_result(EQUATION)}"
            f"{without_result('INCLUDETEXT a.docx')}{field_of('INCLUDETEXT b.docx', 'kept')}{without_result('XE entry')}</w:p>"
        ),
        ("x ≥ 5, [Formula: \\f(1,2)]kept",),
        counts={UnreadThing.FIELD: 1},
    ),
    "odt: clauses in other scripts": Trap(
        "a.odt",
        lambda: odt(
            open_traps.listed("K", p("x"), p("y")),
            styles='<text:list-style style:name="K"><text:list-level-style-number text:level="1" style:num-format="가, 나, 다, ..." '
            'style:num-suffix="."/></text:list-style>',
        ),
        ("가. x\n나. y",),
    ),
    "odt: fields of a form of another program": Trap(
        "a.odt",
        lambda: odt(
            p(f"{filled_in('FORMCHECKBOX', ('Checkbox_Checked', 'true'))} yes {filled_in('FORMCHECKBOX')} no")
            + p(
                "in "
                + filled_in("FORMDROPDOWN", ("Dropdown_ListEntry", "red"), ("Dropdown_ListEntry", "green"), ("Dropdown_Selected", "1"))
            )
            + p(f"<text:content-control>{open_traps.span('W', TICKED_BOX)}</text:content-control> agreed"),
            styles=SYMBOL_FONT,
        ),
        ("☒ yes ☐ no\nin green\n☑ agreed",),
    ),
    "odt: a formula keeps its fraction": Trap(
        "a.odt",
        lambda: odt(
            p(open_traps.frame('<draw:object xlink:href="./Object 1"/>')), more={"Object 1/content.xml": f"<math {M}>{MATH}</math>"}
        ),
        ("[Formula: a/(2b)+x²]",),
    ),
    "odp: a chart without a value": Trap(
        "a.odt",
        lambda: odt(
            p(open_traps.frame('<draw:object xlink:href="./Object 1"/>')),
            more={"Object 1/content.xml": open_traps.CHART.replace("23", "NaN")},
        ),
        ("June",),
        ("NaN",),
    ),
    "pptx: another kind of numbers is another list": Trap(
        "a.pptx",
        lambda: slide_traps.show(
            slide_traps.lines(
                *(
                    f"<a:pPr><a:buAutoNum type='{kind}'/></a:pPr>{slide_traps.said(text)}"
                    for kind, text in (("arabicParenBoth", "x"), ("alphaLcParenR", "y"), ("alphaLcParenR", "z"), ("circleNumDbPlain", "w"))
                )
            ),
            {},
        ),
        ("(1) x\na) y\nb) z\n① w",),
    ),
    "rtf: merged headings and wide cells": Trap(
        "a.rtf",
        lambda: rtf(
            r"\trowd\clmgf\cellx1000\clmrg\cellx2000\cellx3000\pard\intbl Year\cell\cell All\cell\row"
            r"\trowd\cellx2005\cellx3000\intbl Wide\cell 1\cell\row\trowd\cellx1000\cellx2000\cellx3000\intbl a\cell\cell c\cell\row"
            r"\trowd\trleft1000\cellx2000\cellx3000\intbl b\cell d\cell\row\pard after\par"
        ),
        ("Year\tYear\tAll\nWide\tWide\t1\na\t\tc\n\tb\td\nafter",),
    ),
    "rtf: a table in a cell is on its line": Trap(
        "a.rtf",
        lambda: rtf(
            r"\trowd\cellx1000\cellx2000\pard\intbl\itap2 p\nestcell q\nestcell{\*\nesttableprops\trowd\cellx400\cellx900\nestrow}"
            r"{\nonesttables\par}\pard\intbl x\cell y\cell\row\pard z\par"
        ),
        ("p | q / x\ty\nz",),
    ),
    "rtf: boxes, one of two forms of a text, data, a picture's words": Trap(
        "a.rtf",
        lambda: rtf(
            r"{\fonttbl{\f1\fcharset2 Wingdings;}}{\f1 \'fe} yes {\f1\u-3928?} no{\upr{TWICE}{\*\ud{\u26085?}}}\par"
            r"{\pict{\*\picprop{\sp{\sn wzDescription}{\sv A map}}}\pngblip\bin6 }{\rtf}c{\pict\pngblip 00}"
            r"{\shp{\*\shpinst{\sp{\sn gtextUNICODE}{\sv DRAFT}}{\shptxt boxed\par}}{\shprslt TWICE}}"
        ),
        ("☑ yes ☐ no日\n[Picture: A map]cDRAFT boxed",),
        ("TWICE",),
        {UnreadThing.PICTURE: 1},
    ),
    "html: a table's merged cells": Trap(
        "a.html",
        lambda: (
            b"<table>\n <thead>\n<tr><th colspan=2>Year</th>\n<th>All</th></tr></thead>"
            b"<tr><td rowspan=2><p>North</p></td><td></td><td>1</td></tr>"
            b"<tr><td>May<td>2</table>"
        ),
        ("Year\tYear\tAll\nNorth\t\t1\n\tMay\t2",),
    ),
    "html: a table that is the page": Trap(
        "a.html",
        lambda: b"<table><tr><td>a<td><div>left</div><table><tr><td>x<td>y</tr></table><td>right</table>",
        ("a\n", "\nleft\n", "x\ty\n", "right"),
    ),
    "html: what its style sheet hides and strikes out": Trap(
        "a.html",
        lambda: (
            b"<style>.pre, #x {display: none !important} /* .a{display:none} */ span.old{text-decoration: line-through}"
            b".up{vertical-align:super} @media print {.shown{display:none}}</style><p class='pre'>HIDDEN<p id=x>HIDDEN<p class=shown>shown"
            b"<p><span class=old>1<span>00</span></span> 90, 10<span class=up>6</span><p style='visibility:hidden'>HIDDEN</p>"
        ),
        ("shown", "~~100~~ 90, 10⁶"),
        ("HIDDEN",),
    ),
    "html: a formula": Trap("a.html", lambda: f"<p>y = <math {M}>{MATH}</math></p>".encode(), ("y = a/(2b)+x²",)),
    "html: letters of a list": Trap("a.html", lambda: b"<ol type=a start=2><li>x<li>y</ol><ol type=I><li>z</ol>", ("b. x", "c. y", "I. z")),
    "epub: its style sheet": Trap(
        "a.epub",
        lambda: other_traps.book(
            '<link rel="stylesheet" href="../s.css"/><p>10<span class="s2">6</span> <span class="s4">old</span></p>',
            more={"OPS/s.css": ".s2{font-size:0.8em;position:relative;top:-0.33em}.s4{text-decoration:  line-through;}"},
        ),
        ("10⁶ ~~old~~",),
    ),
    "eml: letters in a header that says nothing of them": Trap(
        "a.eml", lambda: "From: Ö <a@b.c>\nSubject: Größe\n\nx".encode(), ("Ö <a@b.c>", "Größe")
    ),
    "eml: a mail that did not arrive": Trap(
        "a.eml",
        lambda: (
            b"From: a@b.c\nSubject: Undelivered\nMIME-Version: 1.0\nContent-Type: multipart/report; boundary=q\n\n--q\n\nsorry\n--q\n"
            b"Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; zoe@x.org\nStatus: 5.1.1\n--q--\n"
        ),
        ("sorry", "Final-Recipient: rfc822; zoe@x.org\nStatus: 5.1.1"),
    ),
    "eml: an invitation": Trap(
        "a.eml",
        lambda: (
            b"From: a@b.c\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=q\n\n--q\n\nplease come\n--q\n"
            b"Content-Type: text/calendar; charset=utf-8\n\nBEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nDTSTART:19700101T000000\nEND:VTIMEZONE\n"
            b"BEGIN:VEVENT\n"
            b"SUMMARY:Budget\\, talk\nDTSTART;TZID=Europe/Berlin:20261201T093000\nDTEND:20261201\nLOCATION:Room\n  5\nEND:VEVENT\n--q--\n"
        ),
        ("please come", "Event: Budget, talk\nBegins: 2026-12-01 09:30 (Europe/Berlin)\nEnds: 2026-12-01\nPlace: Room 5"),
        ("1970",),
    ),
    "xls: a web page with the name of a workbook": Trap(
        "a.xls", lambda: "<html><table><tr><td>Zürich<td><td>7</table></html>".encode("utf-16"), ("Zürich\t\t7",)
    ),
    "xls: a table of text with the name of a workbook": Trap("a.xls", lambda: "Stadt\tZahl\nZürich\t7\n".encode("cp1252"), ("Zürich\t7",)),
    "xls: a new workbook with an old name, and escapes in its texts": Trap(
        "a.xls", lambda: samples.xlsx({"S": ROW}, f"<si><t>{ESCAPED}</t></si>"), ("line next A_x_\tZ",)
    ),
    "doc: a web page with the name of a document": Trap("a.doc", lambda: b"<html><body><p>Dear <b>Ada</b>", ("Dear Ada",), ("<",)),
}
