"""Word documents with traps."""

from __future__ import annotations

from collections.abc import Mapping

from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import samples
from tests.chatui.documents.samples import paragraph, relations
from tests.chatui.documents.traps import Trap

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_C = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


NOT_STRUCK = "<w:strike w:val='0'/>"
HIGHER, OF_STYLE = "<w:position w:val='6'/>", "<w:rStyle w:val='S'/>"
RAISED, LOWERED, BASELINE = (f"<w:vertAlign w:val='{each}'/>" for each in ("superscript", "subscript", "baseline"))


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def word(body: str, more: Mapping[str, str] | None = None, *related: tuple[str, str, str], outside: tuple[str, ...] = ()) -> bytes:
    """A DOCX document; ``more``: the contents of its parts, by name."""
    entries = {f"word/{name}.xml": content for name, content in (more or {}).items()}
    names = [(f"k{name}", name.rstrip("0123456789"), f"{name}.xml") for name in more or {}]
    entries["word/_rels/document.xml.rels"] = relations(("r1", "styles", "styles.xml"), *names, *related, outside=outside)
    entries["word/document.xml"] = f"<w:document {_W} {_R}><w:body>{body}</w:body></w:document>"
    return samples.docx("", entries)


def level(at: int, how: str, text: str, more: str = "") -> str:
    return f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{how}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def numbering(*levels: str, of_list: str = "") -> str:
    return (
        f'<w:numbering {_W}><w:abstractNum w:abstractNumId="7">{"".join(levels)}</w:abstractNum>'
        f'<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
        f'<w:num w:numId="2"><w:abstractNumId w:val="7"/>{of_list}</w:num></w:numbering>'
    )


def item(text: str, at: int = 0, of: int = 1) -> str:
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{of}"/></w:numPr>')


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{each}</w:tc>' for each in cells)}</w:tr>"


def field_of(instruction: str, result: str) -> str:
    begin, middle, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    return f"{begin}<w:r><w:instrText>{instruction}</w:instrText></w:r>{middle}<w:r><w:t>{result}</w:t></w:r>{end}"


LINK = field_of(' HYPERLINK "https://example.org/b" \\o "tip" ', "this")
JUMP = field_of(' HYPERLINK \\l "_Toc1" ', "chapter 2")
CHART = (
    f"<c:chartSpace {_C}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales of tea</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    "<c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:f>A1</c:f><c:strCache><c:pt idx='0'><c:v>North</c:v>"
    "</c:pt></c:strCache></c:strRef></c:tx>"
    "<c:cat><c:strRef><c:strCache><c:pt idx='0'><c:v>May</c:v></c:pt><c:pt idx='1'><c:v>June</c:v></c:pt></c:strCache></c:strRef></c:cat>"
    "<c:val><c:numRef><c:numCache><c:pt idx='1'><c:v>23</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart></c:plotArea>"
    "</c:chart></c:chartSpace>"
)
DIAGRAM = (
    "<dgm:dataModel xmlns:dgm='d' xmlns:a='a'><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>Order</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt/>"
    "<dgm:pt><dgm:t><a:p><a:r><a:t>Pay</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"
)


def drawing(inside: str, about: str = "") -> str:
    return (
        f"<w:p><w:r><w:drawing><w:inline><w:docPr id='1' {about}/><w:graphic><w:graphicData>{inside}"
        f"</w:graphicData></w:graphic></w:inline></w:drawing></w:r></w:p>"
    )


PICTURE = "<w:pic><w:blipFill><w:blip r:embed='rP'/></w:blipFill></w:pic>"
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def m(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


WORD = {
    "exponent": Trap(
        "a.docx",
        lambda: word(f"<w:p>{run('10')}{run('6', RAISED)}{run(' units of H')}{run('2', LOWERED)}{run('O, 5')}{run('th', HIGHER)}</w:p>"),
        ("10⁶ units of H₂O, 5^(th)",),
    ),
    "exponent by style": Trap(
        "a.docx",
        lambda: word(
            f"<w:p>{run('x')}{run('12', OF_STYLE)}{run('y', OF_STYLE + BASELINE)}</w:p>",
            {
                "styles": f"<w:styles {_W}><w:style w:styleId='B'><w:rPr><w:vertAlign w:val='superscript'/></w:rPr></w:style>"
                f"<w:style w:styleId='S'><w:basedOn w:val='B'/></w:style></w:styles>"
            },
        ),
        ("x¹²y",),
    ),
    "struck-out price": Trap(
        "a.docx",
        lambda: word(f"<w:p>{run('Price ')}{run('100', '<w:strike/>')}{run(' EUR', '<w:dstrike/>')}{run(' 250 EUR', NOT_STRUCK)}</w:p>"),
        ("Price ~~100 EUR~~ 250 EUR",),
    ),
    "links": Trap(
        "a.docx",
        lambda: word(
            f"<w:p>{run('See ')}<w:hyperlink r:id='rL'>{run('the ')}{run('rules')}</w:hyperlink>{run(' or ')}{LINK}"
            f"{run(' and ')}{JUMP}</w:p>",
            {},
            ("rL", "hyperlink", "https://example.org/rules"),
            outside=("rL",),
        ),
        ("See [the rules](https://example.org/rules) or [this](https://example.org/b) and chapter 2",),
    ),
    "clause numbers": Trap(
        "a.docx",
        lambda: word(
            item("Scope") + item("Price", 1) + item("net", 2) + item("gross", 2) + item("Time", 1) + item("End") + item("Last", 1),
            {"numbering": numbering(level(0, "decimal", "%1."), level(1, "decimal", "%1.%2"), level(2, "lowerLetter", "(%3)"))},
        ),
        ("1. Scope\n  1.1 Price\n    (a) net\n    (b) gross\n  1.2 Time\n2. End\n  2.1 Last",),
    ),
    "clause numbers by style": Trap(
        "a.docx",
        lambda: word(
            paragraph("Scope", '<w:pStyle w:val="h1"/>')
            + paragraph("Price", '<w:pStyle w:val="h2"/>')
            + paragraph("Roman", '<w:pStyle w:val="h1"/>'),
            {
                "styles": f"<w:styles {_W}><w:style w:styleId='h1'><w:name w:val='heading 1'/><w:pPr><w:numPr><w:numId w:val='1'/>"
                f"</w:numPr></w:pPr></w:style>"
                "<w:style w:styleId='h2'><w:name w:val='heading 2'/><w:pPr><w:numPr><w:ilvl w:val='1'/>"
                "<w:numId w:val='1'/></w:numPr></w:pPr></w:style></w:styles>",
                "numbering": numbering(
                    level(0, "upperRoman", "%1.", "<w:pStyle w:val='h1'/>"),
                    level(1, "decimal", "%1.%2", "<w:isLgl/><w:pStyle w:val='h2'/>"),
                ),
            },
        ),
        ("# I. Scope\n## 1.1 Price\n# II. Roman",),
    ),
    "a list that begins anew": Trap(
        "a.docx",
        lambda: word(
            item("a") + item("b") + paragraph("between") + item("c", of=2) + item("d", of=2),
            {
                "numbering": numbering(
                    level(0, "decimal", "%1)"), of_list="<w:lvlOverride w:ilvl='0'><w:startOverride w:val='1'/></w:lvlOverride>"
                )
            },
        ),
        ("1) a\n2) b\nbetween\n1) c\n2) d",),
    ),
    "bullets in bullets": Trap(
        "a.docx",
        lambda: word(
            item("tea") + item("green", 1) + item("milk"), {"numbering": numbering(level(0, "bullet", "\uf0b7"), level(1, "bullet", "o"))}
        ),
        ("- tea\n  - green\n- milk",),
    ),
    "empty cells": Trap(
        "a.docx",
        lambda: word(
            "<w:tbl>"
            + row(paragraph("Item"), paragraph("2025"), paragraph("2026"))
            + row(paragraph("Rent"), "<w:p/>", paragraph("1200"))
            + row("<w:p/>", paragraph("5"), "<w:p/>")
            + "</w:tbl>"
        ),
        ("Item\t2025\t2026\nRent\t\t1200\n\t5",),
    ),
    "a heading over two columns": Trap(
        "a.docx",
        lambda: word(
            "<w:tbl>"
            + row("<w:tcPr><w:gridSpan w:val='2'/></w:tcPr>" + paragraph("2025"), paragraph("2026"))
            + row(paragraph("1"), paragraph("2"), paragraph("3"))
            + "<w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr><w:tc>"
            + paragraph("4")
            + "</w:tc></w:tr></w:tbl>"
        ),
        ("2025\t2025\t2026\n1\t2\t3\n\t4",),
    ),
    "breaks in cells": Trap(
        "a.docx",
        lambda: word(
            "<w:tbl>"
            + row(
                paragraph("Ada"),
                "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>x</w:t></w:r></w:p>" + paragraph("three"),
                paragraph("9"),
            )
            + "</w:tbl>"
        ),
        ("Ada\tone two x three\t9",),
    ),
    "a table in a table": Trap(
        "a.docx",
        lambda: word(
            "<w:tbl>" + row("<w:tbl>" + row(paragraph("a"), paragraph("b")) + "</w:tbl>" + paragraph(""), paragraph("c")) + "</w:tbl>"
        ),
        ("a | b /\tc",),
    ),
    "footnotes": Trap(
        "a.docx",
        lambda: word(
            f"<w:p>{run('First')}<w:r><w:footnoteReference w:id='3'/></w:r>{run(' second')}<w:r>"
            f"<w:endnoteReference w:id='3'/></w:r>{run(' third')}<w:r><w:footnoteReference w:id='2'/></w:r></w:p>",
            {
                "footnotes": f"<w:footnotes {_W}><w:footnote w:id='0' w:type='separator'>{paragraph('SEP')}</w:footnote>"
                f"<w:footnote w:id='2'>{paragraph('two')}</w:footnote><w:footnote w:id='3'>{paragraph('three')}"
                f"</w:footnote><w:footnote w:id='4'>{paragraph('UNUSED')}</w:footnote></w:footnotes>",
                "endnotes": f"<w:endnotes {_W}><w:endnote w:id='3'>{paragraph('at the end')}</w:endnote></w:endnotes>",
            },
        ),
        ("First[^1] second[^2] third[^3]", "[^3]: two", "[^1]: three", "[^2]: at the end"),
        ("UNUSED", "SEP"),
    ),
    "comments": Trap(
        "a.docx",
        lambda: word(
            f"<w:p><w:commentRangeStart w:id='5'/>{run('1 March')}<w:commentRangeEnd w:id='5'/><w:r>"
            f"<w:commentReference w:id='5'/></w:r>{run(' is late.')}</w:p>",
            {
                "comments": f"<w:comments {_W}><w:comment w:id='5' w:author='Ann'>{paragraph('Too early?')}{paragraph('Ask.')}"
                f"</w:comment></w:comments>"
            },
        ),
        ("1 March[Comment by Ann: Too early? Ask.] is late.",),
    ),
    "header and footer": Trap(
        "a.docx",
        lambda: word(
            paragraph("Offer")
            + (
                "<w:sectPr><w:headerReference w:type='default' r:id='kheader1'/>"
                "<w:headerReference w:type='first' r:id='kheader2'/><w:footerReference w:type='default' r:id='kfooter1'/>"
                "</w:sectPr>"
            ),
            {
                "header1": f"<w:hdr {_W}>{paragraph('Draft,')}{paragraph('not valid')}</w:hdr>",
                "header2": f"<w:hdr {_W}>{paragraph('NEVER SHOWN')}</w:hdr>",
                "footer1": f"<w:ftr {_W}><w:p>{run('Page ')}{field_of('PAGE', '3')}</w:p></w:ftr>",
            },
        ),
        ("Offer", "[Header: Draft, not valid]", "[Footer: Page 3]"),
        ("NEVER SHOWN", "PAGE"),
    ),
    "watermark": Trap(
        "a.docx",
        lambda: word(
            paragraph("Offer") + "<w:sectPr><w:headerReference w:type='default' r:id='kheader1'/></w:sectPr>",
            {
                "header1": f"<w:hdr {_W}><w:p><w:r><w:pict><w:shape><w:textpath string='CONFIDENTIAL'/></w:shape></w:pict></w:r></w:p>"
                f"</w:hdr>"
            },
        ),
        ("[Header: CONFIDENTIAL]",),
    ),
    "alternative text": Trap(
        "a.docx",
        lambda: word(drawing(PICTURE, "descr='A map of  Lisbon'") + drawing(PICTURE) + drawing(PICTURE)),
        ("[Picture: A map of Lisbon]",),
        counts={UnreadThing.PICTURE: 2},
    ),
    "chart": Trap(
        "a.docx",
        lambda: word(paragraph("Before") + drawing("<w:chart r:id='kchart1'/>") + paragraph("After"), {"chart1": CHART}),
        ("Before\n[Chart: Sales of tea]\n\tNorth\nJune\t23", "After"),
    ),
    "smart art": Trap(
        "a.docx",
        lambda: word(drawing("<w:relIds r:dm='kdata1' r:lo='x'/>"), {"data1": DIAGRAM}),
        ("[Diagram: Order; Pay]",),
    ),
    "ticked boxes": Trap(
        "a.docx",
        lambda: word(
            "<w:p><w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox><w:default w:val='0'/><w:checked/>"
            "</w:checkBox></w:ffData></w:fldChar></w:r>"
            f"<w:r><w:instrText>FORMCHECKBOX</w:instrText></w:r><w:r><w:fldChar w:fldCharType='end'/>"
            f"</w:r>{run(' yes ')}<w:r><w:sym w:font='Wingdings' w:char='F0A8'/></w:r>{run(' no')}</w:p>"
        ),
        ("☒ yes ☐ no",),
    ),
    "drop-down list": Trap(
        "a.docx",
        lambda: word(
            "<w:p><w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:ddList><w:result w:val='1'/>"
            "<w:listEntry w:val='No'/><w:listEntry w:val='Maybe'/></w:ddList></w:ffData></w:fldChar></w:r>"
            "<w:r><w:instrText>FORMDROPDOWN</w:instrText></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r></w:p>"
        ),
        ("Maybe",),
        ("FORMDROPDOWN",),
    ),
    "symbols": Trap(
        "a.docx",
        lambda: word(
            f"<w:p>{run('angle ')}<w:r><w:sym w:font='Symbol' w:char='F061'/></w:r>{run(', ')}<w:r>"
            f"<w:sym w:font='Own Font' w:char='F0C1'/></w:r></w:p>"
        ),
        ("angle α, [Symbol: Own Font F0C1]",),
        counts={UnreadThing.CHARACTER: 1},
    ),
    "formula": Trap(
        "a.docx",
        lambda: word(
            f"<w:p><m:oMath {M}>{m('x=')}<m:f><m:num>{m('a+b')}</m:num><m:den>{m('2c')}</m:den></m:f>{m('+')}<m:sSup>"
            f"<m:e>{m('r')}</m:e><m:sup>{m('2')}</m:sup></m:sSup>{m('-')}"
            f"<m:rad><m:radPr/><m:deg/><m:e>{m('y+1')}</m:e></m:rad>{m('+')}<m:nary><m:naryPr><m:chr m:val='∑'/>"
            f"</m:naryPr><m:sub>{m('i=1')}</m:sub><m:sup>{m('n')}</m:sup><m:e>{m('i')}</m:e></m:nary></m:oMath></w:p>"
        ),
        ("x=(a+b)/(2c)+r²-√(y+1)+∑_(i=1)^n i",),
    ),
    "tracked changes": Trap(
        "a.docx",
        lambda: word(f"<w:p>{run('due ')}<w:del><w:r><w:delText>OLD</w:delText></w:r></w:del><w:ins>{run('1 May')}</w:ins></w:p>"),
        ("due 1 May",),
        ("OLD",),
        {UnreadThing.CHANGE: 1},
    ),
    "ruby": Trap(
        "a.docx",
        lambda: word(
            f"<w:p><w:r><w:ruby><w:rubyPr/><w:rt>{run('とうきょう')}</w:rt><w:rubyBase>{run('東京')}</w:rubyBase></w:ruby></w:r></w:p>"
        ),
        ("東京(とうきょう)",),
    ),
    "backslashes": Trap("a.docx", lambda: samples.backslashed(word(paragraph("words"))), ("words",)),
    "files inside": Trap(
        "a.docx",
        lambda: word(
            f"<w:p>{run('See ')}<w:r><w:object><w:OLEObject ProgID='Excel.Sheet.12' r:id='x'/></w:object></w:r></w:p><w:altChunk r:id='y'/>"
        ),
        ("See",),
        counts={UnreadThing.FILE: 2},
    ),
    "an element of a later version": Trap(
        "a.docx",
        lambda: word(f"<w:p>{run('a')}<w:hologram w:val='7'>words</w:hologram><w:wrapper>{run(' b')}</w:wrapper></w:p>"),
        ("a b",),
        counts={UnreadThing.OTHER: 1},
    ),
    "text box once": Trap(
        "a.docx",
        lambda: word(
            "<w:p><w:r><mc:AlternateContent xmlns:mc='x'><mc:Choice><w:drawing><w:anchor><w:wsp><w:txbx><w:txbxContent>"
            + paragraph("inside")
            + "</w:txbxContent></w:txbx></w:wsp></w:anchor></w:drawing></mc:Choice><mc:Fallback><w:pict><w:textbox>"
            + paragraph("TWICE")
            + "</w:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        ),
        ("inside",),
        ("TWICE",),
    ),
    "heading of another language": Trap(
        "a.docx",
        lambda: word(
            paragraph("Teil", "<w:pStyle w:val='Eigene'/>"),
            {
                "styles": f"<w:styles {_W}><w:style w:styleId='b1'><w:name w:val='heading 2'/></w:style><w:style w:styleId='Eigene'>"
                f"<w:basedOn w:val='b1'/></w:style></w:styles>"
            },
        ),
        ("## Teil",),
    ),
}
