"""Presentations with traps."""

from __future__ import annotations

from collections.abc import Mapping

from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import samples
from tests.chatui.documents.samples import relations
from tests.chatui.documents.traps import Trap
from tests.chatui.documents.word_traps import CHART, DIAGRAM


def show(shapes: str, more: Mapping[str, str] | None = None, *related: tuple[str, str, str], outside: tuple[str, ...] = ()) -> bytes:
    """A presentation of one slide; ``more``: the contents of its parts, by type."""
    entries = {
        "ppt/slides/_rels/slide1.xml.rels": relations(
            *((f"k{kind}", kind, f"{kind}.xml") for kind in more or {}), *related, outside=outside
        ),
        **{f"ppt/slides/{kind}.xml": content for kind, content in (more or {}).items()},
    }
    return samples.pptx([shapes], more=entries)


def lines(*paragraphs: str, about: str = "") -> str:
    return f"<p:sp><p:nvSpPr>{about}</p:nvSpPr><p:txBody>{''.join(f'<a:p>{each}</a:p>' for each in paragraphs)}</p:txBody></p:sp>"


def said(text: str, look: str = "", inside: str = "") -> str:
    return f"<a:r><a:rPr {look}>{inside}</a:rPr><a:t>{text}</a:t></a:r>"


def about(more: str, inside: str = "") -> str:
    return f"<p:cNvPr id='2' name='x' {more}>{inside}</p:cNvPr>"


def frame(inside: str) -> str:
    return f"<p:graphicFrame><a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic></p:graphicFrame>"


def cells(*texts: str, spans: int = 1) -> str:
    span = f" gridSpan='{spans}'" if spans > 1 else ""
    first, *rest = (f"<a:txBody>{''.join(f'<a:p>{said(line)}</a:p>' for line in text.split('/'))}</a:txBody>" for text in texts)
    below = "<a:tc hMerge='1'><a:txBody/></a:tc>" * (spans - 1)
    return f"<a:tr><a:tc{span}>{first}</a:tc>{below}{''.join(f'<a:tc>{each}</a:tc>' for each in rest)}</a:tr>"


_P = "xmlns:p='p' xmlns:a='a'"
SLIDES = {
    "exponent and strike": Trap(
        "a.pptx",
        lambda: show(
            lines(
                said("10")
                + said("6", "baseline='30000'")
                + said(" CO")
                + said("2", "baseline='-25000'")
                + said(" 100", "strike='sngStrike'")
                + said(" 90", "strike='noStrike'")
            )
        ),
        ("10⁶ CO₂ ~~100~~ 90",),
    ),
    "links": Trap(
        "a.pptx",
        lambda: show(
            lines(said("See ") + said("the offer", inside="<a:hlinkClick r:id='rL'/>"))
            + lines(said("Button"), about=about("", "<a:hlinkClick r:id='rL'/>")),
            {},
            ("rL", "hyperlink", "https://example.org/o"),
            outside=("rL",),
        ),
        ("See [the offer](https://example.org/o)\n", "Button\n[Link: https://example.org/o]"),
    ),
    "levels and numbers": Trap(
        "a.pptx",
        lambda: show(
            lines(
                *(
                    f"<a:pPr lvl='{at}'><a:buAutoNum type='{kind}'/></a:pPr>{said(text)}"
                    for at, kind, text in (
                        (0, "arabicPeriod", "one"),
                        (1, "alphaLcParenR", "sub"),
                        (1, "alphaLcParenR", "sub"),
                        (0, "arabicPeriod", "two"),
                    )
                ),
                f"<a:pPr lvl='2'/>{said('deep')}",
            )
        ),
        ("1. one\n  a) sub\n  b) sub\n2. two\n    - deep",),
    ),
    "alternative text": Trap(
        "a.pptx",
        lambda: show(
            f"<p:pic><p:nvPicPr>{about('descr=&quot;Map of sites&quot;').replace('&quot;', chr(34))}</p:nvPicPr>"
            f"<p:blipFill><a:blip r:embed='x'/></p:blipFill></p:pic><p:pic><p:blipFill><a:blip r:embed='x'/>"
            f"</p:blipFill></p:pic>" + lines(said("words"))
        ),
        ("[Picture: Map of sites]", "words"),
        counts={UnreadThing.PICTURE: 1},
    ),
    "chart": Trap(
        "a.pptx",
        lambda: show(frame("<c:chart r:id='kchart'/>").replace("c:", "a:"), {"chart": CHART}),
        ("[Chart: Sales of tea]\n\tNorth\nJune\t23",),
    ),
    "smart art": Trap("a.pptx", lambda: show(frame("<a:relIds r:dm='kdata'/>"), {"data": DIAGRAM}), ("[Diagram: Order; Pay]",)),
    "a table": Trap(
        "a.pptx",
        lambda: show(frame("<a:tbl>" + cells("Year", "2026", spans=2) + cells("Rent", "", "1/2") + cells("", "5", "") + "</a:tbl>")),
        ("Year\tYear\t2026\nRent\t\t1 2\n\t5",),
    ),
    "comments": Trap(
        "a.pptx",
        lambda: show(
            lines(said("Plan")),
            {
                "comments": f"<p:cmLst {_P}><p:cm authorId='1'><p:text>Too dear</p:text></p:cm><p:cm><p:replyLst><p:reply><p:txBody>"
                f"<a:p><a:r><a:t>Agreed</a:t></a:r></a:p></p:txBody></p:reply></p:replyLst><p:txBody><a:p><a:r>"
                f"<a:t>New kind</a:t></a:r></a:p></p:txBody></p:cm></p:cmLst>"
            },
        ),
        ("Plan", "[Comment: Too dear]", "[Comment: New kind]", "[Comment: Agreed]"),
    ),
    "footer": Trap(
        "a.pptx",
        lambda: samples.pptx(
            [
                samples.shape("one") + samples.shape("Draft", "ftr") + samples.shape("4", "sldNum"),
                samples.shape("two") + samples.shape("Draft", "ftr"),
            ]
        ),
        ("one\n[Footer: Draft]\ntwo",),
        ("4",),
    ),
    "words of the layout": Trap(
        "a.pptx",
        lambda: show(
            lines(said("one")),
            {
                "slideLayout": f"<p:sldLayout {_P}><p:cSld><p:spTree>{samples.shape('Click to edit', 'title')}"
                f"{samples.shape('CONFIDENTIAL')}</p:spTree></p:cSld></p:sldLayout>"
            },
        ),
        ("one", "[On the slides: CONFIDENTIAL]"),
        ("Click to edit",),
    ),
    "breaks": Trap("a.pptx", lambda: show(lines(said("one") + "<a:br/>" + said("two"))), ("one\ntwo",)),
    "film and unknown": Trap(
        "a.pptx",
        lambda: show(
            "<p:pic><p:nvPicPr><p:nvPr><a:videoFile r:link='x'/></p:nvPr></p:nvPicPr></p:pic><p:model3d src='x'/>" + lines(said("one"))
        ),
        ("one",),
        counts={UnreadThing.MEDIA: 1, UnreadThing.OTHER: 1},
    ),
}
