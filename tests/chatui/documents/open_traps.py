"""OpenDocument texts and presentations with traps."""

from __future__ import annotations

from chatui.documents.kinds import UnreadThing
from tests.chatui.documents.samples import odt
from tests.chatui.documents.traps import Trap

LOOKS = (
    '<style:style style:name="Up"><style:text-properties style:text-position="super 58%"/></style:style>'
    '<style:style style:name="Higher"><style:text-properties style:text-position="33% 58%"/></style:style>'
    '<style:style style:name="Down"><style:text-properties style:text-position="sub 58%"/></style:style>'
    '<style:style style:name="Struck"><style:text-properties style:text-line-through-style="solid"/></style:style>'
    '<style:style style:name="Child" style:parent-style-name="Struck"/>'
)
LISTS = (
    '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="1" text:display-levels="2"/></text:list-style>'
    '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1" text:bullet-char="x"/></text:list-style>'
)


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def span(style: str, text: str) -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def listed(style: str, *items: str, more: str = "") -> str:
    return (
        f'<text:list text:style-name="{style}" {more}>{"".join(f"<text:list-item>{each}</text:list-item>" for each in items)}</text:list>'
    )


def cell(text: str = "", more: str = "") -> str:
    return f"<table:table-cell {more}>{p(text) if text else ''}</table:table-cell>"


def row(*cells: str) -> str:
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


def frame(inside: str, more: str = "") -> str:
    return f"<draw:frame {more}>{inside}</draw:frame>"


IMAGE = '<draw:image xlink:href="Pictures/1.png"/>'
CHART = (
    "<office:body><office:chart><chart:chart><chart:title><text:p>Sales of tea</text:p></chart:title><table:table>"
    f"{row(cell(), cell('North'))}{row(cell('June'), cell('23'))}</table:table></chart:chart></office:chart></office:body>"
)
MASTER = (
    '<office:master-styles><style:master-page style:name="Standard"><style:header><text:p>Draft,</text:p>'
    "<text:p>not valid</text:p></style:header>"
    '<style:footer style:display="false"><text:p>NEVER SHOWN</text:p></style:footer></style:master-page>'
    '<style:master-page style:name="Unused"><style:header><text:p>UNUSED</text:p></style:header></style:master-page></office:master-styles>'
)
SAY, HIDDEN, LAST = p("Say it"), p("SECRET"), p("last")
NOTES = f"<draw:text-box>{SAY}</draw:text-box>"
OPEN = {
    "exponents and strikes": Trap(
        "a.odt",
        lambda: odt(p(f"10{span('Up', '6')} x{span('Higher', '2')} H{span('Down', '2')}O {span('Child', '100')} 90"), styles=LOOKS),
        ("10⁶ x² H₂O ~~100~~ 90",),
    ),
    "links": Trap(
        "a.odt",
        lambda: odt(p('See <text:a xlink:href="https://example.org/r">the rules</text:a> and <text:a xlink:href="#a">below</text:a>')),
        ("See [the rules](https://example.org/r) and below",),
    ),
    "numbers and bullets": Trap(
        "a.odt",
        lambda: odt(
            listed("L", p("Scope"), p("Price") + listed("", p("net"), p("gross")))
            + p("x")
            + listed("L", p("End"), more='text:continue-numbering="true"')
            + listed("B", p("tea")),
            styles=LISTS,
        ),
        ("1. Scope\n2. Price\n  2.1 net\n  2.2 gross\nx\n3. End\n- tea",),
    ),
    "numbered headings": Trap(
        "a.odt",
        lambda: odt(
            '<text:h text:outline-level="1">One</text:h><text:h text:outline-level="2">Sub</text:h>'
            '<text:h text:outline-level="1">Two</text:h>',
            more={
                "styles.xml": '<text:outline-style><text:outline-level-style text:level="1" style:num-format="I" style:num-suffix="."/>'
                '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="1"/></text:outline-style>'
            },
        ),
        ("# I. One\n## 1 Sub\n# II. Two",),
    ),
    "notes": Trap(
        "a.odt",
        lambda: odt(
            p(
                'a<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
                "<text:p>why</text:p></text:note-body></text:note> b"
            )
        ),
        ("a[^1] b\n[^1]: why",),
    ),
    "comments": Trap(
        "a.odt",
        lambda: odt(
            p(
                "due<office:annotation><dc:creator>Ann</dc:creator><dc:date>2026-01-01</dc:date><text:p>Too late?</text:p>"
                "</office:annotation> now"
            )
        ),
        ("due[Comment by Ann: Too late?] now",),
        ("2026",),
    ),
    "empty and merged cells": Trap(
        "a.odt",
        lambda: odt(
            "<table:table>"
            + row(cell("Year", 'table:number-columns-spanned="2"'), "<table:covered-table-cell/>", cell("2026"))
            + row(cell("Rent"), cell("", 'table:number-columns-repeated="1"'), cell("7"))
            + row("<table:covered-table-cell/>", cell("5"), cell("9"))
            + "</table:table>"
        ),
        ("Year\tYear\t2026\nRent\t\t7\n\t5\t9",),
    ),
    "header": Trap(
        "a.odt", lambda: odt(p("Offer"), more={"styles.xml": MASTER}), ("Offer", "[Header: Draft, not valid]"), ("NEVER SHOWN", "UNUSED")
    ),
    "pictures": Trap(
        "a.odt",
        lambda: odt(p(frame(f"{IMAGE}<svg:desc>A map</svg:desc>") + frame(IMAGE))),
        ("[Picture: A map]",),
        counts={UnreadThing.PICTURE: 1},
    ),
    "chart": Trap(
        "a.odt",
        lambda: odt(p(frame(f'<draw:object xlink:href="./Object 1"/>{IMAGE}')), more={"Object 1/content.xml": CHART}),
        ("[Chart: Sales of tea]\n\tNorth\nJune\t23",),
    ),
    "deleted text": Trap(
        "a.odt",
        lambda: odt(
            "<text:tracked-changes><text:changed-region><text:deletion><text:p>GONE</text:p></text:deletion>"
            "</text:changed-region></text:tracked-changes>" + p("kept")
        ),
        ("kept",),
        ("GONE",),
        {UnreadThing.CHANGE: 1},
    ),
    "form": Trap(
        "a.odt",
        lambda: odt(
            '<office:forms><form:form><form:text form:id="c1" form:current-value="Lovelace"/>'
            '<form:checkbox form:id="c2" form:current-state="checked" form:label="I agree"/></form:form></office:forms>'
            + p('Name: <draw:control draw:control="c1"/>')
            + p('<draw:control draw:control="c2"/>')
        ),
        ("Name: Lovelace", "☒ I agree"),
    ),
    "an element of a later version": Trap(
        "a.odt",
        lambda: odt(p("a") + '<text:hologram office:value="7">words</text:hologram>' + f"<text:wrapper>{p('b')}</text:wrapper>"),
        ("a\nb",),
        counts={UnreadThing.OTHER: 1},
    ),
    "slides": Trap(
        "a.odp",
        lambda: odt(
            '<presentation:footer-decl presentation:name="f1">Draft</presentation:footer-decl>'
            '<draw:page presentation:use-footer-name="f1">'
            + frame(f"<draw:text-box>{p('Tea')}</draw:text-box>", 'presentation:class="title"')
            + frame(f"<draw:text-box>{listed('B', p('hot'))}</draw:text-box>")
            + "<presentation:notes>"
            + frame(NOTES, 'presentation:class="notes"')
            + "</presentation:notes></draw:page>"
            + f'<draw:page draw:style-name="H"><draw:custom-shape>{HIDDEN}</draw:custom-shape></draw:page>'
            + f'<draw:page presentation:use-footer-name="f1"><draw:custom-shape>{LAST}</draw:custom-shape></draw:page>',
            styles='<style:style style:name="H"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>' + LISTS,
            kind="presentation",
        ),
        ("# Tea\n- hot\n[Footer: Draft]\nNotes: Say it\n\nlast",),
        ("SECRET",),
    ),
}
