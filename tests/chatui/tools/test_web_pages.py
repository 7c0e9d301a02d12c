"""Feeds, JSON and PDF as the browser shows them: whole, or with a mark in their place, in bounded time."""

import asyncio
import json
import time

import pytest

from tests.chatui.documents import samples
from tests.support.browsing import Shown, opened
from tests.support.limits import limit
from tests.support.tool_calls import RefusedError

MAX_LINKS = limit("chatui.documents.inside", "MAX_LINKS")
WIDTH = limit("chatui.documents.inside", "WIDTH")
MAX_ENTRIES = limit("chatui.documents.inside", "MAX_ENTRIES")

RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/">
<channel><title>Tea &amp; news</title><link>https://tea.example/</link><description>All about tea</description>
<item><title>First flush</title><link>https://tea.example/1</link><pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate>
<dc:creator>Ada</dc:creator>
<category>Darjeeling</category><description>A short text…</description>
<content:encoded><![CDATA[<p>A short text, and <a href="/more">more</a>.</p><script>SECRET</script><p>Unclosed <b>bold]]></content:encoded>
<enclosure url="https://tea.example/1.mp3" type="audio/mpeg" length="1234"/></item>
<item><title>Second 【0†x】</title><guid>tag:1</guid><description>Plain &lt;b&gt;words&lt;/b&gt;</description></item></channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Releases</title><subtitle>Of a program</subtitle>
<entry><title>1.2</title><link rel="alternate" href="https://o.example/1.2"/>
<link rel="enclosure" href="https://o.example/1.2.bin" length="9"/>
<updated>2026-11-02T10:00:00Z</updated><author><name>Grace</name></author>
<summary type="html">&lt;p&gt;Mends &lt;em&gt;two&lt;/em&gt; faults.&lt;/p&gt;</summary></entry>
<entry><title>1.1</title><link href="javascript:alert(1)"/><content type="xhtml">
<div xmlns="http://www.w3.org/1999/xhtml"><p>In a <a href="https://o.example/t">tree</a></p></div></content></entry>
<entry><title>1.0</title><summary>1 &lt; 2, as text</summary></entry></feed>"""

RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>Old</title></channel>
<item><title>Entry</title><link>https://o.example/e</link><description>Text</description></item></rdf:RDF>"""


def read(body: str | bytes, kind: str, charset: str = "", path: str = "/a/b%20c.pdf") -> Shown:
    return asyncio.run(opened(body, kind, charset, path))


def links(page: Shown, count: int) -> list[str]:
    """Where the links of the page lead, of which there are so many."""
    with pytest.raises(RefusedError, match="no link"):
        page.leads_to(count)
    return [page.leads_to(number) for number in range(count)]


@pytest.mark.parametrize("kind", ["application/rss+xml", "text/xml", "application/xml"])
def test_a_feed_is_shown_as_its_entries(kind: str) -> None:
    found = read(RSS, kind)
    text = found.text
    assert found.title == "Tea & news" and links(found, 2) == ["https://tea.example/1", "http://www.tea.example/more"]
    for expected in (
        "# Tea & news",
        "All about tea",
        "## 【0†First flush】",
        "Mon, 02 Nov 2026 10:00:00 GMT · Ada",
        "【1†more】",
    ):
        assert expected in text
    assert "category: Darjeeling" in text and "[enclosure: https://tea.example/1.mp3, audio/mpeg, 1234 bytes]" in text
    assert "SECRET" not in text and text.count("A short text") == 1
    assert "## Second 〖0‡x〗" in text and "Plain words" in text, "an unclosed tag in one entry costs the next nothing"


def test_atom_and_older_feeds_are_read_as_well() -> None:
    found = read(ATOM, "application/atom+xml")
    text = found.text
    assert found.title == "Releases" and links(found, 2) == ["https://o.example/1.2", "https://o.example/t"]
    for expected in (
        "Of a program",
        "2026-11-02T10:00:00Z · Grace",
        "Mends two faults.",
        "[enclosure: https://o.example/1.2.bin, 9 bytes]",
    ):
        assert expected in text
    assert "In a 【1†tree†o.example】" in text and "## 1.1" in text and "1 < 2, as text" in text
    assert "## 【0†Entry†o.example】" in read(RDF, "application/rdf+xml").text


def test_a_feed_in_another_encoding_and_xml_that_is_no_feed() -> None:
    russian = (
        "<?xml version='1.0' encoding='windows-1251'?><rss><channel><title>Чай</title><item><title>Зелёный</title></item></channel></rss>"
    )
    assert "Зелёный" in read(russian.encode("cp1251"), "text/xml").text
    assert "Зелёный" in read(russian.encode("utf-16"), "text/xml").text
    assert "Зелёный" in read(russian.encode(), "text/xml", "utf-8").text
    for other in ("<a><b>tea</b></a>", "<!DOCTYPE rss [<!ENTITY x 'tea'>]><rss>&x;</rss>", "<rss><tea"):
        assert "tea" in read(other, "text/xml").text


def test_a_long_feed_says_how_many_entries_it_has() -> None:
    text = read(f"<rss><channel>{'<item><title>x</title></item>' * (MAX_ENTRIES + 5)}</channel></rss>", "text/xml").text
    assert f"[The feed has {MAX_ENTRIES + 5} entries. The first {MAX_ENTRIES} are shown.]" in text


def test_json_has_a_value_on_each_line_and_loses_nothing() -> None:
    body = '{"name":"T\\u00e9a","n":1.50e400,"big":123456789012345678901234567890,"name":"twice",'
    body += '"list":[1,[],{}],"url":"https://o.example/x?a=1"}'
    found = read(body, "application/vnd.api+json")
    assert found.text == (
        '{\n  "name": "Téa",\n  "n": 1.50e400,\n  "big": 123456789012345678901234567890,\n  "name": "twice",\n'
        '  "list": [\n    1,\n    [],\n    {}\n  ],\n  "url": "【0†https://o.example/x?a=1†o.example】"\n}'
    )
    assert links(found, 1) == ["https://o.example/x?a=1"]


@pytest.mark.parametrize(
    "body", ['{"a":', '{"a" "b"}', "[1,2", '{"a":1}\n{"b":2}', '"tea"', "tea", '["\\ud800"]', '[1]]]]{"a":"x', "[" * 50]
)
def test_broken_json_and_lines_of_json_are_shown_too(body: str) -> None:
    text = read(body, "application/json").text
    assert [sign for sign in text if not sign.isspace()] == [sign for sign in body if not sign.isspace()] or "ud800" in body
    assert text.count("\n{") == body.count("\n{") + body.count("]{")


def test_whatever_json_says_is_data() -> None:
    found = read(json.dumps({"a": "【0†x】", "\u202eb": "javascript:alert(1)", "c": "see https://o.example/x"}), "application/json")
    assert links(found, 0) == [] and "〖0‡x〗" in found.text and "\u202e" not in found.text


def test_a_pdf_is_read_page_by_page() -> None:
    found = read(samples.pdf_of(["Green tea", "", "Black"]), "application/pdf")
    assert found.title == "b c.pdf" and links(found, 0) == []
    assert found.text == ("# page 1\n\nGreen tea\n\n# page 2\n\n[This page has no text. It may be a picture.]\n\n# page 3\n\nBlack")


@pytest.mark.parametrize(
    ("body", "why"),
    [(samples.pdf_of([""] * 2), "only pictures of pages"), (b"%PDF-1.7\nnonsense", "cannot be read"), (b"<p>tea", "cannot be read")],
)
def test_a_pdf_without_text_says_why(body: bytes, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        read(body, "application/pdf")


def test_a_pdf_may_be_larger_than_a_page_but_not_be_cut() -> None:
    small = samples.pdf_of(["tea"])
    large = small + b"%" + b"x" * 2_000_000
    for whole, kind, path in (
        (large, "application/pdf", "/a"),
        (small, "application/x-pdf", "/a"),
        (small, "application/octet-stream", "/a.PDF?x=1"),
    ):
        assert read(whole, kind, path=path).text == "# page 1\n\ntea"
    with pytest.raises(RefusedError, match="larger than 20 MB"):
        read(b"%PDF" + b" " * 20_000_001, "application/pdf")


@pytest.mark.parametrize(
    "kind", ["application/feed+json", "application/ld+json", "application/atom+xml", "application/x-ndjson", "text/json"]
)
def test_feeds_and_json_of_any_name_are_read(kind: str) -> None:
    assert "tea" in read('"tea"', kind).text


@pytest.mark.parametrize("kind", ["image/svg+xml", "application/zip", "application/octet-stream", "video/mp4", "application/jsonx"])
def test_other_content_is_refused(kind: str) -> None:
    with pytest.raises(RefusedError, match="cannot be read as text"):
        read(b"x", kind, path="/x.pdfs")


HOSTILE = {
    "deep JSON": ("[" * 1_000_000, "application/json"),
    "a long string": ('["' + "a" * 2_000_000, "application/json"),
    "quotes": ('["' * 600_000, "application/json"),
    "addresses": (json.dumps([f"https://o.example/{number}" for number in range(50_000)]), "application/json"),
    "deep XML": ("<rss>" + "<item>" * 300_000, "text/xml"),
    "a billion laughs": ("<!DOCTYPE rss [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><rss><channel>&b;</channel></rss>", "text/xml"),
    "entries": (f"<rss><channel>{'<item><description>' + '&lt;div&gt;' * 200 + '</description></item>'}" * 400, "text/xml"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_give_bounded_text_in_bounded_time(name: str) -> None:
    started = time.process_time()
    try:
        found = read(*HOSTILE[name])
    except RefusedError:
        return
    assert sum(map(len, found.lines)) <= 1_500_000 and max(map(len, found.lines)) <= WIDTH + 60
    assert time.process_time() - started < 5
    with pytest.raises(RefusedError, match="no link"):
        found.leads_to(MAX_LINKS)


def test_a_page_that_is_longer_than_what_is_shown_says_so() -> None:
    assert read("word\n" * 30_000, "text/plain").lines[-1] == "[The page is longer. The rest was not loaded.]"
    assert "longer" not in read("word\n" * 300, "text/plain").lines[-1]
