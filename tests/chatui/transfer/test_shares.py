"""Share links: what a reader sees, for how long, who creates and revokes links, and that invalid links look like unknown ones."""

import re
import time
from datetime import timedelta
from importlib import import_module
from uuid import uuid4

import pytest
import pytest_django
from django.apps import apps
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pydantic import ValidationError

from chatui import wire
from chatui.audit_log.record import Visitor
from chatui.display import conversation_actions, conversation_list
from chatui.env import Environment
from chatui.guesses import GuessLimit, Scope
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message, OpenedPage
from chatui.models.shares import ShareLink
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import bulk_append, transcripts
from chatui.transfer import shares
from chatui.transfer.shares import Link, ShareOptions
from renderer.frames import Frame, Header
from tests.chatui.conftest import refuse_log, signed_in
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db


def say(row: Conversation, parent: Message | None, text: str, header: Header, author: Author = Author.MODEL) -> Message:
    return add_message(row, parent, Frame(header, text), author)


@pytest.fixture
def leaf(conversation: Conversation, ada: User) -> Message:
    first = say(conversation, None, "HIDDEN-INSTRUCTIONS", Header("developer"), Author.PRODUCT)
    question = say(conversation, first, "Is <b>this</b> shared?", Header("user"), Author.PERSON)
    thought = say(conversation, question, "HIDDEN-THOUGHT", Header("assistant", channel="analysis"))
    summary = say(
        conversation,
        thought,
        "SUMMARY-OF-THE-THINKING",
        Header("assistant", channel="commentary", intent="preamble", name="reasoning_summary"),
        Author.PRODUCT,
    )
    plan = say(conversation, summary, "Let me *look*.", Header("assistant", channel="commentary", intent="preamble"))
    final = say(conversation, plan, "It **is**.", Header("assistant", channel="final"))
    open_branch(conversation, ada, final)
    return final


def limit(settings: pytest_django.Settings, **changes: object) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update=changes)


def make(person: User, leaf: Message, /, **data: str) -> ShareLink:
    response = signed_in(person).post(f"/c/{leaf.conversation_id}/share/", {"leaf": str(leaf.pk), "days": "7", **data})
    assert response.status_code == 302, response.status_code
    return ShareLink.objects.latest("created_at")


def read(link: ShareLink, client: Client | None = None) -> str:
    response = (client or Client()).get(f"/s/{link.token}/")
    assert response.status_code == 200
    return response.content.decode()


def is_gone(link: ShareLink) -> bool:
    return Client().get(f"/s/{link.token}/").status_code == 404


def without_pieces(page: str) -> str:
    """A page without the empty things in it that scripts copy."""
    return re.sub(r"(?s)<template.*?</template>", "", page)


def snapshot_in(page: str) -> str:
    """The shared text of a page, without the level of its title."""
    found = re.search(r'<article class="shared">.*?</article>', page, re.DOTALL)
    assert found
    return re.sub(r'aria-level="\d"', "", found[0])


def test_anybody_with_the_link_reads_what_the_preview_showed(leaf: Message, ada: User) -> None:
    preview = signed_in(ada).get(f"/c/{leaf.conversation_id}/share/").content.decode()
    page = read(make(ada, leaf))
    assert "This is what they will see" in preview
    assert snapshot_in(page) == snapshot_in(preview)
    shown = shares.read(ShareLink.objects.get().token).messages
    assert [message.kind for message in shown] == ["question", "preamble", "final"], "a question never looks like an answer"
    assert all(message.is_complete for message in shown)
    assert "Is &lt;b&gt;this&lt;/b&gt; shared?" in page and "It <strong>is</strong>." in page and "Let me <em>look</em>." in page


def test_a_snapshot_has_no_hidden_text_and_no_notes_for_the_owner(leaf: Message, ada: User) -> None:
    page = read(make(ada, leaf))
    assert "HIDDEN" not in page and "SUMMARY" not in page


def test_a_citation_leads_to_no_page_that_was_opened_elsewhere_in_the_conversation(conversation: Conversation, ada: User) -> None:
    question = say(conversation, None, "Tea?", Header("user"), Author.PERSON)
    shared, later = (
        Turn.objects.create(
            conversation=conversation, question=question, asked_by=ada, client_id=uuid4(), lease_until=timezone.now(), state=state
        )
        for state in ("completed", "stopped")
    )
    page_frame = Frame(Header("tool", name="browser.open"), "HIDDEN-PAGE")
    opening = add_message(conversation, question, page_frame, Author.PRODUCT, turn_id=shared.pk)
    final = Frame(Header("assistant", channel="final"), "So it is【0†L1】【1†L1】.")
    link = make(ada, add_message(conversation, opening, final, Author.MODEL, turn_id=shared.pk))
    OpenedPage.objects.create(turn=shared, cursor=0, url="https://tea.example/", title="Tea")
    OpenedPage.objects.create(turn=later, cursor=1, url="https://clinic.example/", title="What nobody is to know")
    page = read(link)
    assert "tea.example" in page and "clinic.example" not in page and "nobody" not in page


def test_a_preview_has_no_page_that_a_later_unfinished_answer_opened(conversation: Conversation, ada: User) -> None:
    question = say(conversation, None, "Tea?", Header("user"), Author.PERSON)
    turn = Turn.objects.create(
        conversation=conversation, question=question, asked_by=ada, client_id=uuid4(), lease_until=timezone.now(), state="stopped"
    )
    final = say(conversation, question, "So it is【0†L1】.", Header("assistant", channel="final"))
    opening = Frame(Header("tool", name="browser.open"), "HIDDEN-PAGE")
    last = add_message(conversation, final, opening, Author.PRODUCT, turn_id=turn.pk)
    open_branch(conversation, ada, last)
    OpenedPage.objects.create(turn=turn, cursor=0, url="https://clinic.example/", title="What nobody is to know")
    preview = signed_in(ada).get(f"/c/{conversation.pk}/share/").content.decode()
    assert "So it is" in preview and "clinic.example" not in preview
    assert snapshot_in(preview) == snapshot_in(read(make(ada, final)))


def test_no_id_name_or_token_of_the_owner_is_in_it(leaf: Message, ada: User) -> None:
    response = Client().get(f"/s/{make(ada, leaf).token}/")
    page = response.content.decode()
    ids = [*Message.objects.values_list("pk", flat=True), leaf.conversation_id, ada.pk, *ShareLink.objects.values_list("pk", flat=True)]
    assert [str(key) for key in ids if str(key) in page or key.hex in page] == []
    # "ada" would be in many words; the title of the fixture names her, and nothing else does.
    assert len(re.findall(r"\bada\b", page, re.IGNORECASE)) == len(re.findall(r"Ada&#x27;s conversation", page))
    assert "csrf" not in page and not response.cookies


def test_the_owner_is_named_only_if_they_want_it(leaf: Message, ada: User) -> None:
    ada.first_name, ada.last_name = "Ada", "Byron"
    ada.save()
    assert "Ada Byron" not in read(make(ada, leaf))
    assert "Shared by Ada Byron" in read(make(ada, leaf, named="yes"))


def test_the_headers_forbid_indexing_caching_and_referrers(leaf: Message, ada: User) -> None:
    response = Client().get(f"/s/{make(ada, leaf).token}/")
    assert (
        response["X-Robots-Tag"] == "noindex, nofollow, noarchive" and '<meta name="robots" content="noindex">' in response.content.decode()
    )
    assert response["Referrer-Policy"] == "no-referrer" and "no-store" in response["Cache-Control"]


def test_a_snapshot_does_not_grow_when_the_conversation_goes_on(leaf: Message, conversation: Conversation, ada: User) -> None:
    link = make(ada, leaf)
    before = read(link)
    more = say(conversation, leaf, "And later?", Header("user"), Author.PERSON)
    open_branch(conversation, ada, say(conversation, more, "LATER", Header("assistant", channel="final")))
    conversation_actions.rename(ada, conversation.pk, "LATER TITLE")
    assert read(link) == before


def test_the_previewed_branch_is_shared_even_if_the_conversation_has_continued(leaf: Message, ada: User) -> None:
    page = signed_in(ada).get(f"/c/{leaf.conversation_id}/share/").content.decode()
    more = say(leaf.conversation, leaf, "LATER", Header("user"), Author.PERSON)
    open_branch(leaf.conversation, ada, more)
    shown = re.search(r'name="leaf" value="([^"]+)"', page)
    assert shown and "LATER" not in read(make(ada, leaf, leaf=shown[1]))


@pytest.mark.parametrize("token", ["x", "A" * 22, "A" * 2000, "%2e%2e", "%00", "٣" * 22])
def test_malformed_tokens_are_not_found(token: str, leaf: Message, ada: User) -> None:
    make(ada, leaf)
    assert Client().get(f"/s/{token}/").status_code == 404


def test_unknown_expired_and_revoked_links_get_the_same_response(leaf: Message, ada: User) -> None:
    ended, revoked, binned = (make(ada, leaf) for _ in range(3))
    ShareLink.objects.filter(pk=ended.pk).update(expires_at=timezone.now() - timedelta(days=1))
    ShareLink.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())
    conversation_actions.delete(ada, binned.conversation_id)
    answers = [Client().get(f"/s/{token}/") for token in ("A" * 22, ended.token, revoked.token, binned.token)]
    seen = {
        (answer.status_code, re.sub(r'class="incident">[0-9a-f]{16}|csrf-token" content="[^"]*"', "", answer.content.decode()))
        for answer in answers
    }
    assert len(seen) == 1 and {status for status, _ in seen} == {404}
    assert len({tuple(sorted(answer.headers)) for answer in answers}) == 1


def guess(count: int) -> None:
    """As many wrong links from the address of the test client."""
    for _ in range(count):
        GuessLimit("share link", address=Scope(free=59, longest=60, window=600)).miss("127.0.0.1")


def test_guessing_links_is_limited_per_address(leaf: Message, ada: User) -> None:
    link = make(ada, leaf)
    guess(57)
    answers = [Client().get(f"/s/{number:022d}/") for number in range(4)]
    assert [answer.status_code for answer in answers] == [404] * 3 + [429]
    assert f"Try again in {answers[-1]['Retry-After']} second" in answers[-1].content.decode()
    assert Client().get(f"/s/{link.token}/").status_code == 200, "a right link works, even if somebody behind the same address has guessed"
    assert Client(REMOTE_ADDR="192.0.2.9").get(f"/s/{link.token}/").status_code == 200
    cache.clear()
    guess(57)
    assert [Client().get(f"/s/{link.token}/").status_code for _ in range(4)] == [200] * 4
    assert Client().get(f"/s/{0:022d}/").status_code == 404, "reading does not count as guessing"


def test_nobody_revokes_other_peoples_links(leaf: Message, ada: User, bela: User) -> None:
    link = make(ada, leaf)
    client = signed_in(bela)
    assert client.post(f"/shares/{link.pk}/revoke/").status_code == 404
    assert client.post(f"/c/{leaf.conversation_id}/share/revoke/").status_code == 404
    assert client.post("/shares/revoke/").status_code == 302
    assert not is_gone(link)
    assert link.token not in client.get("/shares/").content.decode()


def test_a_leaf_of_another_conversation_or_a_hidden_one_is_not_shared(leaf: Message, ada: User, bela: User) -> None:
    foreign = say(Conversation.objects.create(owner=bela, title="Bela's"), None, "SECRET", Header("user"), Author.PERSON)
    own = say(Conversation.objects.create(owner=ada, title="Another"), None, "Mine", Header("user"), Author.PERSON)
    hidden = Message.objects.get(conversation=leaf.conversation, channel="analysis")
    for key in (foreign.pk, own.pk, hidden.pk, uuid4(), "x", ""):
        response = signed_in(ada).post(f"/c/{leaf.conversation_id}/share/", {"leaf": str(key), "days": "7"})
        assert response.status_code == 404
    assert not ShareLink.objects.exists()


@pytest.mark.parametrize("days", ["0", "31", "x", "7.5", "9" * 5000, "٣١"])
def test_a_lifetime_that_is_not_offered_is_refused(days: str, leaf: Message, ada: User) -> None:
    response = signed_in(ada).post(f"/c/{leaf.conversation_id}/share/", {"leaf": str(leaf.pk), "days": days})
    assert response.status_code == 404 and not ShareLink.objects.exists()


def test_only_who_asks_for_a_link_without_end_gets_one(leaf: Message, ada: User, settings: pytest_django.Settings) -> None:
    """0 stands for it, so anything else that is no lifetime must not count as 0."""
    limit(settings, share_max_days=-1)
    for days in ("-1", "31", "x", "", "7.5", "9" * 30):
        response = signed_in(ada).post(f"/c/{leaf.conversation_id}/share/", {"leaf": str(leaf.pk), "days": days})
        assert response.status_code == 404 and not ShareLink.objects.exists(), days
    assert make(ada, leaf, days="0").expires_at is None


@pytest.mark.parametrize(
    ("most", "offered"),
    [(0, []), (1, [1]), (5, [1, 5]), (7, [7, 1]), (30, [7, 1, 30]), (90, [7, 1, 30, 90]), (-1, [7, 1, 30, shares.FOR_EVER])],
)
def test_the_operator_limits_the_lifetimes_to_choose_from(most: int, offered: list[int], settings: pytest_django.Settings) -> None:
    limit(settings, share_max_days=most)
    assert shares.days_to_choose() == offered


def test_the_longest_lifetime_that_an_operator_can_set_works(leaf: Message, ada: User, settings: pytest_django.Settings) -> None:
    most = 36_500
    with pytest.raises(ValidationError, match="share_max_days"):
        Environment(share_max_days=most + 1)
    limit(settings, share_max_days=Environment(share_max_days=most).share_max_days)
    assert not is_gone(make(ada, leaf, days=str(most)))
    assert len(shares.links(ada)) == 1


def test_a_shorter_limit_applies_to_older_links(leaf: Message, ada: User, settings: pytest_django.Settings) -> None:
    link = make(ada, leaf, days="30")
    ShareLink.objects.update(created_at=timezone.now() - timedelta(days=6))
    limit(settings, share_max_days=5)
    assert is_gone(link) and shares.links(ada) == []
    limit(settings, share_max_days=7)
    assert not is_gone(link)
    assert shares.links(ada)[0].ends_at == ShareLink.objects.get().created_at + timedelta(days=7)
    limit(settings, share_max_days=0)
    client = signed_in(ada)
    assert is_gone(link) and client.get(f"/c/{leaf.conversation_id}/share/").status_code == 404
    assert "/share/" not in client.get(f"/c/{leaf.conversation_id}/").content.decode(), "and it is not offered"


def test_creating_links_is_rate_limited(leaf: Message, ada: User) -> None:
    client, address = signed_in(ada), f"/c/{leaf.conversation_id}/share/"
    fields = {"days": "7", "leaf": str(leaf.pk)}
    assert [client.post(address, fields).status_code for _ in range(31)] == [302] * 30 + [429]
    assert ShareLink.objects.count() == 30


def test_links_for_signed_in_people_redirect_others_to_the_sign_in(
    leaf: Message, ada: User, bela: User, settings: pytest_django.Settings
) -> None:
    link = make(ada, leaf)
    limit(settings, share_audience="signed-in")
    for token in (link.token, "A" * 22):
        response = Client().get(f"/s/{token}/")
        assert response.status_code == 302 and response["Location"] == f"/sign-in/?next=/s/{token}/"
    assert "It <strong>is</strong>." in read(link, signed_in(bela))


def test_a_link_that_cannot_be_recorded_is_not_created(leaf: Message, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_log(monkeypatch)
    client = Client(raise_request_exception=False)
    client.force_login(ada)
    response = client.post(f"/c/{leaf.conversation_id}/share/", {"leaf": str(leaf.pk), "days": "7"})
    assert response.status_code == 500 and not ShareLink.objects.exists()


def test_an_empty_conversation_is_not_shared(conversation: Conversation, ada: User) -> None:
    assert signed_in(ada).get(f"/c/{conversation.pk}/share/").status_code == 404


def test_a_truncated_answer_is_marked(conversation: Conversation, ada: User) -> None:
    question = say(conversation, None, "Well?", Header("user"), Author.PERSON)
    cut = add_message(conversation, question, Frame(Header("assistant", channel="final"), "I th"), Author.MODEL, is_complete=False)
    open_branch(conversation, ada, cut)
    assert "This answer was not finished." in read(make(ada, cut))


# A person's own share links: which are listed and revoked on which page, what the page says about readers, and where buttons lead.


@pytest.fixture
def links(ada: User, conversation: Conversation) -> list[Link]:
    """Two links to one conversation of Ada's and one to another, in the order in which they were created."""
    other = Conversation.objects.create(owner=ada, title="Another")
    return [link_to(conversation), link_to(conversation), link_to(other)]


def link_to(row: Conversation) -> Link:
    question = row.messages.first() or add_message(row, None, Frame(Header("user"), "Hello"), Author.PERSON)
    open_branch(row, row.owner, question)
    made = shares.create(Visitor(row.owner, "192.0.2.7", "page"), row.pk, question.pk, 7, ShareOptions())
    ShareLink.objects.filter(pk=made.id).update(created_at=timezone.now() - timedelta(hours=5 - ShareLink.objects.count()))
    return made


def listed(person: User, path: str) -> list[str]:
    """The tokens of the links that a page lists, from above."""
    page = signed_in(person).get(path)
    assert page.status_code == 200
    return [link.token for link, _ in page.context["links"]]


def test_a_conversations_page_lists_its_own_links_and_the_other_page_lists_all(
    links: list[Link], ada: User, bela: User, conversation: Conversation
) -> None:
    first, second, elsewhere = (link.token for link in links)
    assert listed(ada, f"/c/{conversation.pk}/share/") == [second, first], "the newest first"
    assert listed(ada, "/shares/") == [elsewhere, second, first]
    assert listed(bela, "/shares/") == []
    assert [link.token for link in shares.links(ada, conversation.pk)] == [second, first]
    with pytest.raises(access.NotFoundError):
        shares.links(bela, conversation.pk)


def test_the_links_that_were_revoked_are_counted_and_recorded(links: list[Link], ada: User, conversation: Conversation) -> None:
    visitor = Visitor(ada, "192.0.2.7", "page")
    revoke = AuditEvent.objects.filter(action="revoke share link")
    assert shares.revoke(visitor, conversation_id=conversation.pk) == 2 == revoke.count()
    assert [link.id for link in shares.links(ada)] == [links[2].id]
    assert shares.revoke(visitor, conversation_id=conversation.pk) == 0 and revoke.count() == 2, "nothing is revoked twice"
    assert shares.revoke(visitor) == 1 and revoke.count() == 3 and shares.links(ada) == []
    for link in (links[0].id, uuid4()):
        with pytest.raises(access.NotFoundError):
            shares.revoke(visitor, link_id=link)  # type: ignore[arg-type]
    with pytest.raises(access.NotFoundError):
        shares.revoke(Visitor(None, "192.0.2.7", "page"))


@pytest.mark.parametrize(
    ("days", "options", "detail"),
    [
        (1, ShareOptions(), "for 1 days"),
        (30, ShareOptions(name=True), "for 30 days"),
        (shares.FOR_EVER, ShareOptions(), "without end"),
        (7, ShareOptions(documents=True), "for 7 days, with documents"),
    ],
)
def test_the_record_of_a_new_link_says_for_how_long_and_whether_it_has_documents(
    days: int,
    options: ShareOptions,
    detail: str,
    links: list[Link],
    ada: User,
    conversation: Conversation,
    settings: pytest_django.Settings,
) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"share_max_days": -1})
    leaf = ShareLink.objects.filter(conversation=conversation)[0].leaf_id
    made = shares.create(Visitor(ada, "192.0.2.7", "page"), conversation.pk, leaf, days, options)
    assert AuditEvent.objects.order_by("-number")[0].detail == detail
    assert made.ends_at is None if days == shares.FOR_EVER else made.ends_at is not None
    assert abs((made.ends_at or made.made_at) - made.made_at - timedelta(days=days)) < timedelta(minutes=1)
    row = ShareLink.objects.get(pk=made.id)
    assert (row.has_documents, row.shown_name, len(row.token)) == (options.documents, "ada" if options.name else "", 22)
    assert (made.token, made.title, made.conversation_id) == (row.token, "Ada's conversation", str(conversation.pk))


def test_the_new_link_is_marked_on_the_page_after_it_was_created(links: list[Link], ada: User, conversation: Conversation) -> None:
    client, leaf = signed_in(ada), str(ShareLink.objects.filter(conversation=conversation)[0].leaf_id)
    page = client.post(f"/c/{conversation.pk}/share/", {"leaf": leaf, "days": "7"}, follow=True)
    (marked,) = re.findall(r'share-link-new".*?value="http://testserver/s/([^/"]+)/"', page.content.decode(), re.DOTALL)
    assert marked == ShareLink.objects.latest("created_at").token
    assert "share-link-new" not in client.get(f"/c/{conversation.pk}/share/").content.decode()


def test_after_revoking_people_return_to_the_page_that_the_button_was_on(links: list[Link], ada: User, conversation: Conversation) -> None:
    client, own_page = signed_in(ada), f"/c/{conversation.pk}/share/"
    for number, (where, page) in enumerate(((str(conversation.pk), own_page), ("", "/shares/"), ("x", "/shares/"))):
        assert client.post(f"/shares/{links[number].id}/revoke/", {"conversation": where})["Location"] == page
    assert client.post(f"{own_page}revoke/")["Location"] == own_page
    assert client.post("/shares/revoke/")["Location"] == "/shares/"


def test_a_reader_with_an_account_continues_in_a_copy_of_what_the_link_shows(leaf: Message, ada: User, bela: User) -> None:
    link = make(ada, leaf)
    assert f'href="/s/{link.token}/copy/"' in read(link)
    assert Client().get(f"/s/{link.token}/copy/")["Location"] == f"/sign-in/?next=/s/{link.token}/copy/"
    reader = signed_in(bela)
    assert "Ada&#x27;s conversation" in reader.get(f"/s/{link.token}/copy/").content.decode()
    address = reader.post(f"/s/{link.token}/copy/")["Location"]
    page = reader.get(address).content.decode()
    for text in ("Is &lt;b&gt;this&lt;/b&gt; shared?", "Let me <em>look</em>.", "It <strong>is</strong>."):
        assert text in page
    copied = Conversation.objects.get(owner=bela)
    stored = "".join(Message.objects.filter(conversation=copied).values_list("text", flat=True))
    assert "HIDDEN" not in stored and "SUMMARY" not in stored, "nothing hidden is stored, for a debug view either"
    assert copied.imported_at and copied.title == leaf.conversation.title
    assert signed_in(ada).get(address).status_code == 404

    # What it has is the reader's: neither goes with the other.
    link.refresh_from_db()
    link.revoked_at = timezone.now()
    link.save()
    assert reader.get(address).status_code == 200
    for method in (reader.get, reader.post):
        assert method(f"/s/{link.token}/copy/").status_code == 404
    assert Conversation.objects.filter(owner=bela).count() == 1


def test_a_copy_is_marked_as_one_and_not_as_an_import(leaf: Message, ada: User, bela: User) -> None:
    client = signed_in(bela)
    address = client.post(f"/s/{make(ada, leaf).token}/copy/")["Location"]
    copied = Conversation.objects.get(owner=bela)
    page = without_pieces(client.get(address).content.decode())
    assert page.count('class="copy-mark" title="This is a copy of a shared conversation."') == 2, "in the top bar, and in the list"
    assert "imported-mark" not in page
    (listed,) = conversation_list.placed(copied)
    assert isinstance(listed, wire.Listed) and (listed.is_imported, listed.is_copy) == (False, True)
    assert "\nimported: true\nimported_from: shared\n" in client.get(f"{address}download/").content.decode()

    last = transcripts.active_leaf(copied, bela)
    assert last
    again = read(make(bela, last))
    assert "Copied from another shared conversation: its author is not known." in again and "Imported" not in again

    for column, place in (("archived_at", "/archived/"), ("deleted_at", "/bin/")):
        Conversation.objects.filter(pk=copied.pk).update(**{column: timezone.now()})
        outside = without_pieces(client.get(place).content.decode())
        assert outside.count('class="copy-mark"') == 1 and "imported-mark" not in outside


def test_copies_made_before_there_was_the_mark_have_it_after_the_migration(ada: User) -> None:
    copied, uploaded = (Conversation(owner=ada, import_key=key) for key in (f"copy {uuid4()}", "0" * 64))
    for row in (copied, uploaded):
        bulk_append.begin(row)
    import_module("chatui.migrations.0099_shared_copies").mark_copies(apps, None)
    assert list(Conversation.objects.filter(imported_from="shared")) == [copied]


def test_a_copy_keeps_what_was_cut(conversation: Conversation, ada: User, bela: User) -> None:
    question = say(conversation, None, "And?", Header("user"), Author.PERSON)
    cut = add_message(conversation, question, Frame(Header("assistant", channel="final"), "It is a li"), Author.MODEL, is_complete=False)
    open_branch(conversation, ada, cut)
    signed_in(bela).post(f"/s/{make(ada, cut).token}/copy/")
    copied = Message.objects.filter(conversation__owner=bela).order_by("position")
    assert [message.is_complete for message in copied] == [True, False]


def test_a_second_click_leads_to_the_copy_of_the_first(leaf: Message, ada: User, bela: User) -> None:
    path, reader = f"/s/{make(ada, leaf).token}/copy/", signed_in(bela)
    found = re.search(r'name="key" value="([^"]+)"', reader.get(path).content.decode())
    assert found
    places = [reader.post(path, {"key": found[1]})["Location"] for _ in range(2)]
    assert places[0] == places[1] and Conversation.objects.filter(owner=bela).count() == 1
    assert reader.post(path, {"key": str(uuid4())})["Location"] != places[0], "the page, loaded anew, makes another"
    assert signed_in(ada).post(path, {"key": found[1]})["Location"] not in places, "a key is its person's"


def test_a_second_click_waits_for_the_copy_that_is_being_made(
    leaf: Message, ada: User, bela: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, key = make(ada, leaf), uuid4()
    first = Conversation(owner=bela, import_key=f"copy {key}")
    bulk_append.begin(first)
    message = say(first, None, "Copied", Header("user"), Author.IMPORT)

    def pause(_seconds: float) -> None:
        bulk_append.complete(first, message.pk)

    monkeypatch.setattr(time, "sleep", pause)
    answer = signed_in(bela).post(f"/s/{link.token}/copy/", {"key": str(key)})
    assert answer["Location"] == f"/c/{first.pk}/"


def test_one_copy_at_a_time(leaf: Message, ada: User, bela: User) -> None:
    link = make(ada, leaf)
    bulk_append.begin(Conversation(owner=bela))
    refused = signed_in(bela).post(f"/s/{link.token}/copy/")
    assert refused.status_code == 400 and "another of your imports is still running" in refused.content.decode()
