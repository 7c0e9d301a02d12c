"""A file in a conversation: its name there, and its content, which is stored once for each person who has it."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from chatui.models.conversation import Conversation
from chatui.models.turn import Turn


class FileSource(models.TextChoices):
    """Who made a file."""

    TOOL = "tool", "Tool"
    PERSON = "person", "Person"


class FileContent(models.Model):
    """The bytes of one or several files of one person. Never shared between people: the time that storing takes, and whether it uses up
    storage, would reveal that somebody else has the same file. ``sha256`` is in hexadecimal; for a document, the hashed bytes begin with
    the kind that it is read as. ``size`` is in bytes. ``media_type`` is detected from the bytes, never from the name. ``width`` and
    ``height`` are in pixels, for a picture that may be shown; NULL for anything else. ``is_encrypted``: the pieces are encrypted
    (``store.files.encryption``).
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    media_type = models.CharField(max_length=100)
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)
    is_encrypted = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["owner", "sha256"], name="one_content_per_owner")]

    def __str__(self) -> str:
        return f"Content {self.pk}"


class FilePiece(models.Model):
    """A piece of a content, so that reading a file never loads all of it into memory. ``number`` counts from 0."""

    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="pieces", db_index=False)
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["content", "number"], name="one_piece_per_place")]

    def __str__(self) -> str:
        return f"Piece {self.number} of {self.content_id}"


class StoredFile(models.Model):
    """A file in a conversation. ``id`` is random, because it is part of a URL. ``name`` has no path and no invisible characters
    (``store.files.names``). ``turn`` is the one whose tool made the file; NULL for an upload. ``conversation`` is NULL until a question is
    sent with the file: an unsent file is deleted after a day (``store.documents.pending_uploads``). ``brought_in``: the key of the
    conversation in whose message box the upload waits to be sent; NULL for a new conversation."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, blank=True, related_name="files")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, null=True, blank=True, related_name="files")
    content = models.ForeignKey(FileContent, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=120)
    source = models.CharField(max_length=8, choices=FileSource)
    brought_in = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["turn", "name"], name="one_file_per_name_of_turn")]

    def __str__(self) -> str:
        return f"File {self.id}"
