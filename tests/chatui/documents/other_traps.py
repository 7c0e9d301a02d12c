"""Mails, notebooks, books, web pages and RTF documents with traps."""

from __future__ import annotations

import json
from email.message import EmailMessage

from chatui.documents.kinds import UnreadThing
from tests.chatui.documents import samples
from tests.chatui.documents.traps import Trap


def mail(**more: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ada Löwe <ada@example.com>", "bob@example.com", more.get("subject", "Übergabe")
    return message


def with_files() -> bytes:
    message = mail()
    message.set_content("Grüße aus Köln", cte="base64")
    message.add_alternative("<p>Grüße aus <b>Köln</b></p>", subtype="html")
    message.add_attachment(b"%PDF-1.7 " * 300, maintype="application", subtype="pdf", filename="Rechnung März.pdf")
    return message.as_bytes()


def only_html() -> bytes:
    message = mail()
    message.set_content('<p>See <a href="https://example.org/o">the offer</a>, 10<sup>6</sup></p><img src="cid:1">', subtype="html")
    return message.as_bytes()


def forwarded() -> bytes:
    inner, outer = mail(subject="Inner"), mail(subject="Outer")
    inner.set_content("first words")
    outer.set_content("see below")
    outer.add_attachment(inner)
    return outer.as_bytes()


def notebook(*cells: object) -> bytes:
    return json.dumps({"cells": cells, "nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}}).encode()


def code(source: str, *outputs: object) -> object:
    return {"cell_type": "code", "source": [source], "outputs": outputs}


def book(*chapters: str, more: dict[str, str] | None = None) -> bytes:
    items = "".join(f'<item id="c{n}" href="t/{n}.xhtml" media-type="application/xhtml+xml"/>' for n, _ in enumerate(chapters))
    order = "".join(f'<itemref idref="c{n}"/>' for n in reversed(range(len(chapters))))
    return samples.packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
            "OPS/book.opf": f"<package><manifest>{items}</manifest><spine>{order}</spine></package>",
            **{f"OPS/t/{n}.xhtml": f"<html><body>{text}</body></html>" for n, text in enumerate(chapters)},
            **(more or {}),
        }
    )


def rtf(body: str, codepage: int = 1252) -> bytes:
    fonts = r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}{\colortbl;\red0;}{\*\generator x}"
    return rf"{{\rtf1\ansi\ansicpg{codepage}\deff0{fonts}{body}}}".encode("ascii")


OTHERS = {
    "mail with files": Trap(
        "a.eml",
        with_files,
        (
            "From: Ada Löwe <ada@example.com>",
            "Subject: Übergabe",
            "Grüße aus Köln",
            "[Attached file: Rechnung März.pdf, application/pdf, 3 kB]",
        ),
        ("<b>", "=?"),
    ),
    "mail of HTML": Trap("a.eml", only_html, ("See [the offer](https://example.org/o), 10⁶",), counts={UnreadThing.PICTURE: 1}),
    "mail in a mail": Trap("a.eml", forwarded, ("Subject: Outer", "see below", "[Attached mail]", "Subject: Inner", "first words")),
    "mail in another encoding": Trap(
        "a.eml",
        lambda: "Subject: =?koi8-r?B?8NLJ18XU?=\nContent-Type: text/plain; charset=koi8-r\n\nПривет".encode("koi8-r"),
        ("Subject: Привет", "\nПривет"),
    ),
    "notebook": Trap(
        "a.ipynb",
        lambda: notebook(
            {"cell_type": "markdown", "source": "# Title"},
            code("print(1)", {"output_type": "stream", "text": ["1\n"]}),
            code(
                "1/0", {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "by zero", "traceback": ["\x1b[0;31mTrace\x1b[0m"]}
            ),
            code("plot()", {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 1000}}),
        ),
        ("# Title", "```python\nprint(1)\n```", "Output:\n1", "Trace\nZeroDivisionError: by zero"),
        ("iVBORw0", "\x1b", "[0;31m"),
        {UnreadThing.PICTURE: 1},
    ),
    "book": Trap(
        "a.epub",
        lambda: book("<p>second</p>", '<h1>First</h1><p>x<sup>2</sup> <a href="https://example.org/">site</a></p>'),
        ("# First", "x² [site](https://example.org/)", "second"),
    ),
    "web page": Trap(
        "a.html",
        lambda: (
            b"<ol start=3><li>three<li>four<ul><li>inner</ul></ol>"
            b"<p>10<sup>6</sup> <s>old</s> <a href='https://example.org/x'>link</a> <a href='#y'>below</a></p>"
            b"<table><tr><th colspan=2>A<th>B<tr><td>1<td><td>3</table><select><option>No<option selected>Yes</select><input value=typed>"
            b"<input type=checkbox checked>agree<p hidden>SECRET</p><img src=x><video></video>"
        ),
        (
            "3. three",
            "4. four",
            "  * inner",
            "10⁶ ~~old~~ [link](https://example.org/x) below",
            "A\tA\tB",
            "1\t\t3",
            "Yestyped☒agree",
        ),
        ("SECRET", "No"),
        {UnreadThing.PICTURE: 1, UnreadThing.MEDIA: 1},
    ),
    "RTF": Trap(
        "a.rtf",
        lambda: rtf(r"10{\super 6} H{\sub 2}O {\strike 100} 90 \u8364? {\f1 \'cf\'f0\'e8\'e2\'e5\'f2}{\v SECRET}\par \emdash\~x"),
        ("10⁶ H₂O ~~100~~ 90 € Привет", "—"),
        ("SECRET", "Arial", "fcharset"),
    ),
    "RTF in another code page": Trap("a.rtf", lambda: rtf(r"\'cf\'f0\'e8\'e2\'e5\'f2", 1251), ("Привет",)),
    "RTF table": Trap(
        "a.rtf",
        lambda: rtf(r"\trowd\pard\intbl Item\cell 2025\cell 2026\cell\row\trowd\pard\intbl Rent\cell\cell 5\cell\row\pard after\par"),
        ("Item\t2025\t2026\nRent\t\t5\nafter",),
    ),
    "RTF table of paragraphs, moved digits": Trap(
        "a.rtf",
        lambda: rtf(
            r"\trowd\pard\plain\intbl{Item}\cell\pard\plain\intbl{2026}\cell\row\pard\plain\intbl\cell\pard\plain\intbl{5}\cell\row"
            r"\pard\plain H{{\*\updnprop8000}\dn2 2}O\par"
        ),
        ("Item\t2026\n\t5\nH₂O",),
    ),
    "paragraphs in cells of a web page": Trap(
        "a.html",
        lambda: b"<table><tr><td><p>Item</p></td><td><p>2025</p></td></tr><tr><td><p>Rent</p></td><td><p></p></td></tr></table>",
        ("Item\t2025\nRent",),
    ),
    "RTF links, notes, comments": Trap(
        "a.rtf",
        lambda: rtf(
            r'{\field{\*\fldinst{HYPERLINK "https://example.org/a"}}{\fldrslt{\ul the offer}}}. Claim'
            r"{\super\chftn{\footnote\pard{\super\chftn} A note.}} more"
            r"{\*\atnid AB}{\*\atnauthor Ann}{\*\annotation\pard Why?}{\header Draft\par}{\deleted GONE}"
            r"{\pict\pngblip 8950}{\*\later some words}"
        ),
        ("[the offer](https://example.org/a). Claim[^1] more[Comment by Ann: Why?]", "[^1]: A note.", "[Header: Draft]"),
        ("GONE", "8950"),
        {UnreadThing.PICTURE: 1, UnreadThing.CHANGE: 1, UnreadThing.OTHER: 1},
    ),
    "RTF with another name": Trap("letter.doc", lambda: rtf("words"), ("words",), ("rtf1",)),
}
