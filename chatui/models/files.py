"""Files in conversations, and the documents whose extracted text was sent to a model with a question.

A file has its name in the conversation, and its content, which is stored once for each person who has it. Passages of documents are indexed
by their words for the document search.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

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
    storage, would reveal that somebody else has the same file. ``sha256`` is in hexadecimal; for a document, the hashed bytes begin with
    the kind that it is read as. ``size`` is in bytes. ``media_type`` is detected from the bytes, never from the name. ``width`` and
    ``height`` are in pixels, for a picture that may be shown; NULL for anything else. ``is_encrypted``: the pieces are encrypted
    (``store.files``).
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    media_type = models.CharField(max_length=100)
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)
    is_encrypted = models.BooleanField(default=False)

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
    """A file in a conversation. ``id`` is random, because it is part of a URL. ``name`` has no path and no invisible characters
    (``store.file_names``). ``turn`` is the one whose tool made the file; NULL for an upload. ``conversation`` is NULL until a question is
    sent with the file: an unsent file is deleted after a day (``store.uploads``). ``brought_in``: the key of the
    conversation in whose message box the upload waits to be sent; NULL for a new conversation. ``tool_server``: the name of the tool
    server from which the person attached it; empty for a file of their own."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, blank=True, related_name="files")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, null=True, blank=True, related_name="files")
    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=120)
    source = models.CharField(max_length=8, choices=FileSource)
    brought_in = models.UUIDField(null=True, blank=True)
    tool_server = models.CharField(max_length=20, blank=True, default="", db_default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(Table.Meta):
        constraints = [models.UniqueConstraint(fields=["turn", "name"], name="one_file_per_name_of_turn")]


class DocumentText(Table):
    """The extracted text of a file's content, stored once for all conversations. ``state`` and ``kind`` are those of ``documents.reading``;
    there is text only if the state is ``read``. ``reason``: a sentence for its owner. ``places``: how many pages, sheets or slides it has.

    ``bytes``: the size of the whole text in UTF-8, which counts towards the owner's storage like the file. ``tokens``: of the whole text,
    exact if ``is_counted``, otherwise estimated. ``is_cut``: the text is truncated at the limit. ``left_out``: what is hidden in the file,
    a line with kind and name for each, what is in it but not in the text,
    a line with kind and number; and the encoding of a text that is not ASCII.
    """

    content = models.OneToOneField(FileContent, on_delete=models.CASCADE, primary_key=True, related_name="document")
    state = models.CharField(max_length=16)
    kind = models.CharField(max_length=40, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    places = models.PositiveIntegerField(default=0)
    places_without_text = models.PositiveIntegerField(default=0)
    characters = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0, db_default=0)
    tokens = models.PositiveIntegerField(default=0)
    is_counted = models.BooleanField(default=False)
    is_cut = models.BooleanField(default=False)
    left_out = models.TextField(blank=True, default="", db_default="")


class DocumentPart(Table):
    """A page, a sheet or a slide, or the whole document: ``label`` is "page 3" or empty. ``number`` counts from 1, including parts without
    text. ``content`` is the same as that of the ``DocumentText``."""

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    label = models.CharField(max_length=200, blank=True)
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
    """A document before a question. ``message`` is its frame; ``end`` is the last document frame before the question, the question's
    parent: all versions of a question find their documents by it.

    ``file`` is NULL once its owner deleted it; then the frame says only that. ``places``: the numbers of the chosen parts, such as
    "1-12, 15". ``tokens``: of the text in the frame.
    """

    message = models.OneToOneField(Message, on_delete=models.CASCADE, primary_key=True, related_name="+")
    end = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    file = models.ForeignKey(StoredFile, on_delete=models.SET_NULL, null=True, blank=True, related_name="sent")
    use = models.CharField(max_length=8, choices=DocumentUse, default=DocumentUse.WHOLE)
    places = models.CharField(max_length=200, blank=True)
    tokens = models.PositiveIntegerField(default=0)


class DocumentPassage(Table):
    """A searchable passage: ``length`` characters of part ``part``, from ``start`` on. ``number`` counts from 1 over the whole document.
    ``terms`` holds the words, separated by spaces, each with the prefix of its content.

    The database's full-text index over ``terms`` is created by a migration. Only ``chatui.store.passages`` writes rows.
    """

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    part = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    length = models.PositiveIntegerField()
    terms = models.TextField()

    class Meta(Table.Meta):
        constraints = [models.UniqueConstraint(fields=["content", "number"], name="one_passage_per_number")]
