"""The rule of what is left out: known things by their kind, unknown ones where they hold or point to something."""

from collections import Counter

import pytest

from chatui.display import files as display_files
from chatui.documents.kinds import UnreadThing
from chatui.documents.reading import FileReading, TextPart, read
from chatui.models.files import DocumentPart, DocumentText, FileContent
from chatui.store import document_frames
from chatui.store import documents as store_documents
from chatui.store.document_frames import Document
from tests.chatui.documents import samples
from tests.support.document_files import counted, counted_parts, looked_into, things
from tests.support.limits import limit

KNOWN = things(read={"p", "t"}, plain={"look"}, counted={"chart": UnreadThing.CHART})
OTHER = {UnreadThing.OTHER: 1}


@pytest.mark.parametrize(
    ("written", "is_read", "counts"),
    [
        ("<p>words</p>", True, {}),
        ("<look>words<chart/></look>", False, {}),
        ("<chart><t>words</t></chart>", False, {UnreadThing.CHART: 1}),
        ("<new/>", False, {}),
        ("<new> \n </new>", False, {}),
        ('<new colour="red"/>', False, {}),
        ("<new>words</new>", False, OTHER),
        ("<new><newer>words</newer><newer>words</newer></new>", False, OTHER),
        ("<new><newer/>words</new>", False, OTHER),
        ('<new value="5"/>', False, OTHER),
        ('<new value=""/>', False, {}),
        ('<new src="a.png"/>', False, OTHER),
        ('<new xmlns:r="http://x/relationships" r:anything="rId1"/>', False, OTHER),
        ('<new xmlns:x="http://www.w3.org/1999/xlink" x:href="a.png"/>', False, OTHER),
        ("<new><p>words</p></new>", True, {}),
        ("<new>words<p>words</p></new>", True, OTHER),
        ("<new><chart/></new>", True, {}),
    ],
)
def test_an_element_is_read_or_plain_or_counts(written: str, is_read: bool, counts: Counter[UnreadThing]) -> None:
    assert looked_into(KNOWN, written) == (is_read, counts)


def test_parts_of_unknown_types_count() -> None:
    assert counted_parts(KNOWN, ["p", "look", "chart", "chart", "wonder"]) == {UnreadThing.CHART: 2, UnreadThing.OTHER: 1}


def test_counts_have_a_limit() -> None:
    most = limit("chatui.documents.inside", "MAX_UNREAD")
    assert counted(0, most, 5) == {UnreadThing.CHART: most}


@pytest.mark.django_db
def test_the_person_and_the_model_read_one_line_about_each_kind() -> None:
    content = FileContent(size=1)
    found = FileReading("docx", (TextPart("", "words"),), unread=((UnreadThing.COMMENT, 3), (UnreadThing.CHART, 1)))
    text = DocumentText(content=content, left_out="\n".join(f"{kind} {count}" for kind, count in found.unread))
    assert store_documents.unread(text) == found.unread and store_documents.left_out(text) == {}
    assert display_files._note(text) == "Left out: 3 comments, 1 chart."
    frame = document_frames.whole(Document("a.docx", "docx", (DocumentPart(number=1, text="words"),), unread=found.unread)).frame
    assert " Left out: 3 comments, 1 chart. What follows" in frame.body
    for kind in UnreadThing:
        everything = Document("a.docx", "docx", (), unread=((kind, 2),))
        assert "Left out: 2 " in document_frames.whole(everything).frame.body
        assert display_files._note(DocumentText(left_out=f"{kind} 2")).startswith("Left out: 2 ")


async def test_what_a_sheet_has_beside_its_cells_is_counted() -> None:
    cell = "<row><c><v>1</v></c></row>"
    more = "<pageMargins left='1'/><wonder>words</wonder><future r:id='rId9'/><smartTags><r/></smartTags>"
    found = await read("a.xlsx", samples.xlsx({"A": cell + more + cell}))
    assert found.parts[0].text == "1\n1" and dict(found.unread) == {UnreadThing.OTHER: 3}
