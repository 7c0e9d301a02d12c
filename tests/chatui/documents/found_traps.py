"""Documents with traps that a stranger to the readers has built: cells that move, numbers and signs of other scripts, fields, formulas."""

from __future__ import annotations

from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import open_traps, slide_traps, word_traps
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


def without_result(instruction: str) -> str:
    begin, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "end"))
    return f"{begin}<w:r><w:instrText>{instruction}</w:instrText></w:r>{end}"


def numbered(how: str) -> bytes:
    return word(word_traps.item("x") + word_traps.item("y"), {"numbering": word_traps.numbering(word_traps.level(0, how, "%1."))})


def filled_in(kind: str, *said: tuple[str, str]) -> str:
    told = "".join(f'<field:param field:name="{name}" field:value="{value}"/>' for name, value in said)
    return f'<field:fieldmark xmlns:field="urn:f" field:type="vnd.oasis.opendocument.field.{kind}">{told}</field:fieldmark>'


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
}
