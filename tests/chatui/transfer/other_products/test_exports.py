"""Exports of other products become conversations; everything that was hidden there, or is unknown, is hidden here."""

from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from chatui.display import windows
from chatui.models.conversation import Conversation, Folder
from chatui.models.message import Message, SearchEntry
from chatui.models.user import User
from chatui.transfer import export_imports, exports
from chatui.transfer.export_imports import import_export
from chatui.transfer.other_products.conversation_tree import DroppedKind
from renderer.gate import Audience
from tests.chatui.conftest import signed_in
from tests.chatui.transfer.other_products import samples
from tests.chatui.transfer.other_products.samples import EXPORTS, VISIBLE, as_json, gpt_mapping, gpt_message
from tests.support.cases import mostly_slow
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.scripted import ScriptedBackend
from tests.support.turns import ask, run

pytestmark = pytest.mark.django_db
products = pytest.mark.parametrize("product", EXPORTS)


def upload(person: User, data: bytes, name: str = "export.json"):  # type: ignore[no-untyped-def]
    return signed_in(person).post("/import/", {"file": SimpleUploadedFile(name, data)})


@pytest.mark.parametrize("product", mostly_slow(EXPORTS))
def test_hidden_text_of_an_export_is_in_no_page_search_download_share_or_title(product: str, ada: User) -> None:
    data = as_json(EXPORTS[product])
    assert data.count(b"SECRET") > 12, "the premise: there is much to hide"
    pages = [upload(ada, data).content.decode()]
    row = Conversation.objects.get()
    client = signed_in(ada)
    leaf = str(row.active_leaves.get().message_id)
    paths = ["", "?all=1", "share/", "download/", "download/?format=json", "download/?format=markdown"]
    pages += [b"".join(client.get(f"/c/{row.pk}/{path}")).decode() for path in paths]
    for message in Message.objects.all():
        pages.append(client.get(f"/c/{row.pk}/messages/{message.pk}/text/").content.decode())
        assert "SECRET" not in message.text or not message.is_visible
    visible = Message.objects.filter(is_visible=True).order_by("-position")[0]
    client.post(f"/c/{row.pk}/share/", {"days": "7", "leaf": str(visible.pk)})
    pages.append(Client().get(f"/s/{row.share_links.get().token}/").content.decode())
    pages += [client.get("/").content.decode(), client.get("/search/", {"q": "SECRET"}).content.decode().replace("SECRET", "", 2)]
    assert leaf and not [page for page in pages if "SECRET" in page]
    assert "SECRET" not in row.title + "".join(SearchEntry.objects.values_list("terms", flat=True)).upper()
    whole = pages[1]
    assert [words for words in VISIBLE[product] if words not in whole] == []


@products
def test_hidden_text_is_stored_for_staff_with_its_origin(product: str, grace: User) -> None:
    import_export(grace, as_json(EXPORTS[product]))
    row = Conversation.objects.get()
    assert row.imported_at and row.imported_from == product
    assert Message.objects.filter(created_at__year__lt=2025).exists(), "each has the time that it had there"
    assert "SECRET" in exports.transcript(row, grace, Audience.DEBUG)
    name = row.get_imported_from_display()
    page = signed_in(grace).get(f"/c/{row.pk}/").content.decode()
    assert f"imported from {name}: it was not written here" in page
    assert f"Imported from {name}: not written here." in signed_in(grace).get(f"/c/{row.pk}/share/").content.decode()
    assert f"imported_from: {product}" in exports.transcript(row, grace, Audience.END_USER)


def test_the_page_reports_left_out_content_by_kind(ada: User) -> None:
    page = upload(ada, as_json(EXPORTS["librechat"])).content.decode()
    assert "1 conversation was imported." in page and f"/c/{Conversation.objects.get().pk}/" in page
    for sentence in ("2 images were left out.", "1 message could not be read.", "1 tool result is hidden."):
        assert f"<li>{sentence}</li>" in page


def test_branches_are_versions_of_questions_and_answers(ada: User) -> None:
    mapping = gpt_mapping(gpt_message("user", "first question"), gpt_message("assistant", "first answer"))
    mapping["b"] = {"message": gpt_message("assistant", "second answer"), "parent": "n0"}
    mapping["c"] = {"message": gpt_message("user", "another question"), "parent": "root"}
    mapping["d"] = {"message": gpt_message("assistant", "its answer"), "parent": "c"}
    import_export(ada, as_json([{"title": "", "mapping": mapping, "current_node": "b"}]))
    row = Conversation.objects.get()
    page = signed_in(ada).get(f"/c/{row.pk}/").content.decode()
    assert "first question" in page and "second answer" in page and "its answer" not in page
    [exchange] = windows.latest(row).exchanges
    assert exchange.question and exchange.question.siblings and exchange.answer and exchange.answer.siblings
    assert (exchange.question.siblings.index, exchange.question.siblings.count) == (1, 2)
    assert (exchange.answer.siblings.index, exchange.answer.siblings.count) == (2, 2)
    client = signed_in(ada)
    for siblings, text in ((exchange.question.siblings.next_id, "its answer"), (exchange.answer.siblings.previous_id, "first answer")):
        assert client.post(f"/c/{row.pk}/branch/", {"message": siblings}).status_code == 302
        assert text in client.get(f"/c/{row.pk}/").content.decode()
    assert row.title == "first question"


def test_a_second_upload_imports_only_the_rest(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.transfer.export_imports.MAX_CONVERSATIONS", 2)
    talks = [samples.CHATGPT | {"title": f"Number {number}"} for number in range(5)]
    reports = [import_export(ada, as_json(talks)) for _ in range(4)]
    assert [len(report.conversations) for report in reports] == [2, 2, 1, 0]
    assert [report.left_out[DroppedKind.CONVERSATION_POSTPONED] for report in reports] == [3, 1, 0, 0]
    assert [report.left_out[DroppedKind.CONVERSATION_EXISTS] for report in reports] == [0, 2, 4, 5]
    deleted = Conversation.objects.get(title="Number 3")
    signed_in(ada).post(f"/c/{deleted.pk}/delete/")
    assert [row.title for row in import_export(ada, as_json(talks)).conversations] == ["Number 3"]


def test_of_two_simultaneous_uploads_the_first_to_finish_is_stored(ada: User, database: Database) -> None:
    reports: list[Any] = []
    database.before("INSERT INTO chatui_conversation", lambda: reports.append(import_export(ada, as_json([samples.CHATGPT]))))
    reports.append(import_export(ada, as_json([samples.CHATGPT])))
    assert [(len(report.conversations), report.left_out[DroppedKind.CONVERSATION_EXISTS]) for report in reports] == [(1, 0), (0, 1)]
    assert list(Conversation.objects.all()) == reports[0].conversations and not Message.objects.exclude(
        conversation=reports[0].conversations[0]
    )


def test_a_conversation_can_be_restored_after_it_was_imported_again(ada: User) -> None:
    [first] = import_export(ada, as_json([samples.CHATGPT])).conversations
    client = signed_in(ada)
    client.post(f"/c/{first.pk}/delete/")
    assert import_export(ada, as_json([samples.CHATGPT])).conversations
    assert client.post(f"/c/{first.pk}/restore/").status_code == 302
    assert Conversation.objects.filter(deleted_at=None).count() == 2
    assert import_export(ada, as_json([samples.CHATGPT])).left_out[DroppedKind.CONVERSATION_EXISTS] == 1


def test_an_import_reveals_nothing_about_other_peoples_imports(ada: User, bela: User) -> None:
    import_export(ada, as_json([samples.CHATGPT]))
    assert len(import_export(bela, as_json([samples.CHATGPT])).conversations) == 1


@pytest.mark.parametrize(
    "title",
    [
        "<think>SECRET</think>",
        "<details type='reasoning'>SECRET",
        ":::thinking SECRET",
        "<|channel|>analysis<|message|>SECRET",
        7,
        None,
        ["SECRET"],
    ],
)
def test_a_title_with_hidden_text_is_replaced(title: Any, ada: User) -> None:
    import_export(ada, as_json([samples.OPEN_WEBUI | {"title": title, "chat": samples.OPEN_WEBUI["chat"] | {"title": title}}]))
    assert Conversation.objects.get().title == "Is the bread done?"


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>Fine.",
        "analysisSECRETassistantfinalFine.",
        "<think>SECRET</think>Fine.",
        "<DETAILS open type='reasoning'>\nSECRET\n</DETAILS>\nFine.",
        "<details\ntype=reasoning>SECRET\n  </details >\nFine.",
        'Fine.<details type="reasoning">SECRET </details> SECRET',
        "Fine.\n> :::thinking\nSECRET\n:::",
        "Fine.\n:::Thinking\nSECRET",
    ],
)
def test_an_imported_answer_passes_through_the_leak_guard(text: str, ada: User) -> None:
    mapping = gpt_mapping(gpt_message("user", "Are you fine?"), gpt_message("assistant", text))
    import_export(ada, as_json([{"mapping": mapping, "current_node": "n1"}]))
    shown = Message.objects.filter(is_visible=True).values_list("text", flat=True)
    assert "SECRET" not in "".join(shown)
    page = signed_in(ada).get(f"/c/{Conversation.objects.get().pk}/").content.decode()
    assert "SECRET" not in page and ("Fine." in page or "<|channel|>" in text)


def test_a_harmless_answer_with_colons_a_document_and_html_is_complete(ada: User) -> None:
    text = 'Use `::` or ::: in Perl.\n\n:::artifact{title="x"}\nThe document\n:::\n\nA `<detail>` is no `<detailsx>`.'
    mapping = gpt_mapping(gpt_message("user", "Hi"), gpt_message("assistant", text))
    result = import_export(ada, as_json([{"mapping": mapping}]))
    assert Message.objects.get(channel="final").text.count("The document") == 1 and not +result.left_out


@pytest.mark.django_db(transaction=True)
@products
async def test_a_model_sees_only_visible_messages_and_no_instructions_of_an_export(
    product: str, ada: User, backend: ScriptedBackend
) -> None:
    result = await database_sync_to_async(import_export)(ada, as_json(EXPORTS[product]))

    question = ask(text="And now?", effort="low", conversation=result.conversations[0].pk)
    await run(ada, question)
    sent = backend.requests[0].frames
    assert {frame.header.role for frame in sent} == {"user", "assistant"} and len(sent) >= 3
    assert "SECRET" not in "".join(frame.body for frame in sent if frame.header.channel != "analysis")


def test_what_was_archived_pinned_or_in_a_folder_is_so_here(ada: User) -> None:
    mapping = gpt_mapping(gpt_message("user", "question"), gpt_message("assistant", "answer"))
    talk = {"mapping": mapping, "create_time": 1_700_000_000.0, "update_time": 1_700_003_600.0}
    of_claude = {"chat_messages": [{"uuid": "1", "sender": "human", "text": "q"}]}
    folder = Folder.objects.create(owner=ada, name="Baking")
    report = import_export(
        ada,
        as_json(
            [
                talk | {"title": "archived", "is_archived": True, "is_starred": True},
                talk | {"title": "starred", "is_starred": True},
                talk | {"title": "project", "pinned_time": 1_700_000_000, "conversation_template_id": "g-p-67f4"},
                talk | {"title": "assistant", "conversation_template_id": "g-abc", "is_archived": False, "is_starred": None},
                of_claude | {"name": "known folder", "project": {"name": " Baking"}, "is_starred": True},
                of_claude | {"name": "new folder", "project": {"name": "Ovens\u202e"}},
            ]
        ),
    )
    rows = {row.title: row for row in report.conversations}
    stored = {row.title: row for row in Conversation.objects.select_related("folder")}
    assert rows.keys() == stored.keys()
    assert [title for title, row in stored.items() if row.archived_at] == ["archived"]
    assert {title for title, row in stored.items() if row.is_pinned} == {"starred", "project", "known folder"}
    assert {title: row.folder.name for title, row in stored.items() if row.folder} == {"known folder": "Baking", "new folder": "Ovens"}
    assert stored["known folder"].folder == folder and report.left_out[DroppedKind.FOLDER] == 1


def test_what_of_an_export_is_not_read_is_named(ada: User) -> None:
    for data, named in (
        ([{"header": "Gemini Apps", "title": "Prompted x", "safeHtmlItem": [{"html": "<p>40 m</p>"}]}], "an export of Gemini"),
        ([{"id": "s1", "conversations": [{"from": "human", "value": "q"}]}], "in the form of ShareGPT"),
    ):
        assert named in upload(ada, as_json(data)).content.decode()
    assert not Conversation.objects.exists()


def test_an_archive_of_google_s_is_named_whatever_language_and_form_it_has(ada: User) -> None:
    folder = "Takeout/Meine Aktivitäten/"
    activity = as_json([{"header": "Gemini-Apps", "title": "Prompt: x", "products": ["Gemini-Apps"]}])
    for name, data, named in (
        ("Gemini-Apps/MyActivity.json", activity, "an export of Gemini"),
        ("Gemini-Apps/MeineAktivitäten.html", b"<!doctype html><p>x", "an export of Gemini"),
        ("Suche/MeineAktivitäten.json", b"[]", "this is an export of Google"),
    ):
        assert named in upload(ada, samples.as_zip(**{folder + name: data}), "takeout-1.zip").content.decode().replace("&#x27;", "'")
    assert "an export of Gemini" in upload(ada, activity).content.decode()
    assert not Conversation.objects.exists()


def test_the_report_begins_with_what_waits_for_another_upload(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_imports, "MAX_CONVERSATIONS", 1)
    page = upload(ada, as_json([samples.CHATGPT, samples.CLAUDE, samples.CLAUDE | {"uuid": "c-2"}])).content.decode()
    waiting = "2 conversations were not imported yet: upload the same file again to import more of them."
    assert page.count(waiting) == 1 and page.index(waiting) < page.index("import-links")


def test_other_data_in_an_archive_is_counted(ada: User) -> None:
    archive = samples.as_zip(conversations__json=as_json([samples.CLAUDE]), projects__json=b'[{"name": "x"}]', users__json=b"[]")
    page = upload(ada, archive, "export.zip").content.decode()
    assert "<li>1 other data file of the archive was not read.</li>" in page
