"""Searching one's own conversations: what is found, where a result leads, and that a query has no special syntax."""

import re
from uuid import UUID

import pytest
from django.core.cache import cache
from django.db import connection

from chatui.display import conversation_actions, search
from chatui.limits import Throttle
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message, SearchEntry
from chatui.models.user import User
from chatui.store import search_index, search_words, transcripts
from chatui.transfer import imports
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.support.cost import costs_at_most
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db


def say(row: Conversation, parent: Message | None, text: str, header: Header | None = None) -> Message:
    author = Author.PERSON if header is None else Author.MODEL
    return add_message(row, parent, Frame(header or Header("user"), text), author)


def answer(row: Conversation, parent: Message, text: str) -> Message:
    return say(row, parent, text, Header("assistant", channel="final"))


def index_bytes() -> bytes:
    """The content of SQLite's index, after an integrity check."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO chatui_words(chatui_words) VALUES ('integrity-check')")
        cursor.execute("SELECT block FROM chatui_words_data")
        return b"".join(block for (block,) in cursor)


def excerpts(person: User, text: str) -> list[str]:
    return ["".join(piece.text for piece in hit.excerpt) for hit in search.search(person, text).hits]


@pytest.fixture
def talk(conversation: Conversation, ada: User) -> Message:
    question = say(conversation, None, "How do I restore a backup of the garden?")
    thought = say(conversation, question, "The person mentions walruses.", Header("assistant", channel="analysis"))
    final = answer(conversation, thought, "Stop the server, then **restore** the file.\n\nRésumé: 東京都庁へ行く。")
    open_branch(conversation, ada, final)
    return final


def test_visible_words_are_found(talk: Message, ada: User) -> None:
    for typed in ("restore", "RESTO", "garden backup", "resume", "東京", "都庁", "  server   file "):
        assert search.search(ada, typed).hits, typed


def test_hidden_text_and_control_words_are_not_found(talk: Message, ada: User) -> None:
    for typed in ("walruses", "walr", "mentions", "restore walruses", "assistant", "analysis", "final", "wombat", "東庁"):
        results = search.search(ada, typed)
        assert results.hits == () and results.before is None and not results.is_empty_query, typed
    assert not SearchEntry.objects.filter(terms__contains="walr").exists()


def test_the_products_own_notes_are_not_found(talk: Message, conversation: Conversation, ada: User) -> None:
    for name, found in (("reasoning_summary", 0), ("tool_activity", 0), (None, 1)):
        say(conversation, talk, "Compared three wombats", Header("assistant", channel="commentary", intent="preamble", name=name))
        assert len(search.search(ada, "wombats").hits) == found


def test_nobody_finds_somebody_elses_text(talk: Message, bela: User, grace: User) -> None:
    assert [search.search(person, "restore").hits for person in (bela, grace)] == [(), ()]
    assert [search_index.find(person, search_words.query("restore"), 20) for person in (bela, grace)] == [[], []]


def test_each_person_has_a_separate_part_of_the_index(ada: User, bela: User, talk: Message) -> None:
    other = Conversation.objects.create(owner=bela, title="Bela's")
    say(other, None, "restore")
    beginnings = {term[:10] for terms in SearchEntry.objects.values_list("terms", flat=True) for term in terms.split()}
    assert len(beginnings) == 2


def test_the_owner_column_is_checked_even_if_index_prefixes_collide() -> None:
    alike = [User.objects.create(pk=UUID(int=number), username=f"person{number}") for number in (290_445, 3_452_483)]
    for person in alike:
        say(Conversation.objects.create(owner=person, title="Of one"), None, f"restore the fence of {person}")
    beginnings = {term[:10] for terms in SearchEntry.objects.values_list("terms", flat=True) for term in terms.split()}
    assert len(beginnings) == 1, "the premise: look for another pair of keys if prefixes are made in another way"
    assert [excerpts(person, "restore") for person in alike] == [[f"restore the fence of {person}"] for person in alike]


def test_the_bin_is_not_searched_but_restored_conversations_are(talk: Message, ada: User) -> None:
    conversation_actions.delete(ada, talk.conversation_id)
    assert search.search(ada, "restore").hits == ()
    conversation_actions.restore(ada, talk.conversation_id)
    assert len(search.search(ada, "restore").hits) == 2


def test_erased_conversations_leave_no_word_in_the_index(talk: Message, conversation: Conversation, ada: User) -> None:
    conversation_actions.rename(ada, conversation.pk, "Of cabbages")
    search_index.tidy()
    assert b"bbages" in index_bytes() and b"store" in index_bytes(), "the premise: this is where words are"
    conversation.delete()
    search_index.tidy()
    assert not SearchEntry.objects.exists()
    assert b"bbages" not in index_bytes() and b"store" not in index_bytes()


def test_a_title_set_by_its_owner_is_found(talk: Message, conversation: Conversation, ada: User) -> None:
    assert search.search(ada, "cabbages").hits == ()
    for title in ("Of cabbages", "Of cabbages and kings"):
        conversation_actions.rename(ada, conversation.pk, title)
    (hit,) = search.search(ada, "cabbages").hits
    assert [(piece.text, piece.is_hit) for piece in hit.title] == [("Of ", False), ("cabbages", True), (" and kings", False)]
    assert (hit.excerpt, hit.writer, hit.url) == ((), "", f"/c/{conversation.pk}/")
    conversation_actions.rename(ada, conversation.pk, "Something else")
    assert search.search(ada, "cabbages").hits == ()


def test_imported_visible_text_is_found_and_hidden_text_is_not(ada: User) -> None:
    document = (
        "version: 2.2\n\n<|start|>developer<|message|>walruses<|end|>\n<|start|>user<|message|>About cabbages<|end|>\n"
        "<|start|>assistant<|channel|>analysis<|message|>kings<|end|>\n<|start|>assistant<|channel|>final<|message|>Of wax<|return|>\n"
    )
    imported = imports.import_transcript(ada, document.encode())
    assert imported.conversation.title == "About cabbages"
    assert [len(search.search(ada, word).hits) for word in ("cabbages", "wax", "walruses", "kings")] == [1, 1, 0, 0]


def test_of_equal_messages_in_a_conversation_the_newest_is_found(conversation: Conversation, ada: User) -> None:
    first = say(conversation, None, "Where do walruses winter?")
    answer(conversation, first, "Walruses winter in the north.")
    newest = answer(conversation, first, "Walruses winter in the north.")
    other = answer(conversation, first, "Walruses winter on the ice.")

    found = search.search(ada, "walruses winter").hits

    assert [hit.url.split("/")[-2] for hit in found] == [str(message.pk) for message in (other, newest, first)]


def test_results_are_paged_with_the_newest_first(conversation: Conversation, ada: User) -> None:
    parent = None
    for number in range(45):
        parent = say(conversation, parent, f"cabbage number {number}")
    seen: list[str] = []
    before = None
    for size in (20, 20, 5):
        page = search.search(ada, "cabbage", before)
        assert len(page.hits) == size
        seen += ["".join(piece.text for piece in hit.excerpt) for hit in page.hits]
        before = page.before
    assert before is None
    assert seen == [f"cabbage number {number}" for number in reversed(range(45))]


def test_no_character_in_a_query_is_an_operator_or_an_error(talk: Message, ada: User) -> None:
    client = signed_in(ada)
    for typed in (
        '" OR "',
        "NOT restore",
        "res*tore",
        "NEAR(restore file)",
        "terms:restore",
        "chatui_words",
        "(",
        "^restore",
        "-restore",
        "restore & !file",
        "'restore':*",
        "\\'",
        "'; DROP TABLE chatui_message; --",
        "%s",
        "{0}",
        "a\x00b",
        "\ud800",
        "😀",
        "\u202e",
        "ä" * 5000,
        "東" * 500,
        " ".join("abcdefghij" * 20),
        "⅓ ﷽",
        "<b>restore</b>",
    ):
        for hit in search.search(ada, typed).hits:
            text = "".join(piece.text for piece in hit.excerpt).casefold()
            assert all(word.folded in text for word in search_words.query(typed[:200]).wanted), f"{typed}: not every word is in it"
        assert client.get("/search/", {"q": typed.encode("utf-8", "replace").decode()}).status_code == 200, typed


def test_a_query_of_operators_matches_those_words(talk: Message, ada: User) -> None:
    assert search.search(ada, "restore NOT garden").hits == (), "no text contains the word not"
    assert len(search.search(ada, "restore -garden").hits) == 1, "the minus has no effect"


@pytest.mark.parametrize("before", ["", "-1", "9" * 40, "٣"])
def test_an_invalid_page_number_is_no_error(before: str, talk: Message, ada: User) -> None:
    assert signed_in(ada).get("/search/", {"q": "restore", "before": before}).status_code == 200


def test_html_in_a_message_or_a_query_is_escaped(conversation: Conversation, ada: User) -> None:
    say(conversation, None, '<img src=x onerror=alert(1)> cabbage <mark>"&amp;')
    conversation_actions.rename(ada, conversation.pk, "<b>cabbage</b>")
    page = signed_in(ada).get("/search/", {"q": "cabbage"}).content.decode()
    assert "&lt;img src=x onerror=alert(1)&gt; <mark>cabbage</mark> &lt;mark&gt;&quot;&amp;amp;" in page
    assert "&lt;b&gt;<mark>cabbage</mark>&lt;/b&gt;" in page
    assert set(re.findall(r"</?([a-z]+)", page)) <= {"ol", "li", "a", "span", "mark", "time"}


def test_an_excerpt_is_short_and_around_the_first_match(conversation: Conversation, ada: User) -> None:
    say(conversation, None, "before " * 500 + "CABBAGE" + " behind" * 500)
    (text,) = excerpts(ada, "cabbage")
    assert "CABBAGE" in text and text.startswith("…before") and text.endswith("…") and len(text) < 260


@pytest.mark.parametrize("before", ["\t", "天", "|"])
def test_an_excerpt_without_spaces_is_short_and_quick(before: str, conversation: Conversation, ada: User) -> None:
    say(conversation, None, before * 60_000 + "CABBAGE behind")
    (text,) = excerpts(ada, "cabbage")
    assert "CABBAGE" in text and text.startswith("…") and len(text) < 260
    assert costs_at_most(1000, lambda: excerpts(ada, "cabbage"))


def test_an_excerpt_is_what_people_see_of_an_answer(conversation: Conversation, ada: User) -> None:
    question = say(conversation, None, "Is **this** typed, # and | that?\n```\ncabbage = 1\n```")
    text = (
        "# Cabbage\n\n- one [leaf](https://example.org/kale) of `red`\n\n---\n\n| a | b |\n|---|---|\n| 1 &amp; 2 | **3** |\n\nre**store**d"
    )
    answer(conversation, question, text)
    found = [" ".join(excerpt.split()) for excerpt in excerpts(ada, "cabbage")]
    assert found == ["Cabbage one leaf of red a b 1 & 2 3 restored", "Is **this** typed, # and | that? cabbage = 1"]
    assert excerpts(ada, "kale") == [], "the address behind a link is not shown"
    assert len(excerpts(ada, "restored")) == 1, "people see one word"


def test_an_excerpt_from_the_middle_of_code_is_code(conversation: Conversation, ada: User) -> None:
    code = "\n\n".join(f"*pointer_{number} = **other;" for number in range(400))
    answer(conversation, say(conversation, None, "How?"), f"So:\n\n```c\n{code}\n```\n\nThat is **all**.")
    (text,) = excerpts(ada, "200")
    assert "*pointer_200 = **other;" in text
    (text,) = excerpts(ada, "all")
    assert text.endswith("That is all.")


def test_a_message_longer_than_an_index_entry_is_found_by_its_beginning(conversation: Conversation, ada: User) -> None:
    long = " ".join(f"wörd{number}" for number in range(70_000))
    say(conversation, None, long)
    (entry,) = SearchEntry.objects.all()
    assert len(long) > search_index.ENTRY_BYTES and len(entry.terms.encode()) < 1_000_000
    assert len(search.search(ada, "wörd77").hits) == 1
    assert search.search(ada, "wörd69999").hits == ()


def test_a_result_opens_the_branch_of_its_message(talk: Message, conversation: Conversation, ada: User) -> None:
    other = say(conversation, None, "What about cabbages instead?")
    client = signed_in(ada)
    assert transcripts.active_leaf(conversation, ada) == talk, "the premise: the other branch is open"
    (hit,) = search.search(ada, "cabbages").hits
    response = client.get(hit.url)
    assert response["Location"] == f"/c/{conversation.pk}/?at={other.pk}&words=cabbages#m-{other.pk}"
    assert transcripts.active_leaf(conversation, ada) == other
    assert f'id="m-{other.pk}"' in client.get(f"/c/{conversation.pk}/").content.decode()


def test_a_result_on_the_open_branch_does_not_switch_it(talk: Message, conversation: Conversation, ada: User) -> None:
    question = Message.objects.get(conversation=conversation, role="user")
    newer = answer(conversation, question, "A newer answer.")
    assert transcripts.deepest(conversation, question) == newer, "the premise: continuing from the question would lead elsewhere"
    signed_in(ada).get(f"/c/{conversation.pk}/at/{question.pk}/")
    assert transcripts.active_leaf(conversation, ada) == talk


def test_searching_is_rate_limited(talk: Message, ada: User, bela: User) -> None:
    client = signed_in(ada)
    assert Throttle("search", attempts=120, seconds=60).take(117, str(ada.pk)) == 0
    statuses = [client.get("/search/", {"q": "restore"}).status_code for _ in range(4)]
    assert statuses == [200] * 3 + [429]
    assert signed_in(bela).get("/search/", {"q": "restore"}).status_code == 200, "others need not wait"
    cache.clear()
    assert client.get("/search/", {"q": "restore"}).status_code == 200


def test_an_empty_query_shows_no_message(talk: Message, ada: User) -> None:
    for typed in ("", "  ", "?!"):
        assert search.search(ada, typed).is_empty_query
        assert "search-none" not in signed_in(ada).get("/search/", {"q": typed}).content.decode()
