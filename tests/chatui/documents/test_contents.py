"""The rule of what is left out: known things by their kind, unknown ones where they hold or point to something."""

from collections import Counter

import pytest

from chatui.documents.kinds import UnreadThing
from chatui.documents.reading import read
from chatui.models.files import DocumentText
from chatui.models.user import User
from tests.chatui.conftest import signed_in
from tests.chatui.documents import samples
from tests.chatui.store.test_documents import talk_with
from tests.chatui.store.uploads import uploaded
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


def test_the_person_and_the_model_read_one_line_about_each_kind(ada: User) -> None:
    client = signed_in(ada)

    def read_of(**counts: int) -> tuple[str, str]:
        """What the person reads at a file of which this was left out, and what the model is sent."""
        file = uploaded(ada, "a.txt", "words")
        DocumentText.objects.update(left_out="\n".join(f"{kind} {count}" for kind, count in counts.items()))
        [sent] = talk_with(ada, file).messages.filter(name="document")
        return str(client.post(f"/files/{file.pk}/again/").json()), sent.text

    assert not any("Left out" in read for read in read_of()), "the premise"
    shown, sent = read_of(**{UnreadThing.COMMENT.value: 3, UnreadThing.CHART.value: 1})
    assert "Left out: 3 comments, 1 chart." in shown and " Left out: 3 comments, 1 chart. What follows" in sent
    for kind in UnreadThing:
        assert all("Left out: 2 " in read for read in read_of(**{kind.value: 2})), kind


async def test_what_a_sheet_has_beside_its_cells_is_counted() -> None:
    cell = "<row><c><v>1</v></c></row>"
    more = "<pageMargins left='1'/><wonder>words</wonder><future r:id='rId9'/><smartTags><r/></smartTags>"
    found = await read("a.xlsx", samples.xlsx({"A": cell + more + cell}))
    assert found.parts[0].text == "1\n1" and dict(found.unread) == {UnreadThing.OTHER: 3}
