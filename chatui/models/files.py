"""Files in conversations, and the documents whose extracted text was sent to a model with a question.

A file has its name in the conversation, and its content, which is stored once for each person who has it. Passages of documents are indexed
by their words for the document search.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from chatui.models.collections import Collection
from chatui.models.conversation import Conversation
from chatui.models.keys import Table
from chatui.models.message import Message
from chatui.models.turn import Turn


class FileSource(models.TextChoices):
    """Who made a file."""

    TOOL = "tool", "Tool"
    PERSON = "person", "Person"


class FileContent(Table):
    """The bytes of one or several files of one person. Never shared between people: the time that storing takes, and whether it uses up
    storage, would reveal that somebody else has the same file."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64)
    """In hexadecimal. For a document, the hashed bytes begin with the kind that it is read as."""
    size = models.PositiveBigIntegerField()
    """In bytes."""
    media_type = models.CharField(max_length=100)
    """Detected from the bytes, never from the name."""
    width = models.PositiveIntegerField(null=True, blank=True)
    """In pixels, for a picture that may be shown; NULL for anything else."""
    height = models.PositiveIntegerField(null=True, blank=True)
    is_encrypted = models.BooleanField(default=False)
    """Whether the pieces are encrypted (``store.files``)."""

    class Meta(Table.Meta):
        constraints = [models.UniqueConstraint(fields=["owner", "sha256"], name="one_content_per_owner")]


class FilePiece(Table):
    """A piece of a content, so that reading a file never loads all of it into memory. ``number`` counts from 0."""

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="pieces", db_index=False)
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta(Table.Meta):
        constraints = [models.UniqueConstraint(fields=["content", "number"], name="one_piece_per_place")]


class StoredFile(Table):
    """A file in a conversation, or in a collection."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    """Random, because it is part of a URL."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, blank=True, related_name="files")
    """NULL until a question is sent with the file: an unsent file is deleted after a day (``store.uploads``)."""
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, null=True, blank=True, related_name="files")
    """The turn whose tool made the file; NULL for an upload."""
    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=120)
    """Without a path and invisible characters (``store.file_names``)."""
    source = models.CharField(max_length=8, choices=FileSource)
    brought_in = models.UUIDField(null=True, blank=True)
    """The key of the conversation in whose message box the upload waits to be sent; NULL for a new conversation."""
    tool_server = models.CharField(max_length=20, blank=True, default="", db_default="")
    """The name of the tool server from which the person attached it; empty for a file of their own."""
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, null=True, blank=True, related_name="documents", db_index=False)
    """The one whose document it is; NULL for any other file."""
    replaced_at = models.DateTimeField(null=True, blank=True)
    """When a newer version took its place in the collection; until it is erased, citations still open it."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(Table.Meta):
        indexes = [models.Index(fields=["collection"], name="file_of_collection", condition=models.Q(collection__isnull=False))]
        constraints = [
            models.UniqueConstraint(fields=["turn", "name"], name="one_file_per_name_of_turn"),
            models.UniqueConstraint(
                fields=["collection", "name"],
                condition=models.Q(collection__isnull=False, replaced_at=None),
                name="one_document_per_name_of_collection",
            ),
        ]


class DocumentText(Table):
    """The extracted text of a file's content, stored once for all conversations."""

    content = models.OneToOneField(FileContent, on_delete=models.CASCADE, primary_key=True, related_name="document")
    state = models.CharField(max_length=16)
    """A state of ``documents.reading``; there is text only if it is ``read``."""
    kind = models.CharField(max_length=40, blank=True)
    """A kind of ``documents.reading``."""
    reason = models.CharField(max_length=300, blank=True)
    """Why there is no text, or not all of it: a sentence for its owner."""
    places = models.PositiveIntegerField(default=0)
    """How many pages, sheets or slides it has."""
    places_without_text = models.PositiveIntegerField(default=0)
    characters = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0, db_default=0)
    """The size of the whole text in UTF-8, which counts towards the owner's storage like the file."""
    tokens = models.PositiveIntegerField(default=0)
    """How many tokens the whole text has: exact if ``is_counted``, otherwise estimated."""
    is_counted = models.BooleanField(default=False)
    is_cut = models.BooleanField(default=False)
    """Whether the text is truncated at the limit."""
    left_out = models.TextField(blank=True, default="", db_default="")
    """What is hidden in the file, a line with kind and name for each, what is in it but not in the text, a line with kind and number; and
    the encoding of a text that is not ASCII."""


class DocumentPart(Table):
    """A page, a sheet or a slide, or the whole document."""

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="parts")
    """That of the ``DocumentText`` to which this part belongs."""
    number = models.PositiveIntegerField()
    """Counts from 1, including parts without text."""
    label = models.CharField(max_length=200, blank=True)
    """Such as "page 3"; empty for the whole document."""
    text = models.TextField()
    tokens = models.PositiveIntegerField(default=0)

    class Meta(Table.Meta):
        constraints = [models.UniqueConstraint(fields=["content", "number"], name="one_part_per_number")]


class DocumentUse(models.TextChoices):
    """How a document is passed to a model."""

    WHOLE = "whole", "Whole"
    FIRST = "first", "Beginning"
    PLACES = "places", "Chosen pages or sheets"
    SEARCH = "search", "Search only"


class SentDocument(Table):
    """A document before a question."""

    message = models.OneToOneField(Message, on_delete=models.CASCADE, primary_key=True, related_name="+")
    """Its frame."""
    end = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    """The last document frame before the question, which is the question's parent: all versions of a question find their documents by
    it."""
    file = models.ForeignKey(StoredFile, on_delete=models.SET_NULL, null=True, blank=True, related_name="sent")
    """NULL once its owner deleted it; then the frame says only that."""
    use = models.CharField(max_length=8, choices=DocumentUse, default=DocumentUse.WHOLE)
    places = models.CharField(max_length=200, blank=True)
    """The numbers of the chosen parts, such as "1-12, 15"."""
    tokens = models.PositiveIntegerField(default=0)
    """How many tokens the text in the frame has."""


class DocumentPassage(Table):
    """A searchable passage of a document.

    The database's full-text index over ``terms`` is created by a migration. Only ``chatui.store.passages`` writes rows.
    """

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    """Counted from 1 over the whole document."""
    part = models.PositiveIntegerField()
    """The part of the document that it is in."""
    start = models.PositiveIntegerField()
    """Where it begins in the part, in characters."""
    length = models.PositiveIntegerField()
    """In characters."""
    terms = models.TextField()
    """The words, separated by spaces, each with the prefix of its content."""

    class Meta(Table.Meta):
        constraints = [models.UniqueConstraint(fields=["content", "number"], name="one_passage_per_number")]
