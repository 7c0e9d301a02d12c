"""The lines of a reasoning summary on pages: in the language of the page, and naming only what the page has."""

import html
import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone, translation
from django.utils.translation import gettext, override

from chatui.display import activities
from chatui.display.conversation import shown_exchange
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.site.languages import LANGUAGES
from chatui.store import documents as store_documents
from renderer.activities.activity import Activity
from renderer.activities.frame import frame_of
from renderer.activities.kinds import KINDS
from renderer.frame_kinds import ANSWER
from renderer.frames import Frame, Header, Role, Terminator
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import uploaded
from tests.support.cases import for_each
from tests.support.messages import add_documents, add_message, open_branch
from tests.support.summary_lines import summary_line

pytestmark = pytest.mark.django_db

LINES = (Activity("compare", ("Trains", "O'Hare")), Activity("review", ("plan.py",)), Activity("calc"))


@pytest.fixture
def turn(ada: User) -> Turn:
    """A turn that compared two things and read a file."""
    row = Conversation.objects.create(owner=ada, title="Ways", effort="low")
    plan = add_documents(row, uploaded(ada, "plan.py", "print()"))
    question = add_message(row, plan, Frame(Header(Role.USER), "Trains or O'Hare?"), Author.PERSON)
    fields = {"lease_until": timezone.now(), "effort": "low", "thought_seconds": 12, "finished_at": timezone.now()}
    turn = Turn.objects.create(conversation=row, question=question, asked_by=ada, client_id=uuid4(), state=TurnState.COMPLETED, **fields)
    summary = add_message(row, question, frame_of(LINES), Author.PRODUCT, turn_id=turn.pk, activities=LINES)
    answer = add_message(row, summary, Frame(ANSWER, "By train.", Terminator.RETURN), Author.MODEL, turn_id=turn.pk)
    open_branch(row, ada, answer)
    return turn


def lines_on(person: User, turn: Turn, language: str = "en") -> list[str]:
    """The lines in the fold of the page, with their markup."""
    page = signed_in(person).get(f"/c/{turn.conversation_id}/", headers={"accept-language": language}).content.decode()
    fold = page.split('<details class="thought" id="m-')[1].split("</details>")[0]
    return [re.sub(r"\s*>", ">", line) for line in re.findall(r"<li>(.*?)</li>", fold, re.DOTALL)]


def test_a_page_sets_apart_what_the_person_wrote(ada: User, turn: Turn) -> None:
    spans = "<bdi>Trains</bdi>", "<bdi>O&#x27;Hare</bdi>", "<bdi>plan.py</bdi>"
    assert lines_on(ada, turn) == [f"Comparing {spans[0]} and {spans[1]}", f"Reviewing {spans[2]}", "Doing the calculation"]
    for language in LANGUAGES:
        found = lines_on(ada, turn, language)
        with translation.override(language):
            assert found[2] == html.escape(translation.gettext("Doing the calculation"))
        assert all(span in found[0] for span in spans[:2]) and spans[2] in found[1]


def test_a_name_is_left_out_when_its_file_is_deleted(ada: User, turn: Turn) -> None:
    store_documents.delete(turn.conversation.files.get())
    assert lines_on(ada, turn)[1:] == ["Reviewing the code", "Doing the calculation"]
    assert lines_on(ada, turn)[0].startswith("Comparing <bdi>Trains</bdi>"), "the question is still there"


def test_a_value_that_is_none_of_ours_is_left_out(ada: User, turn: Turn) -> None:
    Message.objects.filter(turn=turn, name="reasoning_summary").update(activities=[["calc"], ["shout", "x"], "calc", ["compare", "a"]])
    assert lines_on(ada, turn) == ["Doing the calculation"]


def test_the_part_of_a_page_that_shows_one_exchange_has_the_same_lines(ada: User, turn: Turn) -> None:
    thought = shown_exchange(turn.conversation, turn).answer.thought  # type: ignore[union-attr]
    assert thought is not None
    page = [re.sub("</?bdi>", "", html.unescape(line)) for line in lines_on(ada, turn)]
    assert ["".join(part.text for part in step.parts) for step in thought.steps] == page


def test_the_lines_stay_out_of_share_links_and_search_but_not_out_of_downloads(ada: User, turn: Turn) -> None:
    client, leaf = signed_in(ada), str(turn.messages.get(channel="final").pk)
    client.post(f"/c/{turn.conversation_id}/share/", {"leaf": leaf, "days": "7"})
    shared = Client().get(f"/s/{turn.conversation.share_links.get().token}/").content.decode()
    assert "By train." in shared and "Doing the calculation" not in shared
    assert "Doing the calculation" not in client.get("/search/?q=calculation").content.decode()
    for form in ("openchatml", "markdown", "json"):
        assert "Reviewing plan.py" in client.get(f"/c/{turn.conversation_id}/download/?format={form}").content.decode()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_has_a_place_for_each_span_in_every_language(language: str) -> None:
    with translation.override(language):
        for kind in KINDS.values():
            spans = tuple(f"⟨{number}⟩" for number in range(kind.named.count("{}")))
            for activity in (Activity(kind.name), Activity(kind.name, spans)):
                parts = summary_line(activity).parts
                assert [part.text for part in parts if part.is_span] == list(activity.about)
                assert not any("{}" in part.text for part in parts) and any(not part.is_span for part in parts)


# Lines of reasoning summaries in the languages of the pages.


@for_each(KINDS.values())
def test_every_kind_has_a_sentence_in_every_language(kind: Any) -> None:
    for pattern in filter(None, (kind.sentence, kind.named)):
        about = ("one", "two")[: pattern.count("{}")]
        line = activities.line(Activity(kind.name, about))
        assert line.sentences.keys() == set(LANGUAGES)
        assert line.sentences["en"] == pattern
        assert len(set(line.sentences.values())) == len(LANGUAGES), "each language has its own"
        assert all(sentence.count("{}") == len(about) for sentence in line.sentences.values())
        assert all(len(sentence) <= 50 for sentence in line.sentences.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_kinds_have_the_same_sentence(language):
    patterns = [pattern for kind in KINDS.values() for pattern in (kind.sentence, kind.named) if pattern]
    with override(language):
        assert len({gettext(pattern) for pattern in patterns}) == len(patterns)
