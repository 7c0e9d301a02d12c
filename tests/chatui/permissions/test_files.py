"""Which files people find in a debug view, in an import that is not finished, and in a conversation that is being erased."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.files import StoredFile
from chatui.models.user import User
from chatui.permissions import access, debug_requests, files
from chatui.permissions.access import HiddenViewRefusedError, NotFoundError, OptInNeededError
from chatui.store import files as store_files
from chatui.store.files import FileDestination, NewFile

pytestmark = pytest.mark.django_db


def file_in(conversation: Conversation, content: bytes = b"PNG") -> StoredFile:
    return store_files.save(FileDestination(conversation.owner.pk, conversation.pk), NewFile.of("plot.png", content))


def visitor(person: User | None) -> Visitor:
    return Visitor(person, "192.0.2.7", "download")


def test_a_debug_view_opens_the_files_of_its_conversation_and_no_others(grace: User, bela: User, conversation: Conversation) -> None:
    own, foreign = file_in(conversation), file_in(Conversation.objects.create(owner=bela))
    debug_requests.open_debug_view(visitor(grace), conversation.pk, "a fault was reported")
    assert files.hidden_file(visitor(grace), conversation.pk, own.pk, action="file download") == own
    for key in (foreign.pk, uuid4()):
        with pytest.raises(NotFoundError):
            files.hidden_file(visitor(grace), conversation.pk, key, action="file download")
    assert CountedLine.objects.get().counts == {"file download": 3}, "each access is recorded before anything is looked for"


def test_no_file_is_opened_without_a_debug_view(grace: User, ada: User, conversation: Conversation) -> None:
    own = file_in(conversation)
    for person, error in ((grace, OptInNeededError), (ada, HiddenViewRefusedError), (None, HiddenViewRefusedError)):
        with pytest.raises(error):
            files.hidden_file(visitor(person), conversation.pk, own.pk, action="file download")
    assert list(AuditEvent.objects.order_by("number").values_list("code", "actor_name")) == [
        ("E-PERM-VISIBILITY", "ada"),
        ("E-PERM-VISIBILITY", ""),
    ]


def test_nobody_opens_a_file_without_an_active_account(ada: User, bela: User, conversation: Conversation) -> None:
    own = file_in(conversation)
    for person in (None, bela, User(pk=ada.pk, is_active=False)):
        with pytest.raises(NotFoundError):
            files.own_file(person, own.pk)


def test_files_of_an_unfinished_conversation_are_found_by_nobody(ada: User, conversation: Conversation) -> None:
    """The bin alone would hide them: the mark counts by itself, whatever happens to the other column."""
    own = file_in(conversation)
    StoredFile.objects.update(source="person")
    assert files.own_file(ada, own.pk) == own and own in files.own_documents(ada), "the premise"
    Conversation.objects.update(unfinished_until=timezone.now() + timedelta(hours=1))
    with pytest.raises(NotFoundError):
        files.own_file(ada, own.pk)
    assert not files.own_documents(ada).exists()
    for deleted in (True, False):
        with pytest.raises(NotFoundError):
            access.own_conversation(ada, conversation.pk, deleted=deleted)
