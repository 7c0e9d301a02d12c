"""Collections of documents: making, filling, offering, deleting and erasing them, and what ends when a right ends."""

import io
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from chatui.display import collections as display
from chatui.models.audit import AuditEvent
from chatui.models.collections import Collection
from chatui.models.conversation import Folder
from chatui.models.files import DocumentPassage, FileContent, StoredFile
from chatui.models.user import ClosedAccount, User
from chatui.store import collections as store
from chatui.store import erasure, passages, uploads
from chatui.transfer import upload as transfer_upload
from tests.chatui.conftest import make_person, signed_in
from tests.support.environment import change as change_setting

pytestmark = pytest.mark.django_db(transaction=True)

FORM = {"name": "Handbook", "description": "The rules of the office"}
TEXT = b"Holidays are requested in writing."


def file(name: str = "rules.txt", data: bytes = TEXT) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


@pytest.fixture
def group(ada: User) -> Group:
    """A group with Ada in it."""
    made = Group.objects.create(name="office")
    made.user_set.add(ada)
    return made


@pytest.fixture
def maker(db: None) -> User:
    return make_person("maker", "offer_collections", staff=True)


@pytest.fixture
def handbook(maker: User, group: Group) -> str:
    """The address of a collection of the maker's that the group may ask, with one document."""
    client = signed_in(maker)
    made = client.post("/collections/new/", {**FORM, "groups": [group.pk]})
    assert made.status_code == 302, made.content.decode()
    added = client.post(f"{made['Location']}documents/", {"file": file()})
    assert added.status_code == 302, added.content.decode()
    return str(made["Location"])


def put(person: User, address: str, *files: SimpleUploadedFile, **fields: object) -> str:
    """Upload; returns the page."""
    return signed_in(person).post(f"{address}documents/", {"file": list(files), **fields}, follow=True).content.decode()


def document(name: str = "rules.txt") -> StoredFile:
    return StoredFile.objects.get(name=name, replaced_at=None)


def lines() -> list[tuple[str, str]]:
    return list(AuditEvent.objects.filter(action__contains="collection").order_by("number").values_list("action", "detail"))


def addresses(key: object) -> list[str]:
    return [f"/documents/{key}/1/", f"/files/{key}/", f"/files/{key}/text/"]


def test_members_open_its_documents_and_others_see_nothing_of_it(ada: User, bela: User, maker: User, handbook: str) -> None:
    page = signed_in(ada).get("/collections/").content.decode()
    assert "Handbook" in page and "Made by <bdi>maker</bdi>" in page and f"{handbook}change/" not in page
    page = signed_in(ada).get(handbook).content.decode()
    assert "rules.txt" in page and "The rules of the office" in page and "Add documents" not in page
    assert "Handbook" not in signed_in(bela).get("/collections/").content.decode()
    for address in (handbook, *addresses(document().pk)):
        assert signed_in(ada).get(address).status_code == 200, address
        assert signed_in(bela).get(address).status_code == 404, address
    assert "Add documents" in signed_in(maker).get(handbook).content.decode()


@pytest.mark.parametrize("language", ["en", "de", "ko", "zh-hans"])
def test_the_name_of_what_begins_a_conversation_contains_its_words(ada: User, handbook: str, language: str) -> None:
    """Whoever speaks to their browser says what they see, which is a part of the name in any language."""
    signed_in(ada).post("/assistants/new/", {"name": "Handbook", "instructions": "Be brief."})
    Folder.objects.create(owner=ada, name="Handbook")
    for address in ("/collections/", "/assistants/", "/"):
        page = signed_in(ada).get(address, headers={"accept-language": language}).content.decode()
        named = re.findall(r'<a [^>]*aria-label="([^"]*Handbook[^"]*)"[^>]*>([^<]*(?:<(?!/a>)[^<]*)*)</a>', page)
        shown = [(name, " ".join(re.sub("<[^>]*>", "", content).split())) for name, content in named]
        assert [each for each in shown if each[1]], "the premise"
        assert [(name, text) for name, text in shown if text.lower() not in name.lower()] == []


def test_only_its_owner_changes_it(ada: User, maker: User, handbook: str) -> None:
    client, key = signed_in(ada), document().pk
    assert client.post(f"{handbook}documents/", {"file": file("mine.txt")}).status_code == 404
    for address in (f"{handbook}delete/", f"{handbook}change/", f"{handbook}versions/remove/", f"{handbook}documents/{key}/remove/"):
        assert client.post(address, FORM).status_code == 404, address
    assert client.post(f"/files/{key}/delete/").status_code == 404
    assert signed_in(maker).post(f"{handbook}documents/{key}/remove/").status_code == 302
    assert not StoredFile.objects.exists() and not FileContent.objects.exists() and not DocumentPassage.objects.exists()


def _leaves(ada: User, maker: User, handbook: str) -> None:
    ada.groups.clear()


def _loses_the_right(ada: User, maker: User, handbook: str) -> None:
    maker.user_permissions.clear()


def _withdraws(ada: User, maker: User, handbook: str) -> None:
    assert signed_in(maker).post(f"{handbook}change/", FORM).status_code == 302


def _deletes(ada: User, maker: User, handbook: str) -> None:
    assert signed_in(maker).post(f"{handbook}delete/").status_code == 302


def _deletes_the_group(ada: User, maker: User, handbook: str) -> None:
    Group.objects.all().delete()


ENDS = [_leaves, _loses_the_right, _withdraws, _deletes, _deletes_the_group]


@pytest.mark.parametrize("end", ENDS)
def test_a_right_that_ends_does_so_at_once(ada: User, maker: User, handbook: str, end: Callable[[User, User, str], None]) -> None:
    client, key = signed_in(ada), document().pk
    assert client.get(addresses(key)[0]).status_code == 200, "the premise"
    end(ada, maker, handbook)
    for address in (handbook, *addresses(key)):
        assert client.get(address).status_code == 404, address
    assert "Handbook" not in client.get("/collections/").content.decode()


def test_whoever_may_not_offer_is_not_asked_and_cannot(ada: User, group: Group) -> None:
    for person in (
        ada,
        make_person("staff", staff=True),
        make_person("with right", "offer_collections"),
        make_person("other", "offer_assistants", staff=True),
    ):
        client = signed_in(person)
        assert "Offer to groups" not in client.get("/collections/new/").content.decode()
        assert client.post("/collections/new/", {**FORM, "groups": [group.pk]}).status_code == 302
    assert Collection.objects.count() == 4 and not Collection.objects.exclude(groups=None).exists() and lines() == []


def test_what_is_done_with_an_offered_one_is_recorded_without_names_of_documents(maker: User, group: Group, handbook: str) -> None:
    client, named = signed_in(maker), "collection Handbook"
    client.post(f"{handbook}documents/{document().pk}/remove/")
    client.post(f"{handbook}change/", {**FORM, "description": "Rules", "groups": [group.pk]})
    client.post(f"{handbook}delete/")
    client.post(f"{handbook}restore/")
    client.post(f"{handbook}change/", {**FORM, "description": "Rules"})
    changed, offered = ("offered collection changed", named), ("collection offered", f"{named}; groups is now office")
    ended = ("collection not offered any more", named)
    assert lines() == [offered, changed, changed, changed, ended, offered, ended]


def test_a_new_version_takes_the_place_of_the_old_one_which_old_citations_open(ada: User, maker: User, handbook: str) -> None:
    old = document().pk
    assert "1 earlier version" in put(maker, handbook, file(data=b"Holidays are requested online."))
    new = document().pk
    assert new != old and "This version was replaced" in signed_in(ada).get(f"/documents/{old}/1/").content.decode()
    assert "online" in signed_in(ada).get(f"/documents/{new}/1/").content.decode()
    put(maker, handbook, file(data=b"Holidays are requested online."))
    assert document().pk == new, "the same file again changes nothing"
    page = put(maker, handbook, file("rules 2027.txt", b"There are no holidays."), replaces=str(new))
    assert [each.name for each in display.documents(maker, Collection.objects.get().pk)] == ["rules 2027.txt"]
    assert "2 earlier versions" in page
    signed_in(maker).post(f"{handbook}versions/remove/")
    assert signed_in(ada).get(f"/documents/{old}/1/").status_code == 404
    assert StoredFile.objects.get().name == "rules 2027.txt" and FileContent.objects.count() == 1


def test_the_purge_erases_what_was_replaced_or_deleted_long_ago(maker: User, handbook: str) -> None:
    put(maker, handbook, file(data=b"New."))
    long_ago = timezone.now() - timedelta(days=400)
    StoredFile.objects.exclude(replaced_at=None).update(replaced_at=long_ago)
    call_command("purge")
    assert StoredFile.objects.get().replaced_at is None
    Collection.objects.update(deleted_at=long_ago)
    call_command("purge")
    assert not Collection.objects.exists() and not StoredFile.objects.exists() and not FileContent.objects.exists()


def test_a_file_that_cannot_be_read_is_refused_with_its_name_and_the_others_are_kept(maker: User, handbook: str) -> None:
    page = put(maker, handbook, file("empty.txt", b" "), file("good.txt", b"Lunch is at noon."), file("x.bin", b"\x00\x01\x02" * 9))
    assert "“empty.txt” was not added. There is no text in this file." in page and "“x.bin” was not added." in page
    assert "1 file was added." in page
    assert sorted(StoredFile.objects.values_list("name", flat=True)) == ["good.txt", "rules.txt"]


def test_a_refused_new_version_leaves_the_old_one(maker: User, handbook: str) -> None:
    put(maker, handbook, file(data=b" "))
    assert document().content.size == len(TEXT)


def test_limits_are_told(maker: User, handbook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Please choose at most 20 files" in put(maker, handbook, *(file(f"{number}.txt") for number in range(21)))
    monkeypatch.setattr(store, "MAX_DOCUMENTS", 1)
    assert "A collection has at most" in put(maker, handbook, file("second.txt"))
    monkeypatch.setattr(display, "MAX_COLLECTIONS", 1)
    assert "You have the maximum of" in signed_in(maker).post("/collections/new/", FORM).content.decode()
    monkeypatch.setattr(transfer_upload, "MAX_EXPORT_BYTES", 100)
    change_setting(monkeypatch, {"file_mb": 1})
    assert "These files together have more than 1 MB." in put(maker, handbook, file("long.txt", b"word " * 250_000))
    monkeypatch.undo()
    change_setting(monkeypatch, {"files_of_person_mb": 0})
    assert "Your files already use your limit" in put(maker, handbook, file("more.txt", b"More words."))
    assert StoredFile.objects.count() == 1


def _hands_over(client: Client, bela: User) -> None:
    Collection.objects.update(owner=bela)


def _deletes_its_place(client: Client, bela: User) -> None:
    row = Collection.objects.get()
    client.post(f"/folders/{row.folder_id}/delete/" if row.folder_id else f"/collections/{row.pk}/delete/")


@pytest.mark.parametrize("is_in_folder", [False, True])
@pytest.mark.parametrize("end", [_deletes_its_place, _hands_over])
def test_what_is_gone_when_a_file_was_read_gets_no_document(
    bela: User, maker: User, handbook: str, monkeypatch: pytest.MonkeyPatch, end: Callable[[Client, User], None], is_in_folder: bool
) -> None:
    client = signed_in(maker)
    if is_in_folder:
        Collection.objects.all().delete()
        handbook = f"/folders/{Folder.objects.create(owner=maker, name='Travel').pk}/"
        put(maker, handbook, file())
    reading: list[object] = []

    def index(content: object) -> None:
        reading.append(content)
        end(client, bela)

    monkeypatch.setattr(passages, "index", index)
    assert client.post(f"{handbook}documents/", {"file": file("late.txt", b"Lunch is at noon.")}).status_code == 404
    assert reading and not StoredFile.objects.filter(name="late.txt").exists()


def test_its_bytes_count_for_whoever_uploaded_it_and_it_is_no_upload_that_waits(ada: User, maker: User, handbook: str) -> None:
    StoredFile.objects.update(created_at=timezone.now() - timedelta(days=3))
    erasure.sweep()
    uploads.trim(maker.pk)
    assert document().owner == maker and not uploads.of_person(maker.pk).exists()


def test_a_deleted_one_can_be_restored(ada: User, maker: User, handbook: str) -> None:
    client = signed_in(maker)
    page = client.post(f"{handbook}delete/", follow=True).content.decode()
    assert "“<bdi>Handbook</bdi>” was deleted." in page
    client.post(f"{handbook}restore/")
    assert "rules.txt" in signed_in(ada).get(handbook).content.decode()


def test_the_heir_has_the_offered_ones_of_somebody_who_left(
    ada: User, bela: User, maker: User, handbook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bela.user_permissions.add(Permission.objects.get(codename="offer_collections"))
    User.objects.filter(pk=bela.pk).update(is_staff=True)
    signed_in(maker).post("/collections/new/", {**FORM, "name": "A private one"})
    private = f"/collections/{Collection.objects.latest('pk').pk}/"
    put(maker, private, file("diary.txt", b"Dear diary."))
    put(bela, str(signed_in(bela).post("/collections/new/", FORM)["Location"]), file("the same.txt"))
    change_setting(monkeypatch, {"closed_accounts": "hand-over"})
    call_command("purge", "--heir", "bela")
    call_command("close_account", "maker")
    assert signed_in(ada).get(f"/documents/{document().pk}/1/").status_code == 200, "until the heir has it, it is offered"
    ClosedAccount.objects.update(closed_at=timezone.now() - timedelta(days=400))
    call_command("purge")
    assert not User.objects.filter(username="maker").exists(), "the premise"
    assert sorted((each.name, each.owner) for each in StoredFile.objects.all()) == [("rules.txt", bela), ("the same.txt", bela)]
    assert FileContent.objects.get().owner == bela
    assert "in writing" in signed_in(ada).get(f"/documents/{document().pk}/1/").content.decode()
    assert "Add documents" in signed_in(bela).get(handbook).content.decode(), "the heir may change it"


def test_an_erased_person_leaves_none(ada: User, maker: User, handbook: str) -> None:
    Folder.objects.create(owner=maker, name="Mine")
    put(maker, f"/folders/{Folder.objects.get().pk}/", file("in a folder.txt"))
    assert Collection.objects.count() == 2, "the premise"
    call_command("erase_person", "maker", "--yes")
    assert not Collection.objects.exists() and not StoredFile.objects.exists() and not FileContent.objects.exists()


def test_the_archive_has_a_persons_own_and_no_other(ada: User, maker: User, handbook: str) -> None:
    put(maker, handbook, file(data=b"The newest version."))

    def archive(person: User) -> zipfile.ZipFile:
        response = signed_in(person).get("/download/")
        return zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))  # type: ignore[attr-defined]

    mine = archive(maker)
    assert mine.read("collections/1/rules.txt") == b"The newest version."
    assert b'"Handbook"' in mine.read("collections.json") and b'"office"' in mine.read("collections.json")
    assert not [name for name in archive(ada).namelist() if "collections" in name]


def test_a_folder_has_files_that_its_owner_alone_opens_and_that_go_with_it(ada: User, bela: User) -> None:
    folder = Folder.objects.create(owner=ada, name="Travel")
    address = f"/folders/{folder.pk}/"
    assert "Files" in signed_in(ada).get(address).content.decode()
    assert not Collection.objects.exists()
    assert "rules.txt" in put(ada, address, file())
    assert "Files of the folder <bdi>Travel</bdi>" in signed_in(ada).get(f"{address}documents/").content.decode()
    assert signed_in(bela).get(f"{address}documents/").status_code == 404
    assert signed_in(bela).post(f"{address}documents/", {"file": file()}).status_code == 404
    assert "Travel" not in signed_in(ada).get("/collections/").content.decode()
    collection = Collection.objects.get()
    for action in ("change", "delete"):
        assert signed_in(ada).post(f"/collections/{collection.pk}/{action}/", FORM).status_code == 404
    assert signed_in(ada).post(f"/collections/{collection.pk}/documents/{document().pk}/remove/").status_code == 302
    put(ada, address, file())
    signed_in(ada).post(f"{address}delete/")
    assert not Collection.objects.exists() and not StoredFile.objects.exists() and not FileContent.objects.exists()


def test_a_group_that_does_not_exist_is_refused(maker: User, group: Group) -> None:
    page = signed_in(maker).post("/collections/new/", {**FORM, "groups": ["999"]})
    assert page.status_code == 400 and not Collection.objects.exists()
